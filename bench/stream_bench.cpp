// Copy and triad as STREAM has them (McCalpin 1995): plain OpenMP loops over arrays far larger than the caches, bytes
// counted as the loop names them. Compilers that know it store such arrays around the caches, which spares reading the
// lines that are overwritten; GCC does not, so each loop is there with plain stores and with streaming ones. Names are
// warpmark's, so that side_by_side finds the pairs.
#include <benchmark/benchmark.h>
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace {

/// Allocated without being touched: the first write places each page beside the core that will use it.
std::unique_ptr<float[]> array_of(std::int64_t count, float value) {
  auto array = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(count));
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) array[static_cast<std::size_t>(i)] = value;
  return array;
}

constexpr std::int64_t kVector = 4;  // floats that one SSE store writes

void copy_plain(float* to, const float* from, std::int64_t count) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
}

void copy_streaming(float* to, const float* from, std::int64_t count) {
#pragma omp parallel
  {
#pragma omp for schedule(static) nowait
    for (std::int64_t i = 0; i < count / kVector; ++i)
      _mm_stream_ps(to + i * kVector, _mm_loadu_ps(from + i * kVector));
    _mm_sfence();
  }
}

void triad_plain(float* to, const float* first, const float* second, std::int64_t count) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) to[i] = first[i] + 3.0F * second[i];
}

void triad_streaming(float* to, const float* first, const float* second, std::int64_t count) {
  const __m128 scale = _mm_set1_ps(3.0F);
#pragma omp parallel
  {
#pragma omp for schedule(static) nowait
    for (std::int64_t i = 0; i < count / kVector; ++i) {
      const __m128 scaled = _mm_mul_ps(scale, _mm_loadu_ps(second + i * kVector));
      _mm_stream_ps(to + i * kVector, _mm_add_ps(_mm_loadu_ps(first + i * kVector), scaled));
    }
    _mm_sfence();
  }
}

void copy(benchmark::State& state) {
  const std::int64_t count = state.range(0) / static_cast<std::int64_t>(sizeof(float));
  const auto from = array_of(count, 1.0F);
  const auto to = array_of(count, 0.0F);
  const auto loop = state.range(1) != 0 ? copy_streaming : copy_plain;
  for ([[maybe_unused]] auto _ : state) {
    loop(to.get(), from.get(), count);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * state.range(0));
}

void triad(benchmark::State& state) {
  const std::int64_t count = state.range(0) / static_cast<std::int64_t>(sizeof(float));
  const auto first = array_of(count, 1.0F);
  const auto second = array_of(count, 2.0F);
  const auto to = array_of(count, 0.0F);
  const auto loop = state.range(1) != 0 ? triad_streaming : triad_plain;
  for ([[maybe_unused]] auto _ : state) {
    loop(to.get(), first.get(), second.get(), count);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * state.range(0));
}

constexpr std::int64_t kSize = std::int64_t{256} << 20;

BENCHMARK(copy)
    ->ArgNames({"size", "streaming"})
    ->ArgsProduct({{kSize}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(triad)
    ->ArgNames({"size", "streaming"})
    ->ArgsProduct({{kSize}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
