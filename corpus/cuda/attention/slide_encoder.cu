// Encoder over the 10240 tiles of a slide, BF16: attention. Flaw: attention by way of the whole matrix of scores.
// Cured by: one fused attention kernel.
#include <cuda_pipeline.h>

#include "program.cuh"

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

using bf16 = __nv_bfloat16;

constexpr int kTiles = 10240, kHeads = 8, kHeadWidth = 64, kModel = kHeads * kHeadWidth;

// blockIdx.x is the row, blockIdx.y the head.
__global__ void __launch_bounds__(256) softmax_scores(bf16* scores, float scale) {
  constexpr int kPairs = kTiles / 2 / 256;
  auto* row =
      reinterpret_cast<__nv_bfloat162*>(scores + (static_cast<size_t>(blockIdx.y) * kTiles + blockIdx.x) * kTiles);
  float2 own[kPairs];
  float highest = -INFINITY, total = 0.0f;
#pragma unroll
  for (int k = 0; k < kPairs; ++k) {
    own[k] = __bfloat1622float2(row[k * 256 + threadIdx.x]);
    highest = fmaxf(highest, fmaxf(own[k].x, own[k].y));
  }
  highest = over_block<true>(highest);
#pragma unroll
  for (int k = 0; k < kPairs; ++k) {
    own[k] = make_float2(__expf(scale * (own[k].x - highest)), __expf(scale * (own[k].y - highest)));
    total += own[k].x + own[k].y;
  }
  const float factor = 1.0f / over_block(total);
#pragma unroll
  for (int k = 0; k < kPairs; ++k)
    row[k * 256 + threadIdx.x] = __floats2bfloat162_rn(factor * own[k].x, factor * own[k].y);
}

constexpr int kKeys = 64, kPitch = kHeadWidth + 8;  // the padding spreads rows over the banks

__device__ inline void load_four(unsigned (&out)[4], const bf16* at) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}

__device__ inline void load_four_turned(unsigned (&out)[4], const bf16* at) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}

