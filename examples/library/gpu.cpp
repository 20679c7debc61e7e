// Work on a stream of a GPU: warpmark gives the stream, the program enqueues.
#include <cuda_runtime_api.h>
#include <warpmark/warpmark.hpp>

#include <cstdio>

int main() {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  void* memory = nullptr;
  if (cudaMalloc(&memory, kBytes) != cudaSuccess) return std::fprintf(stderr, "no GPU, or no memory on it\n"), 1;
  warpmark::Watch watch({.interval_s = 0.05});
  const auto cleared = warpmark::measure_on_gpu(
      [&](void* stream) { cudaMemsetAsync(memory, 0, kBytes, static_cast<cudaStream_t>(stream)); },
      {.name = "cudaMemsetAsync of 1 GiB", .bytes = static_cast<double>(kBytes)});
  const auto seen = watch.stop();
  cudaFree(memory);
  if (!cleared.ok())
    return std::fprintf(stderr, "%s\n  %s\n", cleared.error().what.c_str(), cleared.error().hint.c_str()), 1;
  std::printf("%s%s", warpmark::to_text(*cleared).c_str(), warpmark::to_text(seen).c_str());
  return 0;
}
