// What the CUDA programs share: checked CUDA calls, owned buffers, random data drawn on the GPU, launches and a matrix
// product for row-major matrices.
#pragma once

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

[[noreturn]] inline void fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);
}

inline void check(cudaError_t error, std::source_location at = std::source_location::current()) {
  if (error == cudaSuccess) return;
  fail(std::string(at.file_name()) + ":" + std::to_string(at.line()) + ": " + cudaGetErrorString(error));
}

inline void check(cublasStatus_t status, std::source_location at = std::source_location::current()) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail(std::string(at.file_name()) + ":" + std::to_string(at.line()) + ": " + cublasGetStatusString(status));
}

// The stream of all launches; a program that captures a graph makes its own.
inline cudaStream_t stream = nullptr;

inline cublasHandle_t blas() {
  static cublasHandle_t handle = [] {
    cublasHandle_t made = nullptr;
    check(cublasCreate(&made));
    return made;
  }();
  return handle;
}

// The arguments take the types of the kernel's parameters, as in a plain launch.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments&&... arguments) {
  kernel<<<grid, block, 0, stream>>>(static_cast<Parameters>(arguments)...);
  check(cudaGetLastError());
}

inline unsigned blocks_of(size_t count, unsigned threads) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

// Launches one thread of 256-thread blocks per element.
template <typename... Parameters, typename... Arguments>
void over(size_t count, void (*kernel)(Parameters...), Arguments&&... arguments) {
  launch(kernel, blocks_of(count, 256), 256, std::forward<Arguments>(arguments)...);
}

__device__ inline size_t thread_index() { return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

__host__ __device__ inline unsigned hashed(unsigned value) {
  value = (value ^ 61u) ^ (value >> 16);
  value *= 9u;
  value ^= value >> 4;
  value *= 0x27d4eb2du;
  return value ^ (value >> 15);
}

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
__global__ void draw(T* out, size_t count, unsigned seed, float low, float high) {
  const size_t i = thread_index();
  if (i >= count) return;
  const float unit = (hashed(static_cast<unsigned>(i) * 2654435761u + seed) >> 8) * (1.0f / 16777216.0f);
  out[i] = static_cast<T>(low + (high - low) * unit);
}

// GPU memory with its lifetime; zeroed, or drawn evenly between two bounds.
template <typename T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t count) : Buffer(uninitialized(count)) { check(cudaMemset(data_, 0, bytes())); }
  Buffer(size_t count, unsigned seed, float low, float high) : Buffer(count) {
    over(count, draw<T>, data_, count, seed, low, high);
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(uninitialized(values.size())) {
    check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  static Buffer uninitialized(size_t count) {
    Buffer made;
    check(cudaMalloc(reinterpret_cast<void**>(&made.data_), count * sizeof(T)));
    made.count_ = count;
    return made;
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) check(cudaFree(data_));
  }
  operator T*() const { return data_; }
  T* data() const { return data_; }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

template <typename T>
float first_value(const T* device) {
  T value{};
  check(cudaMemcpy(&value, device, sizeof(T), cudaMemcpyDeviceToHost));
  return static_cast<float>(value);
}

template <typename T>
constexpr cudaDataType_t cuda_type() {
  return sizeof(T) == 2 ? CUDA_R_16F : CUDA_R_32F;
}

// c[rows, columns] = a b, all row-major; a is stored [depth, rows] if turned_a, b is stored [columns, depth] if
// turned_b.
template <typename T>
void product(bool turned_a, bool turned_b, int rows, int columns, int depth, const T* a, const T* b, T* c,
             cublasComputeType_t compute) {
  const float one = 1.0f, zero = 0.0f;
  check(cublasGemmEx(blas(), turned_b ? CUBLAS_OP_T : CUBLAS_OP_N, turned_a ? CUBLAS_OP_T : CUBLAS_OP_N, columns, rows,
                     depth, &one, b, cuda_type<T>(), turned_b ? depth : columns, a, cuda_type<T>(),
                     turned_a ? rows : depth, &zero, c, cuda_type<T>(), columns, compute, CUBLAS_GEMM_DEFAULT));
}