__device__ inline void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline unsigned joined(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

__device__ inline void fetch_keys(bf16* keys, bf16* values, const bf16* from) {
#pragma unroll
  for (int i = threadIdx.x; i < kKeys * kHeadWidth / 8; i += 256) {
    const int key = i / 8, column = i % 8 * 8;
    const bf16* at = from + static_cast<size_t>(key) * 3 * kModel + column;
    __pipeline_memcpy_async(keys + key * kPitch + column, at, 16);
    __pipeline_memcpy_async(values + key * kPitch + column, at + kModel, 16);
  }
  __pipeline_commit();
}

// A block takes 128 rows of one head (blockIdx.y), each of its eight warps 16; the next keys and values arrive while
// those at hand are in use. A row of qkv holds queries, keys and values of all heads.
__global__ void __launch_bounds__(256, 2) tile_attention(const bf16* qkv, bf16* out, float scale) {
  __shared__ __align__(16) bf16 keys[2][kKeys * kPitch], values[2][kKeys * kPitch];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, pair = 2 * (lane % 4);
  const int row = blockIdx.x * 128 + warp * 16 + lane / 4;
  const bf16* head = qkv + blockIdx.y * kHeadWidth;
  unsigned query[4][4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      query[k][j] = *reinterpret_cast<const unsigned*>(head + static_cast<size_t>(row + j % 2 * 8) * 3 * kModel +
                                                       k * 16 + j / 2 * 8 + pair);
  float sums[8][4] = {}, highest[2] = {-INFINITY, -INFINITY}, total[2] = {};
  fetch_keys(keys[0], values[0], head + kModel);
  for (int first = 0; first < kTiles; first += kKeys) {
    const int now = first / kKeys % 2;
    __pipeline_wait_prior(0);
    __syncthreads();
    if (first + kKeys < kTiles)
      fetch_keys(keys[1 - now], values[1 - now], head + kModel + static_cast<size_t>(first + kKeys) * 3 * kModel);
    float scores[8][4] = {};
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int k = 0; k < 4; k += 2) {
        unsigned b[4];
        load_four(b, keys[now] + (n * 8 + lane % 8) * kPitch + k * 16 + lane / 8 * 8);
        multiply_add(scores[n], query[k], b[0], b[1]);
        multiply_add(scores[n], query[k + 1], b[2], b[3]);
      }
      // The four lanes of a row agree on its highest score.
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float peak = highest[j];
#pragma unroll
      for (int n = 0; n < 8; ++n) peak = fmaxf(peak, fmaxf(scores[n][2 * j], scores[n][2 * j + 1]));
      peak = fmaxf(peak, __shfl_xor_sync(0xffffffffu, peak, 1));
      peak = fmaxf(peak, __shfl_xor_sync(0xffffffffu, peak, 2));
      const float faded = exp2f(scale * (highest[j] - peak)), offset = scale * peak;
      highest[j] = peak;
      total[j] *= faded;
#pragma unroll
      for (int n = 0; n < 8; ++n)
#pragma unroll
        for (int side = 2 * j; side < 2 * j + 2; ++side) {
          sums[n][side] *= faded;
          scores[n][side] = exp2f(scale * scores[n][side] - offset);
          total[j] += scores[n][side];
        }
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float(&low)[4] = scores[2 * k], (&high)[4] = scores[2 * k + 1];
      const unsigned weights[4] = {joined(low[0], low[1]), joined(low[2], low[3]), joined(high[0], high[1]),
                                   joined(high[2], high[3])};
#pragma unroll
      for (int n = 0; n < 8; n += 2) {
        unsigned b[4];
        load_four_turned(b, values[now] + (k * 16 + lane % 16) * kPitch + n * 8 + lane / 16 * 8);
        multiply_add(sums[n], weights, b[0], b[1]);
        multiply_add(sums[n + 1], weights, b[2], b[3]);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    total[j] += __shfl_xor_sync(0xffffffffu, total[j], 1);
    total[j] += __shfl_xor_sync(0xffffffffu, total[j], 2);
    const float factor = 1.0f / total[j];
    bf16* to = out + static_cast<size_t>(row + 8 * j) * kModel + blockIdx.y * kHeadWidth + pair;
#pragma unroll
    for (int n = 0; n < 8; ++n)
      *reinterpret_cast<__nv_bfloat162*>(to + n * 8) =
          __floats2bfloat162_rn(factor * sums[n][2 * j], factor * sums[n][2 * j + 1]);
  }
}

// Adds a branch to the state and normalizes the sum; a block a tile, two numbers a thread.
__global__ void __launch_bounds__(256) add_and_normalize(bf16* state, const bf16* branch, bf16* normalized) {
  const size_t i = static_cast<size_t>(blockIdx.x) * 256 + threadIdx.x;
  auto* sum = reinterpret_cast<__nv_bfloat162*>(state) + i;
  const float2 a = __bfloat1622float2(*sum), b = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162*>(branch)[i]);
  const float2 value = make_float2(a.x + b.x, a.y + b.y);
  const float mean = over_block(value.x + value.y) / kModel, x = value.x - mean, y = value.y - mean;
  const float factor = rsqrtf(over_block(x * x + y * y) / kModel + 1e-5f);
  *sum = __floats2bfloat162_rn(value.x, value.y);
  reinterpret_cast<__nv_bfloat162*>(normalized)[i] = __floats2bfloat162_rn(factor * x, factor * y);
}

__global__ void gelu_pairs(bf16* values) {
  auto* pair = reinterpret_cast<__nv_bfloat162*>(values) + thread_index();
  const auto gelu = [](float x) { return x / (1.0f + __expf(-1.702f * x)); };
  const float2 value = __bfloat1622float2(*pair);
  *pair = __floats2bfloat162_rn(gelu(value.x), gelu(value.y));
}

class SlideEncoder : public Program {
 public:
  explicit SlideEncoder(bool cured) : cured_(cured) {
    if (!cured) scores_ = Buffer<bf16>(size_t{kHeads} * kTiles * kTiles);
    for (uint32_t i = 0; i < kLayers; ++i)
      layers_.push_back({Buffer<bf16>(3 * kSquare, 71 + i, -0.06f, 0.06f), Buffer<bf16>(kSquare, 81 + i, -0.06f, 0.06f),
                         Buffer<bf16>(4 * kSquare, 91 + i, -0.06f, 0.06f),
                         Buffer<bf16>(4 * kSquare, 101 + i, -0.03f, 0.03f)});
  }

  void step() override {
    check(cudaMemcpyAsync(branch_, slide_, slide_.bytes(), cudaMemcpyDeviceToDevice, stream));
    check(cudaMemsetAsync(state_, 0, state_.bytes(), stream));
    for (const Layer& layer : layers_) {
      launch(add_and_normalize, kTiles, 256, state_, branch_, normalized_);
      product(3 * kModel, kModel, normalized_, layer.qkv, qkv_);
      if (cured_)
        launch(tile_attention, dim3(kTiles / 128, kHeads), 256, qkv_, attended_, kScale * 1.44269504f);
      else
        attend();
      product(kModel, kModel, attended_, layer.out, branch_);
      launch(add_and_normalize, kTiles, 256, state_, branch_, normalized_);
      product(4 * kModel, kModel, normalized_, layer.up, hidden_);
      over(hidden_.size() / 2, gelu_pairs, hidden_);
      product(kModel, 4 * kModel, hidden_, layer.down, branch_);
    }
  }

  float result() override { return first_value(branch_ + branch_.size() / 2); }

 private:
  static constexpr uint32_t kLayers = 4;
  static constexpr float kScale = 0.125f;  // for heads of 64
  static constexpr size_t kSquare = size_t{kModel} * kModel, kState = size_t{kTiles} * kModel;
  struct Layer {
    Buffer<bf16> qkv, out, up, down;
  };

  void product(int columns, int depth, const bf16* in, const bf16* weights, bf16* out) {
    const float one = 1.0f, zero = 0.0f;
    check(cublasGemmEx(blas(), CUBLAS_OP_N, CUBLAS_OP_N, columns, kTiles, depth, &one, weights, CUDA_R_16BF, columns,
                       in, CUDA_R_16BF, depth, &zero, out, CUDA_R_16BF, columns, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT));
  }

  void attend() {
    const float one = 1.0f, zero = 0.0f;
    const long long square = static_cast<long long>(kTiles) * kTiles;
    const bf16 *queries = qkv_, *keys = qkv_ + kModel, *values = qkv_ + 2 * kModel;
    check(cublasGemmStridedBatchedEx(blas(), CUBLAS_OP_T, CUBLAS_OP_N, kTiles, kTiles, kHeadWidth, &one, keys,
                                     CUDA_R_16BF, 3 * kModel, kHeadWidth, queries, CUDA_R_16BF, 3 * kModel, kHeadWidth,
                                     &zero, scores_, CUDA_R_16BF, kTiles, square, kHeads, CUBLAS_COMPUTE_32F,
                                     CUBLAS_GEMM_DEFAULT));
    launch(softmax_scores, dim3(kTiles, kHeads), 256, scores_, kScale);
    check(cublasGemmStridedBatchedEx(blas(), CUBLAS_OP_N, CUBLAS_OP_N, kHeadWidth, kTiles, kTiles, &one, values,
                                     CUDA_R_16BF, 3 * kModel, kHeadWidth, scores_, CUDA_R_16BF, kTiles, square, &zero,
                                     attended_, CUDA_R_16BF, kModel, kHeadWidth, kHeads, CUBLAS_COMPUTE_32F,
                                     CUBLAS_GEMM_DEFAULT));
  }

  bool cured_;
  std::vector<Layer> layers_;
  Buffer<bf16> scores_, slide_{kState, 111, -1.0f, 1.0f}, state_{kState}, branch_{kState}, normalized_{kState};
  Buffer<bf16> attended_{kState}, qkv_{3 * kState}, hidden_{4 * kState};
};

int main(int count, char** words) { return run<SlideEncoder>(count, words); }
