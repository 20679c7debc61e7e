#include "workloads/feeding/lookup_batches.h"

#include <cmath>

#include "stats/random.h"
#include "workloads/feeding/embedding_rows.h"

namespace warpmark::workloads {

namespace {

/// Ranks change in pairs: rank i with rank i + rows / 2, each pair once, at a time of its own.
class Ranking {
 public:
  Ranking(std::size_t rows, double changed) : half_(static_cast<std::int64_t>(rows / 2)), changed_(changed) {}
  [[nodiscard]] std::int64_t row(std::int64_t table, std::int64_t rank) const {
    if (rank >= 2 * half_) return rank;
    const std::int64_t pair = rank % half_;
    if (stats::random_unit(static_cast<std::uint64_t>(table), static_cast<std::uint64_t>(pair)) >= changed_)
      return rank;
    return rank < half_ ? rank + half_ : rank - half_;
  }

 private:
  std::int64_t half_;
  double changed_;  ///< share of the pairs
};

}  // namespace

std::vector<std::int32_t> lookup_batch(const CachedShape& shape, const LookupLaw& law, std::size_t batch) {
  std::vector<std::int64_t> ranks(shape.numbers());
  fill_zipf(ranks, shape.rows, law.skew, stats::derive_seed(law.seed, batch));
  const Ranking ranking(shape.rows, law.drift * static_cast<double>(batch) / static_cast<double>(shape.batches));
  const auto rows = static_cast<std::int64_t>(shape.rows);
  std::vector<std::int32_t> numbers(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto table = static_cast<std::int64_t>(i / shape.lookups % shape.tables);
    numbers[i] = static_cast<std::int32_t>(table * rows + ranking.row(table, ranks[i]));
  }
  return numbers;
}

/// By the continuous law that fill_zipf draws from.
double zipf_hit_rate(double rows, double held_of_each, double skew) {
  if (held_of_each >= rows) return 1;
  if (std::abs(skew - 1) < 1e-9) return std::log(held_of_each + 1) / std::log(rows + 1);
  return (std::pow(held_of_each + 1, 1 - skew) - 1) / (std::pow(rows + 1, 1 - skew) - 1);
}

}  // namespace warpmark::workloads
