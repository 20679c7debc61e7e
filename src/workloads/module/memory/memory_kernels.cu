// STREAM's kernels (McCalpin, 1995) for GPU memory: 16-byte accesses, coalesced over the warp. On an H100, blocks of
// 1024 threads with one access each kept more of the memory busy than smaller blocks with several, or than a persistent
// grid (copy of 1 GiB: 3.02, 2.99 and 2.87 TB/s).
#include "workloads/module/memory/memory_kernels.h"

namespace warpmark::workloads {
namespace {

__device__ std::int64_t first_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::int64_t index_stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

constexpr int kThreads = 256;  // of the checks
constexpr int kStreamThreads = 1024;
constexpr int kVectors = 1;                                // 16-byte accesses in flight per array and thread
constexpr std::int64_t kTile = kStreamThreads * kVectors;  // of float4
constexpr int kReadThreads = 512;
constexpr int kReadVectors = 4;
constexpr int kReadBlocks = 8;  // per multiprocessor: two rounds of resident blocks
constexpr std::int64_t kReadTile = kReadThreads * kReadVectors;

struct CopyElement {
  static constexpr int kInputs = 1;
  __device__ static float apply(float in, float, float) { return in; }
};
struct TriadElement {
  static constexpr int kInputs = 2;
  __device__ static float apply(float in, float more, float scalar) { return __fmaf_rn(scalar, more, in); }
};
struct WriteElement {
  static constexpr int kInputs = 0;
  __device__ static float apply(float, float, float scalar) { return scalar; }
};

template <typename Element>
__device__ float4 apply4(float4 in, float4 more, float scalar) {
  return make_float4(Element::apply(in.x, more.x, scalar), Element::apply(in.y, more.y, scalar),
                     Element::apply(in.z, more.z, scalar), Element::apply(in.w, more.w, scalar));
}

/// One tile a block; the last block also does what does not fill it.
template <typename Element>
__global__ void __launch_bounds__(kStreamThreads) stream_kernel(MemoryArrays arrays) {
  const std::int64_t vectors = arrays.count / 4;
  const auto* in = reinterpret_cast<const float4*>(arrays.in);
  const auto* more = reinterpret_cast<const float4*>(arrays.more);
  auto* out = reinterpret_cast<float4*>(arrays.out);
  const std::int64_t first = blockIdx.x * kTile + threadIdx.x;
  if (blockIdx.x * kTile + kTile <= vectors) {
    float4 a[kVectors] = {};
    float4 b[kVectors] = {};
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if constexpr (Element::kInputs >= 1) a[i] = in[first + i * kStreamThreads];
      if constexpr (Element::kInputs >= 2) b[i] = more[first + i * kStreamThreads];
    }
#pragma unroll
    for (int i = 0; i < kVectors; ++i) out[first + i * kStreamThreads] = apply4<Element>(a[i], b[i], arrays.scalar);
    return;
  }
  for (std::int64_t i = blockIdx.x * kTile * 4 + threadIdx.x; i < arrays.count; i += kStreamThreads) {
    const float a = Element::kInputs >= 1 ? arrays.in[i] : 0.0F;
    const float b = Element::kInputs >= 2 ? arrays.more[i] : 0.0F;
    arrays.out[i] = Element::apply(a, b, arrays.scalar);
  }
}

template <typename Element>
cudaError_t launch_stream(cudaStream_t stream, const MemoryArrays& arrays) {
  const std::int64_t tile = kTile * 4;
  const auto blocks = static_cast<unsigned>((arrays.count + tile - 1) / tile);
  stream_kernel<Element><<<blocks, kStreamThreads, 0, stream>>>(arrays);
  return cudaGetLastError();
}

/// out[block] = the sum of the tiles that the block read.
__global__ void __launch_bounds__(kReadThreads) read_kernel(MemoryArrays arrays) {
  const std::int64_t vectors = arrays.count / 4;
  const auto* in = reinterpret_cast<const float4*>(arrays.in);
  float4 sums[2] = {};
  std::int64_t tile = blockIdx.x * kReadTile;
  for (; tile + kReadTile <= vectors; tile += gridDim.x * kReadTile) {
    float4 loaded[kReadVectors];
#pragma unroll
    for (int i = 0; i < kReadVectors; ++i) loaded[i] = in[tile + threadIdx.x + i * kReadThreads];
#pragma unroll
    for (int i = 0; i < kReadVectors; ++i) {
      float4& sum = sums[i % 2];
      sum.x += loaded[i].x;
      sum.y += loaded[i].y;
      sum.z += loaded[i].z;
      sum.w += loaded[i].w;
    }
  }
  float total = sums[0].x + sums[0].y + sums[0].z + sums[0].w + sums[1].x + sums[1].y + sums[1].z + sums[1].w;
  if (tile < vectors || (tile == vectors && tile * 4 < arrays.count)) {  // the block whose next tile is the cut-off one
    for (std::int64_t i = tile * 4 + threadIdx.x; i < arrays.count; i += kReadThreads) total += arrays.in[i];
  }
  for (int width = 16; width > 0; width /= 2) total += __shfl_xor_sync(0xFFFFFFFFU, total, width);
  __shared__ float warp_sums[kReadThreads / 32];
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (const float part : warp_sums) sum += part;
    arrays.out[blockIdx.x] = sum;
  }
}

