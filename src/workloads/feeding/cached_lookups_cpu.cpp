// Cached lookups on the CPU, where both memories are the same: what the choice of rows is worth can be seen without a
// GPU, the speed of two memories cannot.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/float_types.h"
#include "stats/random.h"
#include "workloads/feeding/cached_lookups.h"
#include "workloads/set_memory.h"

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

enum CachedArray : std::size_t { kTables, kHeld, kCachedSums };

class CachedLookupsOnCpu final : public CachedLookups {
 public:
  CachedLookupsOnCpu(const CachedShape& shape, SetMemory memory)
      : shape_(shape), memory_(std::move(memory)), slots_(shape.all_rows(), kAbsent), counts_(shape.all_rows(), 0) {}

  Status take_batch(std::span<const std::int32_t> numbers) override {
    batches_.emplace_back(numbers.begin(), numbers.end());
    return {};
  }

  Status hold(std::span<const RowEntry> entries) override {
    const std::size_t bytes = shape_.row_bytes();
    const auto held = memory_.bytes(0, kHeld);
    const auto tables = memory_.bytes(0, kTables);
    for (const RowEntry& entry : entries) {
      const auto row = static_cast<std::size_t>(entry.row), slot = static_cast<std::size_t>(entry.slot);
      if (entry.driven_out != kAbsent) slots_[static_cast<std::size_t>(entry.driven_out)] = kAbsent;
      std::memcpy(held.data() + slot * bytes, tables.data() + row * bytes, bytes);
      slots_[row] = entry.slot;
    }
    return {};
  }

  Status hold_nothing() override {
    std::fill(slots_.begin(), slots_.end(), kAbsent);
    memory_.poison(kHeld);  // a row that was never brought in gives no right sum
    return {};
  }

  Status launch(device::Stream /*stream*/, std::size_t batch) override {
    const auto& numbers = batches_[batch];
    const auto sums = memory_.array<float>(0, kCachedSums);
#pragma omp parallel for schedule(static)
    for (std::size_t at = 0; at < shape_.sums(); ++at) {
      float* sum = sums.data() + at * shape_.dim;
      std::fill_n(sum, shape_.dim, 0.0F);
      for (std::size_t i = 0; i < shape_.lookups; ++i) {
        const auto row = static_cast<std::size_t>(numbers[at * shape_.lookups + i]);
        const std::int32_t slot = slots_[row];
        add(slot == kAbsent ? kTables : kHeld, slot == kAbsent ? row : static_cast<std::size_t>(slot), sum);
      }
    }
    return {};
  }

  Status count(std::size_t batch) override {
    for (const std::int32_t row : batches_[batch]) ++counts_[static_cast<std::size_t>(row)];
    return {};
  }

  Result<std::span<const std::uint32_t>> take_counts() override {
    taken_ = counts_;
    std::fill(counts_.begin(), counts_.end(), 0U);
    return std::span<const std::uint32_t>(taken_);
  }

  Result<std::uint64_t> hits(std::size_t batch) override {
    std::uint64_t hits = 0;
    for (const std::int32_t row : batches_[batch]) hits += slots_[static_cast<std::size_t>(row)] != kAbsent ? 1U : 0U;
    return hits;
  }

  Status poison() override {
    memory_.poison(kCachedSums);
    return {};
  }

  Result<ErrorCheck> check(std::size_t batch) override {
    const auto& numbers = batches_[batch];
    const auto sums = memory_.array<float>(0, kCachedSums);
    double apart = 0, whole = 0;
#pragma omp parallel for schedule(static) reduction(+ : apart, whole)
    for (std::size_t at = 0; at < shape_.sums(); ++at) {
      for (std::size_t d = 0; d < shape_.dim; ++d) {
        double right = 0;
        for (std::size_t i = 0; i < shape_.lookups; ++i) {
          right += value(static_cast<std::size_t>(numbers[at * shape_.lookups + i]), d);
        }
        const double difference = static_cast<double>(sums[at * shape_.dim + d]) - right;
        apart += difference * difference;
        whole += right * right;
      }
    }
    const double error = std::sqrt(apart / whole);
    return ErrorCheck{std::isfinite(error) ? error : 1e300, 1e-5, "relative Frobenius norm",
                      "sums in fp64 without a cache"};
  }

 private:
  void add(CachedArray from, std::size_t row, float* sum) const {
    if (shape_.narrow) {
      const auto* numbers = memory_.array<std::uint16_t>(0, from).data() + row * shape_.dim;
      for (std::size_t d = 0; d < shape_.dim; ++d) sum[d] += f16_to_float(numbers[d]);
    } else {
      const auto* numbers = memory_.array<float>(0, from).data() + row * shape_.dim;
      for (std::size_t d = 0; d < shape_.dim; ++d) sum[d] += numbers[d];
    }
  }
  [[nodiscard]] double value(std::size_t row, std::size_t d) const {
    if (shape_.narrow) {
      return static_cast<double>(f16_to_float(memory_.array<std::uint16_t>(0, kTables)[row * shape_.dim + d]));
    }
    return static_cast<double>(memory_.array<float>(0, kTables)[row * shape_.dim + d]);
  }

  CachedShape shape_;
  SetMemory memory_;
  std::vector<std::int32_t> slots_;
  std::vector<std::uint32_t> counts_, taken_;
  std::vector<std::vector<std::int32_t>> batches_;
};

}  // namespace

Result<std::unique_ptr<measure::Prepared>> cached_lookups_on_cpu(const measure::PrepareOptions& options) {
  const CachedShape shape = cached_shape(options.params);
  WM_ASSIGN(auto memory, SetMemory::make(options.device, 1,
                                         std::array{shape.all_rows() * shape.row_bytes(),
                                                    std::max<std::size_t>(1, shape.held()) * shape.row_bytes(),
                                                    shape.sums() * shape.dim * sizeof(float)}));
  const auto seed = array_seed(options.seed, 0, kTables);
  if (shape.narrow) {
    fill_random_f16(memory.array<std::uint16_t>(0, kTables), seed);
  } else {
    fill_random(memory.array<float>(0, kTables), seed);
  }
  memory.poison(kCachedSums);
  return std::unique_ptr<measure::Prepared>(std::make_unique<CachedLookupsOnCpu>(shape, std::move(memory)));
}

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
