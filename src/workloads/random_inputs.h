// Random inputs of every storage format, made by all cores. Element i is a function of (seed, i) alone, whatever the
// number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace warpmark::workloads {

/// The seed of one array: array number `array` of input set `set`.
[[nodiscard]] std::uint64_t array_seed(std::uint64_t seed, std::size_t set, std::size_t array);

/// Uniform in [low, high).
void fill_random(std::span<float> values, std::uint64_t seed, float low = -1, float high = 1);
void fill_random(std::span<double> values, std::uint64_t seed, double low = -1, double high = 1);

/// Uniform in [-bound, bound), rounded to the nearest bf16 or f16.
void fill_random_bf16(std::span<std::uint16_t> values, std::uint64_t seed, float bound = 1);
void fill_random_f16(std::span<std::uint16_t> values, std::uint64_t seed, float bound = 1);

/// Uniform over the integers -127 .. 127.
void fill_random(std::span<std::int8_t> values, std::uint64_t seed);

}  // namespace warpmark::workloads
