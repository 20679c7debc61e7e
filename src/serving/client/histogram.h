// Durations in buckets 1.6 % wide or less (64 a power of two), from a nanosecond to hours: as HdrHistogram does it
// (Tene). Adding takes some nanoseconds; two are merged exactly. Pure.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace warpmark::serving {

class Histogram {
 public:
  static constexpr int kSteps = 64;  ///< buckets a power of two
  static constexpr std::size_t kBuckets = 40 * kSteps;

  /// Negative ones count as 0, those beyond the range as its end.
  void add(std::int64_t ns, std::uint64_t times = 1) {
    counts_[bucket_of(ns)] += times;
    n_ += times;
    if (ns > most_) most_ = ns;
  }
  /// Of a histogram that was written down: counts of a bucket, and the largest value.
  void add_bucket(std::size_t bucket, std::uint64_t times) {
    counts_[bucket] += times;
    n_ += times;
  }
  void set_most(std::int64_t ns) { most_ = ns; }
  void merge(const Histogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    n_ += other.n_;
    if (other.most_ > most_) most_ = other.most_;
  }
  [[nodiscard]] std::uint64_t n() const { return n_; }
  [[nodiscard]] std::int64_t most_ns() const { return most_; }
  [[nodiscard]] const std::array<std::uint64_t, kBuckets>& counts() const { return counts_; }

  /// The middle of the bucket in which the p-quantile lies (p in [0, 1]); 0 if empty.
  [[nodiscard]] double quantile_ns(double p) const {
    const auto rank = static_cast<std::uint64_t>(p * static_cast<double>(n_ == 0 ? 0 : n_ - 1));
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      before += counts_[i];
      if (counts_[i] > 0 && before > rank) return middle_of(i);
    }
    return 0;
  }

  [[nodiscard]] static std::size_t bucket_of(std::int64_t ns) {
    const auto value = static_cast<std::uint64_t>(ns < 0 ? 0 : ns);
    if (value < kSteps) return static_cast<std::size_t>(value);
    const int shift = static_cast<int>(std::bit_width(value)) - 7;  // the leading seven bits tell the bucket
    const auto bucket = static_cast<std::size_t>(shift) * kSteps + static_cast<std::size_t>(value >> shift);
    return bucket < kBuckets ? bucket : kBuckets - 1;
  }
  [[nodiscard]] static double middle_of(std::size_t bucket) {
    if (bucket < 2 * kSteps) return static_cast<double>(bucket);
    const std::size_t shift = bucket / kSteps - 1, base = bucket % kSteps + kSteps;
    return (static_cast<double>(base) + 0.5) * static_cast<double>(std::uint64_t{1} << shift);
  }

 private:
  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t n_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace warpmark::serving
