#include <benchmark/benchmark.h>
#include <algorithm>
#include <numeric>
#include <vector>
static void sum(benchmark::State& state) {
  std::vector<double> values(static_cast<std::size_t>(state.range(0)), 1.0);
  for (auto _ : state) benchmark::DoNotOptimize(std::accumulate(values.begin(), values.end(), 0.0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 8);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["length"] = static_cast<double>(state.range(0));
}
BENCHMARK(sum)->Arg(1000)->Arg(100000)->Unit(benchmark::kMicrosecond);
static void refuses(benchmark::State& state) {
  state.SkipWithError("there is no such device");
  for (auto _ : state) {
  }
}
BENCHMARK(refuses);
BENCHMARK_MAIN();
