// A plain loop over the BLAS call that warpmark's `gemm` with impl=openblas times. Names are warpmark's, so that
// side_by_side finds the pairs.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

std::vector<float> random_matrix(std::int64_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> matrix(static_cast<std::size_t>(n * n));
  for (float& value : matrix) value = uniform(generator);
  return matrix;
}

void gemm(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const auto size = static_cast<blasint>(n);
  const auto a = random_matrix(n, 1);
  const auto b = random_matrix(n, 2);
  std::vector<float> c(a.size());
  for ([[maybe_unused]] auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1.0F, a.data(), size, b.data(), size, 0.0F,
                c.data(), size);
    benchmark::DoNotOptimize(c.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 2 * n * n * n);  // FLOPs
}

BENCHMARK(gemm)->ArgName("m")->Arg(512)->Arg(1024)->Arg(2048)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
