// Copy and triad as STREAM has them (McCalpin 1995): plain OpenMP loops over arrays far larger than the caches, bytes
// counted as the loop names them. Names are warpmark's, so that side_by_side finds the pairs.
#include <benchmark/benchmark.h>

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

void copy(benchmark::State& state) {
  const std::int64_t count = state.range(0) / static_cast<std::int64_t>(sizeof(float));
  const auto from = array_of(count, 1.0F);
  const auto to = array_of(count, 0.0F);
  const float* const a = from.get();
  float* const b = to.get();
  for ([[maybe_unused]] auto _ : state) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) b[i] = a[i];
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * state.range(0));
}

void triad(benchmark::State& state) {
  const std::int64_t count = state.range(0) / static_cast<std::int64_t>(sizeof(float));
  const auto first = array_of(count, 1.0F);
  const auto second = array_of(count, 2.0F);
  const auto to = array_of(count, 0.0F);
  const float* const b = first.get();
  const float* const c = second.get();
  float* const a = to.get();
  for ([[maybe_unused]] auto _ : state) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] + 3.0F * c[i];
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * state.range(0));
}

constexpr std::int64_t kSize = std::int64_t{256} << 20;

BENCHMARK(copy)->ArgName("size")->Arg(kSize)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(triad)->ArgName("size")->Arg(kSize)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
