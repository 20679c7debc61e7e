// Kernels with one known flaw each, for Nsight Compute recordings (record_ncu.sh): what the flaw is says the name.
#include <cuda_runtime.h>
#include <cstdio>
#ifdef WITH_CUBLAS
#include <cublas_v2.h>
#endif

__global__ void uncoalesced_copy(const float* from, float* to, size_t rows, size_t columns) {
  const size_t row = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (row >= rows) return;
  for (size_t column = 0; column < columns; ++column) to[row * columns + column] = from[row * columns + column] * 2.0F;
}

__global__ void divergent_branches(const float* from, float* to, size_t count) {
  const size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (at >= count) return;
  float value = from[at];
  const int turns = 16 + 24 * static_cast<int>(threadIdx.x % 32);
  for (int i = 0; i < turns; ++i) value = value * 1.0001F + 0.5F;
  to[at] = value;
}

// 200 kB of shared memory a block: one block of four warps on a multiprocessor.
__global__ void low_occupancy(const float* from, float* to, size_t count) {
  extern __shared__ float held[];
  for (size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; at < count;
       at += static_cast<size_t>(gridDim.x) * blockDim.x) {
    held[threadIdx.x] = from[at];
    to[at] = held[threadIdx.x] * 3.0F;
  }
}

__device__ float spin(float value, int turns) {
  for (int i = 0; i < turns; ++i) value = value * 1.0001F + 0.5F;
  return value;
}

// Launched with a few blocks more than one full wave: the last wave leaves most multiprocessors idle.
__global__ void __launch_bounds__(1024) tail_effect(const float* from, float* to) {
  const size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  to[at] = spin(from[at], 20000);
}

__global__ void small_grid(const float* from, float* to) {
  const size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  to[at] = spin(from[at], 20000);
}

__global__ void memory_bound_triad(const float4* a, const float4* b, float4* c, size_t count) {
  const size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (at >= count) return;
  const float4 x = a[at], y = b[at];
  c[at] = make_float4(x.x + 2 * y.x, x.y + 2 * y.y, x.z + 2 * y.z, x.w + 2 * y.w);
}

__global__ void bank_conflicts(const float* from, float* to) {
  __shared__ float tile[32][32];
  const int x = threadIdx.x, y = threadIdx.y;
  const size_t at = blockIdx.x * 1024UL + y * 32 + x;
  float value = from[at];
  for (int i = 0; i < 64; ++i) {
    tile[x][y] = value;
    __syncthreads();
    value += tile[(x + i) & 31][y];
    __syncthreads();
  }
  to[at] = value;
}

int main() {
  const size_t count = 1UL << 27;
  float *a = nullptr, *b = nullptr, *c = nullptr;
  for (float** pointer : {&a, &b, &c}) {
    if (cudaMalloc(pointer, count * sizeof(float)) != cudaSuccess) return 1;
    cudaMemset(*pointer, 1, count * sizeof(float));
  }
  cudaDeviceProp device{};
  cudaGetDeviceProperties(&device, 0);
  const int multiprocessors = device.multiProcessorCount;
  cudaFuncSetAttribute(low_occupancy, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024);
  uncoalesced_copy<<<1024, 256>>>(a, b, 1024 * 256, 512);
  divergent_branches<<<count / 256, 256>>>(a, b, count);
  low_occupancy<<<multiprocessors, 128, 200 * 1024>>>(a, b, count);
  tail_effect<<<2 * multiprocessors + 8, 1024>>>(a, b);
  small_grid<<<12, 128>>>(a, b);
  memory_bound_triad<<<count / 4 / 256, 256>>>(reinterpret_cast<float4*>(a), reinterpret_cast<float4*>(b),
                                               reinterpret_cast<float4*>(c), count / 4);
  bank_conflicts<<<count / 1024, dim3(32, 32)>>>(a, b);
#ifdef WITH_CUBLAS
  cublasHandle_t handle = nullptr;
  cublasCreate(&handle);
  cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
  const float one = 1, zero = 0;
  const int n = 8192;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
#endif
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