__global__ void count_mismatches_kernel(MemoryCheck check, MemoryArrays arrays, unsigned long long* mismatches) {
  unsigned long long mine = 0;
  for (std::int64_t i = first_index(); i < arrays.count; i += index_stride()) {
    float expected = arrays.scalar;
    if (check == MemoryCheck::copy) expected = arrays.in[i];
    if (check == MemoryCheck::triad) expected = __fmaf_rn(arrays.scalar, arrays.more[i], arrays.in[i]);
    mine += arrays.out[i] == expected ? 0 : 1;  // a poisoned element (NaN) equals nothing
  }
  if (mine != 0) atomicAdd(mismatches, mine);
}

__global__ void whole_sum_kernel(const float* in, std::int64_t count, unsigned long long* sum) {
  long long mine = 0;
  for (std::int64_t i = first_index(); i < count; i += index_stride()) {
    mine += static_cast<long long>(in[i]);
  }
  atomicAdd(sum, static_cast<unsigned long long>(mine));  // two's complement: the sum of signed numbers
}

}  // namespace

cudaError_t launch_copy(cudaStream_t stream, const MemoryArrays& arrays) {
  return launch_stream<CopyElement>(stream, arrays);
}
cudaError_t launch_triad(cudaStream_t stream, const MemoryArrays& arrays) {
  return launch_stream<TriadElement>(stream, arrays);
}
cudaError_t launch_write(cudaStream_t stream, const MemoryArrays& arrays) {
  return launch_stream<WriteElement>(stream, arrays);
}

int read_blocks(std::int64_t count, int multiprocessors) {
  const std::int64_t tiles = (count / 4 + kReadTile - 1) / kReadTile;
  const std::int64_t resident = std::int64_t{multiprocessors} * kReadBlocks;
  return static_cast<int>(tiles < 1 ? 1 : tiles < resident ? tiles : resident);
}

cudaError_t launch_read(cudaStream_t stream, const MemoryArrays& arrays, int blocks) {
  read_kernel<<<static_cast<unsigned>(blocks), kReadThreads, 0, stream>>>(arrays);
  return cudaGetLastError();
}

cudaError_t launch_count_mismatches(cudaStream_t stream, MemoryCheck check, const MemoryArrays& arrays,
                                    unsigned long long* mismatches) {
  count_mismatches_kernel<<<2048, kThreads, 0, stream>>>(check, arrays, mismatches);
  return cudaGetLastError();
}

cudaError_t launch_whole_sum(cudaStream_t stream, const float* in, std::int64_t count, long long* sum) {
  whole_sum_kernel<<<2048, kThreads, 0, stream>>>(in, count, reinterpret_cast<unsigned long long*>(sum));
  return cudaGetLastError();
}

}  // namespace warpmark::workloads
