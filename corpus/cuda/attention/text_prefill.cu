// Prefill of a small GPT over 8192 tokens, FP16: attention. Flaw: attention written out as products, mask and
// softmax over the whole score matrix. Cured by: one fused attention kernel.
#include "program.cuh"

constexpr int kHead = 64;  // the width of a head

// scores[head, row, key]: blockIdx.x is the row, blockIdx.y the head.
__global__ void scale_and_mask(half* scores, int length, float scale) {
  const int row = blockIdx.x;
  half* line = scores + (static_cast<size_t>(blockIdx.y) * length + row) * length;
  for (int key = threadIdx.x; key < length; key += blockDim.x)
    line[key] = key <= row ? __float2half(scale * __half2float(line[key])) : __float2half(-60000.0f);
}

__device__ inline float over_block(float value, bool sum) {
  __shared__ float parts[8];
  for (int apart = 16; apart > 0; apart /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, apart);
    value = sum ? value + other : fmaxf(value, other);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
  for (int warp = 1; warp < 8; ++warp) value = sum ? value + parts[warp] : fmaxf(value, parts[warp]);
  return value;
}

__global__ void __launch_bounds__(256) softmax_rows(half* scores, int length) {
  half* line = scores + (static_cast<size_t>(blockIdx.y) * length + blockIdx.x) * length;
  float largest = -INFINITY, total = 0.0f;
  for (int key = threadIdx.x; key < length; key += 256) largest = fmaxf(largest, __half2float(line[key]));
  largest = over_block(largest, false);
  for (int key = threadIdx.x; key < length; key += 256) total += __expf(__half2float(line[key]) - largest);
  const float factor = 1.0f / over_block(total, true);
  for (int key = threadIdx.x; key < length; key += 256)
    line[key] = __float2half(factor * __expf(__half2float(line[key]) - largest));
}

__device__ inline unsigned pair_at(const half* at) { return *reinterpret_cast<const unsigned*>(at); }

__device__ inline unsigned paired(float low, float high) {
  const half2 both = __floats2half2_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&both);
}

// c += a b for a 16x16 tile a and a 16x8 tile b, in the layout of mma.m16n8k16.
__device__ inline void multiply_tiles(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two 8x8 tiles, turned; lanes 0 to 15 give the addresses of their rows.
__device__ inline void load_turned(unsigned& b0, unsigned& b1, const half* row) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(b0), "=r"(b1)
               : "r"(address)
               : "memory");
}

