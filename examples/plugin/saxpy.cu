// A plugin with one CUDA workload: y = a x + y into a third vector, in f32.
//
//   nvcc -O3 -shared -Xcompiler -fPIC -I include examples/plugin/saxpy.cu -o saxpy.so
//   warpmark run saxpy --plugin ./saxpy.so --device cuda:0
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "warpmark/plugin.h"

namespace {

constexpr float kScale = 2.5F;

struct State {
  std::size_t n = 0;
  std::size_t sets = 0;
  float* x = nullptr;  // [sets][n] on the GPU
  float* y = nullptr;
  float* out = nullptr;
};

__global__ void saxpy_kernel(std::size_t n, float scale, const float* x, const float* y, float* out) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    out[i] = scale * x[i] + y[i];
  }
}

int fail(wm_error* error, const char* what, const char* hint) {
  std::snprintf(error->what, sizeof error->what, "%s", what);
  std::snprintf(error->hint, sizeof error->hint, "%s", hint);
  return 1;
}

int fail(wm_error* error, cudaError_t code) {
  return fail(error, cudaGetErrorString(code), "is the GPU's memory full?");
}

int cost(const wm_case* what, wm_cost* cost, wm_error* error) {
  const auto n = what->values[0].integer;
  if (n < 1) return fail(error, "n must be at least 1", "such as --set n=1000000");
  cost->flops = 2.0 * static_cast<double>(n);
  cost->bytes = 12.0 * static_cast<double>(n);
  cost->footprint_bytes = 12 * n;
  std::strcpy(cost->flop_type, "f32");
  return 0;
}

void release(void* opaque) {
  auto* state = static_cast<State*>(opaque);
  cudaFree(state->x);
  cudaFree(state->y);
  cudaFree(state->out);
  delete state;
}

int prepare(const wm_case* what, void** opaque, wm_error* error) {
  auto* state = new State{static_cast<std::size_t>(what->values[0].integer), what->sets};
  const std::size_t count = state->n * state->sets;
  std::vector<float> host(count);
  cudaError_t code = cudaSuccess;
  for (float** array : {&state->x, &state->y, &state->out}) {
    if (code == cudaSuccess) code = cudaMalloc(array, count * sizeof(float));
  }
  std::uint64_t random = what->seed * 2 + 1;
  for (float* array : {state->x, state->y}) {
    for (float& value : host) {
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      value = static_cast<float>(random >> 40) / 16777216.0F;
    }
    if (code == cudaSuccess) code = cudaMemcpy(array, host.data(), count * sizeof(float), cudaMemcpyHostToDevice);
  }
  if (code != cudaSuccess) {
    release(state);
    return fail(error, code);
  }
  *opaque = state;
  return 0;
}

int launch(void* opaque, void* stream, std::size_t set) {
  auto* state = static_cast<State*>(opaque);
  const std::size_t at = set * state->n;
  const unsigned blocks = static_cast<unsigned>(std::min<std::size_t>((state->n + 255) / 256, 2048));
  saxpy_kernel<<<blocks, 256, 0, static_cast<cudaStream_t>(stream)>>>(state->n, kScale, state->x + at, state->y + at,
                                                                      state->out + at);
  return static_cast<int>(cudaGetLastError());
}

int poison(void* opaque, wm_error* error) {
  auto* state = static_cast<State*>(opaque);
  const cudaError_t code = cudaMemset(state->out, 0xFF, state->n * state->sets * sizeof(float));
  return code == cudaSuccess ? 0 : fail(error, code);
}

int check(void* opaque, std::size_t set, wm_check* check, wm_error* error) {
  auto* state = static_cast<State*>(opaque);
  std::vector<float> x(state->n), y(state->n), out(state->n);
  const std::size_t at = set * state->n;
  const std::size_t bytes = state->n * sizeof(float);
  for (auto [host, device] : {std::pair{x.data(), state->x}, {y.data(), state->y}, {out.data(), state->out}}) {
    const cudaError_t code = cudaMemcpy(host, device + at, bytes, cudaMemcpyDeviceToHost);
    if (code != cudaSuccess) return fail(error, code);
  }
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < state->n; ++i) {
    const double reference = static_cast<double>(kScale) * x[i] + y[i];
    difference += (out[i] - reference) * (out[i] - reference);
    norm += reference * reference;
  }
  check->value = std::sqrt(difference / norm);
  check->tolerance = 1e-6;
  std::strcpy(check->norm, "relative Frobenius norm");
  std::strcpy(check->reference, "the same in fp64 on the host");
  return 0;
}

constexpr wm_param kParams[] = {{"n", WM_INTEGER, "16777216", "length of the vectors", ""}};

constexpr wm_workload kSaxpy = {sizeof(wm_workload),
                                "saxpy",
                                "out = a x + y in f32",
                                "cuda",
                                "cold",
                                kParams,
                                1,
                                cost,
                                prepare,
                                launch,
                                poison,
                                check,
                                release};
constexpr const wm_workload* kWorkloads[] = {&kSaxpy};
constexpr wm_plugin kPlugin = {sizeof(wm_plugin), WARPMARK_PLUGIN_ABI, "saxpy example", "1.0", kWorkloads, 1};

}  // namespace

extern "C" const wm_plugin* warpmark_plugin(void) { return &kPlugin; }
