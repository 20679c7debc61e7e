// What the implementations of embedding share: the shape, and which rows are asked for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/params.h"

namespace warpmark::workloads {

struct EmbeddingShape {
  std::size_t rows, dim, bags, lookups;
  bool narrow;
  [[nodiscard]] std::size_t row_bytes() const { return dim * (narrow ? 2 : 4); }
};

[[nodiscard]] inline EmbeddingShape embedding_shape(const Params& params) {
  const auto size = [&](const char* name) { return static_cast<std::size_t>(params.integer(name)); };
  return {size("rows"), size("dim"), size("bags"), size("lookups"), params.text("dtype") == "f16"};
}

/// Numbers by Zipf's law, by the inverse of its continuous form (Devroye, Non-Uniform Random Variate Generation, 1986,
/// chapter X.6 has the exact one; the tables here are long, and the difference is in the first rows).
inline void fill_zipf(std::span<std::int64_t> numbers, std::size_t rows, double skew, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const double most = static_cast<double>(rows) + 1;
  for (auto& number : numbers) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    double x = 0;
    if (std::abs(skew - 1) < 1e-9) {
      x = std::exp(u * std::log(most));
    } else {
      x = std::pow(1 + u * (std::pow(most, 1 - skew) - 1), 1 / (1 - skew));
    }
    number = std::clamp<std::int64_t>(static_cast<std::int64_t>(x) - 1, 0, static_cast<std::int64_t>(rows) - 1);
  }
}

/// A note: how many different rows were asked for.
[[nodiscard]] inline std::pair<std::string, std::string> different_rows(std::span<const std::int64_t> numbers) {
  std::vector<std::int64_t> different(numbers.begin(), numbers.end());
  std::sort(different.begin(), different.end());
  const auto end = std::unique(different.begin(), different.end());
  return {"rows", std::to_string(end - different.begin()) + " different ones of " + std::to_string(numbers.size())};
}

}  // namespace warpmark::workloads