// A block takes 128 rows of one head (blockIdx.y), a warp 16 of them; keys and values come in tiles of 64. A row of qkv
// holds the queries, keys and values of all heads.
__global__ void __launch_bounds__(256) causal_attention(const half* qkv, half* out, int model) {
  constexpr int kKeys = 64, kPitch = kHead + 8, kSteps = kHead / 16;
  __shared__ __align__(16) half keys[kKeys * kPitch], values[kKeys * kPitch];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, pair = 2 * (lane % 4);
  // The longest rows first, so that the short ones fill the end.
  const int block_row = (gridDim.x - 1 - blockIdx.x) * 128, row = block_row + warp * 16 + group;
  const size_t pitch = 3 * static_cast<size_t>(model);
  const half* queries = qkv + blockIdx.y * kHead;
  unsigned q[kSteps][4];
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    const half* at = queries + row * pitch + k * 16 + pair;
    q[k][0] = pair_at(at);
    q[k][1] = pair_at(at + 8 * pitch);
    q[k][2] = pair_at(at + 8);
    q[k][3] = pair_at(at + 8 * pitch + 8);
  }
  float sums[8][4] = {}, largest[2] = {-INFINITY, -INFINITY}, total[2] = {0.0f, 0.0f};
  const float scale = rsqrtf(static_cast<float>(kHead)) * 1.44269504f;  // for powers of two
  for (int first = 0; first < block_row + 128; first += kKeys) {
    __syncthreads();
#pragma unroll
    for (int i = threadIdx.x; i < kKeys * kHead / 8; i += 256) {
      const int key = i / (kHead / 8), column = i % (kHead / 8) * 8;
      const half* from = queries + model + (first + key) * pitch + column;
      *reinterpret_cast<uint4*>(keys + key * kPitch + column) = *reinterpret_cast<const uint4*>(from);
      *reinterpret_cast<uint4*>(values + key * kPitch + column) = *reinterpret_cast<const uint4*>(from + model);
    }
    __syncthreads();
    float scores[8][4] = {};
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int k = 0; k < kSteps; ++k) {
        const half* at = keys + (n * 8 + group) * kPitch + k * 16 + pair;
        multiply_tiles(scores[n], q[k], pair_at(at), pair_at(at + 8));
      }
    float highest[2] = {largest[0], largest[1]};
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int key = first + n * 8 + pair + j % 2;
        scores[n][j] = key <= row + 8 * (j / 2) ? scale * scores[n][j] : -INFINITY;
        highest[j / 2] = fmaxf(highest[j / 2], scores[n][j]);
      }
      // The four lanes of a group hold the same rows. Key 0 is in the first tile, so no maximum stays infinite.
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      highest[j] = fmaxf(highest[j], __shfl_xor_sync(0xffffffffu, highest[j], 1));
      highest[j] = fmaxf(highest[j], __shfl_xor_sync(0xffffffffu, highest[j], 2));
      const float correction = exp2f(largest[j] - highest[j]);
      largest[j] = highest[j];
      total[j] *= correction;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        sums[n][2 * j] *= correction;
        sums[n][2 * j + 1] *= correction;
      }
    }
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        scores[n][j] = exp2f(scores[n][j] - largest[j / 2]);
        total[j / 2] += scores[n][j];
      }
#pragma unroll
    for (int k = 0; k < kKeys / 16; ++k) {
      const float(&low)[4] = scores[2 * k], (&high)[4] = scores[2 * k + 1];
      const unsigned weights[4] = {paired(low[0], low[1]), paired(low[2], low[3]), paired(high[0], high[1]),
                                   paired(high[2], high[3])};
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        unsigned b0, b1;
        load_turned(b0, b1, values + (k * 16 + lane % 16) * kPitch + n * 8);
        multiply_tiles(sums[n], weights, b0, b1);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    total[j] += __shfl_xor_sync(0xffffffffu, total[j], 1);
    total[j] += __shfl_xor_sync(0xffffffffu, total[j], 2);
    half* to = out + static_cast<size_t>(row + 8 * j) * model + blockIdx.y * kHead + pair;
#pragma unroll
    for (int n = 0; n < 8; ++n)
      *reinterpret_cast<half2*>(to + n * 8) =
          __floats2half2_rn(sums[n][2 * j] / total[j], sums[n][2 * j + 1] / total[j]);
  }
}

// One block a token of 1024 numbers.
__global__ void __launch_bounds__(256) rms_norm(const half* in, half* out, int model) {
  const half* from = in + static_cast<size_t>(blockIdx.x) * model;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < model; i += 256) squares += __half2float(from[i]) * __half2float(from[i]);
  const float factor = rsqrtf(over_block(squares, true) / model + 1e-5f);
  for (int i = threadIdx.x; i < model; i += 256)
    out[static_cast<size_t>(blockIdx.x) * model + i] = __float2half(factor * __half2float(from[i]));
}

__global__ void gelu(half* values, size_t count) {
  const size_t i = thread_index();
  if (i >= count) return;
  const float x = __half2float(values[i]);
  values[i] = __float2half(x / (1.0f + __expf(-1.702f * x)));
}

__global__ void add_to(half* values, const half* more, size_t count) {
  const size_t i = thread_index();
  if (i < count) values[i] = __float2half(__half2float(values[i]) + __half2float(more[i]));
}

