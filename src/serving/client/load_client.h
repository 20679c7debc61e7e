// The load client: one thread, one epoll, any number of connections. Requests go out at absolute times (waiting by
// epoll_pwait2, the last 60 us by spinning), answers are read as they arrive with the kernel's receive times, so that a
// client that was busy does not take its own lateness for the server's; that lateness is measured all the same.
#pragma once

#include "base/result.h"
#include "serving/client/load_plan.h"
#include "serving/records/record_spool.h"

namespace warpmark::serving {

/// Runs the plan on the calling thread until it is done; its records go into the spool. Environment error if nothing
/// could be sent at all: no epoll, too few open files, or no connection to the server. The plan's bodies get new serial
/// numbers as they are sent.
[[nodiscard]] Result<LoadOutcome> run_load(LoadPlan& plan, RecordSpool& spool);

/// Part `index` of `parts`: every parts-th request, user and due time.
[[nodiscard]] LoadPlan part_of(const LoadPlan& plan, int index, int parts);
/// Of parts that ran at the same time, by one clock, without their records: histograms are joined, nothing is averaged.
/// At least one.
[[nodiscard]] LoadOutcome merge_outcomes(std::vector<LoadOutcome> parts);
/// How many parts the plan can have without one that has no share, at most `wanted`.
[[nodiscard]] int parts_of(const LoadPlan& plan, int wanted);

/// The same on `threads` threads, the plan being split among them, with all their records; outcomes are merged exactly.
/// `cpus` as LoadPlan::cpu, one a thread, or empty. Environment error also where records cannot be kept.
[[nodiscard]] Result<LoadOutcome> run_load_on(LoadPlan plan, int threads, const std::vector<int>& cpus);

}  // namespace warpmark::serving
