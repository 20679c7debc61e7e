// Reproducible random numbers by counter: number i of a seed is a hash of (seed, i), so any part of a sequence can be
// made anywhere, by any number of threads, with the same values. The hash is SplitMix64, the sequence of Java's
// SplittableRandom (Steele, Lea, Flood, OOPSLA 2014), which passes BigCrush. Not for secrets.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "model/metric.h"

namespace warpmark::stats {

/// 64 random bits: number `index` of the sequence of `seed`.
[[nodiscard]] constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// In [0, 1), a multiple of 2^-53.
[[nodiscard]] constexpr double random_unit(std::uint64_t seed, std::uint64_t index) {
  return static_cast<double>(random_bits(seed, index) >> 11) * 0x1p-53;
}

/// A seed for an independent sequence, such as the one of tensor number `stream`.
[[nodiscard]] constexpr std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t stream) {
  // A hash of a hash: two seeds that differ by a multiple of SplitMix64's step would share their sequence, shifted.
  return random_bits(random_bits(seed, stream) ^ 0xD1B54A32D192ED03ULL, stream);
}

/// The sequence as a UniformRandomBitGenerator, for std::shuffle and std distributions.
class Random {
 public:
  using result_type = std::uint64_t;
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  result_type operator()() { return random_bits(seed_, index_++); }
  [[nodiscard]] static constexpr result_type min() { return 0; }
  [[nodiscard]] static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

 private:
  std::uint64_t seed_;
  std::uint64_t index_ = 0;
};

/// Uniform in [low, high]; a float has 24 random bits, a double 53. Element i depends only on (seed, first + i), so a
/// fill may be split among threads: each fills its part with `first` = the part's offset in the whole.
void fill_uniform(std::span<float> values, std::uint64_t seed, float low, float high, std::uint64_t first = 0);
void fill_uniform(std::span<double> values, std::uint64_t seed, double low, double high, std::uint64_t first = 0);

// Bootstrap intervals, bias-corrected and accelerated (BCa; Efron, Tibshirani, An Introduction to the Bootstrap, 1993,
// chapter 14). For statistics that have no exact interval. What is resampled must be independent: rounds or processes,
// never samples of one round.

struct BootstrapOptions {
  std::int64_t resamples = 9999;
  double confidence = 0.95;
  std::uint64_t seed = 1;  ///< the same seed gives the same interval
};

struct Estimate {
  double value = 0;
  Interval interval;
};

/// median(second) / median(first), both resampled on their own. At least two samples above 0 a side. Where all
/// resamples give the same value the interval is that value.
[[nodiscard]] Estimate bca_median_ratio(std::span<const double> first, std::span<const double> second,
                                        const BootstrapOptions& options = {});

/// The levels of the bootstrap distribution that bound the interval, from the bias z0 and the acceleration a.
struct BcaLevels {
  double low = 0;
  double high = 0;
};
[[nodiscard]] BcaLevels bca_levels(double bias, double acceleration, double confidence);

}  // namespace warpmark::stats
