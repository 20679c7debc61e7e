// Ranks of the latencies that a running load has counted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "serving/client/load_plan.h"

namespace warpmark::loadtest {

using Buckets = std::array<std::atomic<std::uint32_t>, serving::Histogram::kBuckets>;

[[nodiscard]] std::int64_t entries_in(const Buckets& buckets);

/// The value with this rank, from 1.
[[nodiscard]] double ranked_s(const Buckets& buckets, std::int64_t rank);

/// Whether half the interval (95 %, order statistics) of a percentile, "ttft:p99", is below this share of it.
[[nodiscard]] bool precise_enough(const serving::LiveCounters& live, const std::string& what, double share);

}  // namespace warpmark::loadtest