class Prefill : public Program {
 public:
  explicit Prefill(bool cured) : cured_(cured) {
    for (unsigned i = 0; i < kLayers; ++i)
      layers_.push_back({matrix(3 * kModel, 81 + i), matrix(kModel, 91 + i), matrix(4 * kModel, 101 + i),
                         Buffer<half>(size_t{4} * kModel * kModel, 111 + i, -0.02f, 0.02f)});
    if (!cured) scores_ = Buffer<half>(size_t{kHeads} * kLength * kLength);
  }

  void step() override {
    check(cudaMemcpyAsync(state_, tokens_, tokens_.bytes(), cudaMemcpyDeviceToDevice, stream));
    for (const Layer& layer : layers_) {
      launch(rms_norm, kLength, 256, state_, normed_, kModel);
      product<half>(false, false, kLength, 3 * kModel, kModel, normed_, layer.qkv, qkv_, CUBLAS_COMPUTE_32F);
      if (cured_)
        launch(causal_attention, dim3(kLength / 128, kHeads), 256, qkv_, mixed_, kModel);
      else
        attend();
      product<half>(false, false, kLength, kModel, kModel, mixed_, layer.out, normed_, CUBLAS_COMPUTE_32F);
      over(state_.size(), add_to, state_, normed_, state_.size());
      launch(rms_norm, kLength, 256, state_, normed_, kModel);
      product<half>(false, false, kLength, 4 * kModel, kModel, normed_, layer.up, hidden_, CUBLAS_COMPUTE_32F);
      over(hidden_.size(), gelu, hidden_, hidden_.size());
      product<half>(false, false, kLength, kModel, 4 * kModel, hidden_, layer.down, mixed_, CUBLAS_COMPUTE_32F);
      over(state_.size(), add_to, state_, mixed_, state_.size());
    }
  }

  float result() override { return first_value(state_.data() + state_.size() / 2); }

 private:
  static constexpr int kLength = 8192, kHeads = 16, kModel = kHeads * kHead;
  static constexpr unsigned kLayers = 4;
  struct Layer {
    Buffer<half> qkv, out, up, down;
  };

  static Buffer<half> matrix(int columns, unsigned seed) {
    return Buffer<half>(size_t{kModel} * columns, seed, -0.05f, 0.05f);
  }

  void attend() {
    const float one = 1.0f, zero = 0.0f;
    const long long square = static_cast<long long>(kLength) * kLength;
    const half *queries = qkv_, *keys = qkv_ + kModel, *values = qkv_ + 2 * kModel;
    check(cublasGemmStridedBatchedEx(blas(), CUBLAS_OP_T, CUBLAS_OP_N, kLength, kLength, kHead, &one, keys, CUDA_R_16F,
                                     3 * kModel, kHead, queries, CUDA_R_16F, 3 * kModel, kHead, &zero, scores_,
                                     CUDA_R_16F, kLength, square, kHeads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    launch(scale_and_mask, dim3(kLength, kHeads), 256, scores_, kLength, 1.0f / std::sqrt(float(kHead)));
    launch(softmax_rows, dim3(kLength, kHeads), 256, scores_, kLength);
    check(cublasGemmStridedBatchedEx(blas(), CUBLAS_OP_N, CUBLAS_OP_N, kHead, kLength, kLength, &one, values,
                                     CUDA_R_16F, 3 * kModel, kHead, scores_, CUDA_R_16F, kLength, square, &zero, mixed_,
                                     CUDA_R_16F, kModel, kHead, kHeads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  bool cured_;
  std::vector<Layer> layers_;
  Buffer<half> scores_, tokens_{size_t{kLength} * kModel, 79u, -1.0f, 1.0f}, state_{size_t{kLength} * kModel};
  Buffer<half> normed_{size_t{kLength} * kModel}, mixed_{size_t{kLength} * kModel};
  Buffer<half> qkv_{size_t{3} * kLength * kModel}, hidden_{size_t{4} * kLength * kModel};
};

int main(int count, char** words) { return run<Prefill>(count, words); }
