#include "loadtest/live_numbers.h"

#include "stats/summary.h"

namespace warpmark::loadtest {

std::int64_t entries_in(const Buckets& buckets) {
  std::int64_t n = 0;
  for (const auto& bucket : buckets) n += bucket.load(std::memory_order_relaxed);
  return n;
}

double ranked_s(const Buckets& buckets, std::int64_t rank) {
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    rank -= buckets[i].load(std::memory_order_relaxed);
    if (rank <= 0) return serving::Histogram::middle_of(i) * 1e-9;
  }
  return 0;
}

bool precise_enough(const serving::LiveCounters& live, const std::string& what, double share) {
  const Buckets& buckets = what.starts_with("ttft") ? live.ttft : live.e2e;
  const double p = what.ends_with("p99") ? 0.99 : 0.5;
  const std::int64_t n = entries_in(buckets);
  constexpr std::int64_t kLeast = 30;
  if (n < kLeast) return false;
  const auto ranks = stats::quantile_ranks(n, p, 0.95);
  if (!ranks) return false;
  const double value = ranked_s(buckets, static_cast<std::int64_t>(p * static_cast<double>(n - 1)) + 1);
  return ranked_s(buckets, ranks->high) - ranked_s(buckets, ranks->low) < 2 * share * value;
}

}  // namespace warpmark::loadtest
