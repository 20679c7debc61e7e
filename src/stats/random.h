// Reproducible random numbers by counter: number i of a seed is a hash of (seed, i), so any part of a sequence can be
// made anywhere, by any number of threads, with the same values. The hash is SplitMix64, the sequence of Java's
// SplittableRandom (Steele, Lea, Flood, OOPSLA 2014), which passes BigCrush. Not for secrets.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

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

}  // namespace warpmark::stats
