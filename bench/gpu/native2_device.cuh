// What the programs of native_cases2.cu share: checked calls, arrays in GPU memory, random data, launches, sums over a
// block and the interface of a program.
#pragma once

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

using Place = std::source_location;

[[noreturn]] inline void stop(const std::string& message) {
  std::fprintf(stderr, "native_cases2: %s\n", message.c_str());
  std::exit(1);
}

inline void stop_at(const Place& place, const char* message) {
  stop(std::string(place.file_name()) + ":" + std::to_string(place.line()) + ": " + message);
}

inline void ok(cudaError_t error, Place place = Place::current()) {
  if (error != cudaSuccess) stop_at(place, cudaGetErrorString(error));
}

inline void ok(cublasStatus_t status, Place place = Place::current()) {
  if (status != CUBLAS_STATUS_SUCCESS) stop_at(place, cublasGetStatusString(status));
}

// The stream of all work; a program that captures a graph sets its own.
inline cudaStream_t queue = nullptr;

inline cublasHandle_t blas() {
  static const cublasHandle_t handle = [] {
    cublasHandle_t created = nullptr;
    ok(cublasCreate(&created));
    return created;
  }();
  return handle;
}

inline unsigned ceil_div(size_t count, unsigned by) { return static_cast<unsigned>((count + by - 1) / by); }

// Arguments are converted to the types of the kernel's parameters, as in a launch with chevrons.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments&&... arguments) {
  kernel<<<grid, block, 0, queue>>>(static_cast<Parameters>(arguments)...);
  ok(cudaGetLastError());
}

// One thread an element, in blocks of 256.
template <typename... Parameters, typename... Arguments>
void for_each(size_t count, void (*kernel)(Parameters...), Arguments&&... arguments) {
  launch(kernel, ceil_div(count, 256), 256, std::forward<Arguments>(arguments)...);
}

__device__ inline size_t element() { return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

__host__ __device__ inline uint32_t mixed(uint64_t value) {
  value = (value + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 29)) * 0x94d049bb133111ebull;
  return static_cast<uint32_t>(value >> 32);
}

// In [0, 1).
__host__ __device__ inline float uniform(uint64_t index, uint32_t seed) {
  return (mixed(index + (static_cast<uint64_t>(seed) << 40)) >> 8) * (1.0f / 16777216.0f);
}

template <typename T>
__global__ void fill_uniform(T* out, size_t count, uint32_t seed, float low, float high) {
  const size_t i = element();
  if (i < count) out[i] = static_cast<T>(low + (high - low) * uniform(i, seed));
}

// Owned GPU memory: zeroed, or drawn evenly from an interval.
template <typename T>
class Array {
 public:
  Array() = default;
  explicit Array(size_t count) : Array(raw(count)) { ok(cudaMemset(data_, 0, bytes())); }
  Array(size_t count, uint32_t seed, float low, float high) : Array(raw(count)) {
    for_each(count, fill_uniform<T>, data_, count, seed, low, high);
  }
  static Array raw(size_t count) {
    Array array;
    ok(cudaMalloc(reinterpret_cast<void**>(&array.data_), count * sizeof(T)));
    array.count_ = count;
    return array;
  }
  explicit Array(const std::vector<T>& values) : Array(raw(values.size())) {
    ok(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  Array(Array&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Array& operator=(Array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Array() {
    if (data_ != nullptr) ok(cudaFree(data_));
  }
  operator T*() const { return data_; }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

template <typename T>
float value_at(const T* device) {
  T value{};
  ok(cudaMemcpy(&value, device, sizeof(T), cudaMemcpyDeviceToHost));
  return static_cast<float>(value);
}

// The sum (or maximum) over a block of whole warps, known to all its threads.
template <bool kMaximum = false>
__device__ inline float over_block(float value) {
  __shared__ float warps[32];
  const auto joined = [](float a, float b) { return kMaximum ? fmaxf(a, b) : a + b; };
  for (int apart = 16; apart > 0; apart /= 2) value = joined(value, __shfl_xor_sync(0xffffffffu, value, apart));
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) value = joined(value, warps[warp]);
  return value;
}

// One program: set up by its constructor; step() is the body of its loop, result() something finite at its end.
class Program {
 public:
  virtual ~Program() = default;
  virtual void step() = 0;
  virtual float result() = 0;
};

struct Case {
  std::string name, model, injected;
  std::vector<std::string> accept;
  std::string flaw, fix;
  std::function<std::unique_ptr<Program>(bool fixed)> make;
};

template <typename P>
std::unique_ptr<Program> make(bool fixed) {
  return std::make_unique<P>(fixed);
}
