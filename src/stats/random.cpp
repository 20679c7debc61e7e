#include "stats/random.h"

namespace warpmark::stats {
namespace {

/// In [0, 1): the low half of a hash serves the even element of a pair, the high half the odd one.
float unit_of_half(std::uint64_t bits, bool odd) {
  const auto half = static_cast<std::uint32_t>(odd ? bits >> 32 : bits);
  return static_cast<float>(static_cast<std::int32_t>(half >> 8)) * 0x1p-24F;
}

}  // namespace

void fill_uniform(std::span<float> values, std::uint64_t seed, float low, float high, std::uint64_t first) {
  const float width = high - low;
  std::size_t i = 0;
  if (first % 2 == 1 && !values.empty()) {
    values[i++] = low + width * unit_of_half(random_bits(seed, first / 2), true);
  }
  std::uint64_t pair = (first + i) / 2;
  for (; i + 1 < values.size(); i += 2, ++pair) {
    const std::uint64_t bits = random_bits(seed, pair);
    values[i] = low + width * unit_of_half(bits, false);
    values[i + 1] = low + width * unit_of_half(bits, true);
  }
  if (i < values.size()) values[i] = low + width * unit_of_half(random_bits(seed, pair), false);
}

void fill_uniform(std::span<double> values, std::uint64_t seed, double low, double high, std::uint64_t first) {
  const double width = high - low;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = low + width * random_unit(seed, first + i);
}

}  // namespace warpmark::stats
