#include "serving/client/load_client.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

#include "serving/client/load_reactor.h"

namespace warpmark::serving {
namespace {

void pin_to(int cpu) {
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  // Where it is not allowed the thread runs anywhere, and its lag is measured all the same.
  (void)::sched_setaffinity(0, sizeof set, &set);
}

double thread_cpu_s() { return static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID)) * 1e-9; }

}  // namespace

Result<LoadOutcome> run_load(LoadPlan& plan, RecordSpool& spool) {
  WM_CHECK(!plan.requests.empty() && !plan.heads.empty() && !plan.endpoints.empty());
  // Without a limit of them: as many as one address has ports.
  const auto connections = static_cast<std::size_t>(plan.users > 0 ? plan.users : 65'000);
  const Status files = http::allow_open_files(connections + 64);
  if (!files.ok() && plan.closed) return files.error();
  pin_to(plan.cpu);
  LoadReactor reactor(plan, spool);
  WM_TRY(reactor.open());
  WM_TRY(reactor.connect_ahead());
  const double cpu_before = thread_cpu_s();
  reactor.run();
  LoadOutcome outcome = reactor.take_outcome();
  outcome.cpu_s = thread_cpu_s() - cpu_before;
  return outcome;
}

// One load on several threads: each has its own connections and its own part of the schedule, and nothing is shared but
// the flags that end it.

LoadPlan part_of(const LoadPlan& plan, int index, int parts) {
  LoadPlan part = plan;
  const auto share = [&](std::int64_t count) { return count / parts + (index < count % parts ? 1 : 0); };
  part.users = share(plan.users);
  part.connect_ahead = share(plan.connect_ahead);
  part.most_requests = share(plan.most_requests);
  part.most_heads = share(plan.most_heads);
  part.least_requests = share(plan.least_requests);
  part.users_per_s = plan.users_per_s / parts;
  part.most_gaps = plan.most_gaps == 0 ? 0 : std::max<std::int64_t>(plan.most_gaps / parts, 1);
  part.due_ns.clear();
  part.heads.clear();
  const auto first = static_cast<std::size_t>(index), step = static_cast<std::size_t>(parts);
  for (std::size_t i = first; i < plan.due_ns.size(); i += step) part.due_ns.push_back(plan.due_ns[i]);
  for (std::size_t i = first; i < plan.heads.size(); i += step) part.heads.push_back(plan.heads[i]);
  if (part.heads.empty()) part.heads = plan.heads;
  part.first_serial = plan.first_serial + static_cast<std::uint64_t>(index) * 10'000'000;
  return part;
}

LoadOutcome merge_outcomes(std::vector<LoadOutcome> parts) {
  LoadOutcome all = std::move(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    LoadOutcome& part = parts[i];
    all.shares.insert(all.shares.end(), part.shares.begin(), part.shares.end());
    all.began_ns = std::min(all.began_ns, part.began_ns);
    all.stopped_ns = std::max(all.stopped_ns, part.stopped_ns);
    all.ended_ns = std::max(all.ended_ns, part.ended_ns);
    all.never_sent += part.never_sent;
    all.gaps_of_one_in = std::max(all.gaps_of_one_in, part.gaps_of_one_in);
    all.interrupted = all.interrupted || part.interrupted;
    all.everything_sent = all.everything_sent && part.everything_sent;
    all.too_many_errors = all.too_many_errors || part.too_many_errors;
    if (all.problem.empty()) all.problem = part.problem;
    all.kernel_times = all.kernel_times && part.kernel_times;
    all.send_lag.merge(part.send_lag);
    all.receive_lag.merge(part.receive_lag);
    all.server_delay.merge(part.server_delay);
    all.busy_share = std::max(all.busy_share, part.busy_share);
    all.cpu_s += part.cpu_s;
  }
  return all;
}

int parts_of(const LoadPlan& plan, int wanted) {
  if (plan.together) return 1;
  // No part without a share: none of users or requests means "without limit".
  for (const std::int64_t limit : {plan.users, plan.most_requests, plan.most_heads}) {
    if (limit > 0) wanted = static_cast<int>(std::min<std::int64_t>(wanted, limit));
  }
  return std::max(wanted, 1);
}

Result<LoadOutcome> run_load_on(LoadPlan plan, int threads, const std::vector<int>& cpus) {
  const auto cpu_of = [&](int index) {
    return cpus.empty() ? -1 : cpus[static_cast<std::size_t>(index) % cpus.size()];
  };
  threads = parts_of(plan, threads);
  std::vector<LoadPlan> plans;
  for (int i = 0; i < threads; ++i) {
    plans.push_back(threads == 1 ? std::move(plan) : part_of(plan, i, threads));
    plans.back().cpu = cpu_of(i);
  }
  // Its thread begins before those that measure, on any processor.
  WM_ASSIGN(const auto spool, RecordSpool::open(plans.front().records_file));
  std::vector<std::optional<Result<LoadOutcome>>> results(plans.size());
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    workers.emplace_back([&, i] { results[i] = run_load(plans[i], *spool); });
  }
  for (auto& worker : workers) worker.join();
  std::vector<LoadOutcome> outcomes;
  for (auto& result : results) {
    if (!result->ok()) return result->error();
    outcomes.push_back(std::move(**result));
  }
  LoadOutcome merged = merge_outcomes(std::move(outcomes));
  WM_ASSIGN(merged.records, spool->finish(merged.gaps_of_one_in));
  return merged;
}

}  // namespace warpmark::serving
