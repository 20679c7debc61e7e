// Programs of native_cases2.cu that search: pictures near a query by their descriptors, proteins by local alignment.
#pragma once

#include "native2_device.cuh"

// --- nearest neighbours ----------------------------------------------------------------------------------------------

constexpr int kNearest = 8;

__global__ void __launch_bounds__(256) squared_lengths(const float* rows, float* lengths, int width) {
  const float* row = rows + static_cast<size_t>(blockIdx.x) * width;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < width; i += 256) sum += row[i] * row[i];
  sum = over_block(sum);
  if (threadIdx.x == 0) lengths[blockIdx.x] = sum;
}

// The nearest of all pictures to a query (blockIdx.x): first those of each thread, then of the block.
__global__ void __launch_bounds__(256)
    select_nearest(const float* products, const float* lengths, int* found, float* distances, int pictures) {
  __shared__ int winner;
  const float4* row = reinterpret_cast<const float4*>(products + static_cast<size_t>(blockIdx.x) * pictures);
  float near[kNearest];
  int which[kNearest];
#pragma unroll
  for (int k = 0; k < kNearest; ++k) {
    near[k] = INFINITY;
    which[k] = 0;
  }
  for (int i = threadIdx.x; i < pictures / 4; i += 256) {
    const float4 dot = row[i], length = reinterpret_cast<const float4*>(lengths)[i];
    const float candidates[4] = {length.x - 2.0f * dot.x, length.y - 2.0f * dot.y, length.z - 2.0f * dot.z,
                                 length.w - 2.0f * dot.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (candidates[j] >= near[kNearest - 1]) continue;
      near[kNearest - 1] = candidates[j];
      which[kNearest - 1] = 4 * i + j;
#pragma unroll
      for (int k = kNearest - 1; k > 0; --k)
        if (near[k] < near[k - 1]) {
          const float distance = near[k];
          const int other = which[k];
          near[k] = near[k - 1];
          which[k] = which[k - 1];
          near[k - 1] = distance;
          which[k - 1] = other;
        }
    }
  }
  for (int place = 0; place < kNearest; ++place) {
    const float best = -over_block<true>(-near[0]);
    if (threadIdx.x == 0) winner = 256;
    __syncthreads();
    if (near[0] == best) atomicMin(&winner, static_cast<int>(threadIdx.x));
    __syncthreads();
    if (static_cast<int>(threadIdx.x) != winner) continue;
    found[blockIdx.x * kNearest + place] = which[0];
    distances[blockIdx.x * kNearest + place] = best;
#pragma unroll
    for (int k = 0; k + 1 < kNearest; ++k) {
      near[k] = near[k + 1];
      which[k] = which[k + 1];
    }
    near[kNearest - 1] = INFINITY;
  }
}

class PictureSearch : public Program {
 public:
  explicit PictureSearch(bool fixed) : compute_(fixed ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F) {
    launch(squared_lengths, kPictures, 256, pictures_, lengths_, kWidth);
  }

  void step() override {
    const float one = 1.0f, zero = 0.0f;
    const float* queries = queries_ + step_++ % kBatches * kQueries * kWidth;
    ok(cublasGemmEx(blas(), CUBLAS_OP_T, CUBLAS_OP_N, kPictures, kQueries, kWidth, &one, pictures_, CUDA_R_32F, kWidth,
                    queries, CUDA_R_32F, kWidth, &zero, products_, CUDA_R_32F, kPictures, compute_,
                    CUBLAS_GEMM_DEFAULT));
    launch(select_nearest, kQueries, 256, products_, lengths_, found_, distances_, kPictures);
  }

  float result() override { return value_at(distances_ + 3) + value_at(found_ + 3); }

 private:
  static constexpr int kPictures = 1 << 18, kQueries = 2048, kWidth = 512, kBatches = 4;
  cublasComputeType_t compute_;
  size_t step_ = 0;
  Array<float> pictures_{size_t{kPictures} * kWidth, 41, -1.0f, 1.0f}, lengths_{kPictures};
  Array<float> queries_{size_t{kBatches} * kQueries * kWidth, 43, -1.0f, 1.0f};
  Array<float> products_{size_t{kQueries} * kPictures}, distances_{kQueries * kNearest};
  Array<int> found_{kQueries * kNearest};
};

// --- local alignment of a protein with a database --------------------------------------------------------------------

constexpr int kQueryLength = 512, kLongest = 384, kAcids = 24;

// Smith and Waterman's score with affine gaps. A block takes one protein of the database and a thread one acid of the
// query; the block walks along the diagonals. A cell needs the cells above and above left, which its neighbour has
// computed one and two diagonals before.
__global__ void __launch_bounds__(kQueryLength)
    align_proteins(const int8_t* query, const int8_t* database, const int* lengths, const int8_t* likeness,
                   int* scores) {
  __shared__ int8_t likely[kAcids * kAcids], protein[kLongest];
  __shared__ int score[3][kQueryLength + 1], gap[2][kQueryLength + 1], highest;
  constexpr int kOpen = 11, kExtend = 1;
  const int row = threadIdx.x, length = lengths[blockIdx.x];
  for (int i = row; i < kAcids * kAcids; i += kQueryLength) likely[i] = likeness[i];
  for (int i = row; i < length; i += kQueryLength)
    protein[i] = database[static_cast<size_t>(blockIdx.x) * kLongest + i];
  for (int i = row; i <= kQueryLength; i += kQueryLength) {
    for (int k = 0; k < 3; ++k) score[k][i] = 0;
    gap[0][i] = gap[1][i] = -10000;
  }
  if (row == 0) highest = 0;
  __syncthreads();
  const int8_t* likely_here = likely + query[row] * kAcids;
  int left = 0, left_gap = -10000, best = 0, now = 0, before = 2, earlier = 1;
  for (int diagonal = 0; diagonal < kQueryLength + length - 1; ++diagonal) {
    const int column = diagonal - row;
    if (column >= 0 && column < length) {
      // Index row is the acid above, row + 1 the own; rows are shifted by one.
      const int above_gap = max(gap[(diagonal + 1) & 1][row] - kExtend, score[before][row] - kOpen);
      left_gap = max(left_gap - kExtend, left - kOpen);
      const int matched = (column == 0 ? 0 : score[earlier][row]) + likely_here[protein[column]];
      left = max(max(0, matched), max(above_gap, left_gap));
      best = max(best, left);
      score[now][row + 1] = left;
      gap[diagonal & 1][row + 1] = above_gap;
    }
    const int free = earlier;
    earlier = before;
    before = now;
    now = free;
    __syncthreads();
  }
  for (int apart = 16; apart > 0; apart /= 2) best = max(best, __shfl_xor_sync(0xffffffffu, best, apart));
  if (row % 32 == 0) atomicMax(&highest, best);
  __syncthreads();
  if (row == 0) scores[blockIdx.x] = highest;
}

class ProteinSearch : public Program {
 public:
  explicit ProteinSearch(bool fixed) : at_once_(fixed ? kProteins : 64) {
    std::vector<int8_t> query(kQueryLength), database(size_t{kProteins} * kLongest), likeness(kAcids * kAcids);
    std::vector<int> lengths(kProteins);
    for (size_t i = 0; i < query.size(); ++i) query[i] = static_cast<int8_t>(mixed(i) % 20);
    for (size_t i = 0; i < database.size(); ++i) database[i] = static_cast<int8_t>(mixed(i + 1000) % 20);
    for (int a = 0; a < kAcids; ++a)
      for (int b = 0; b < kAcids; ++b)
        likeness[a * kAcids + b] = static_cast<int8_t>(a == b ? 5 : static_cast<int>(mixed(a * b + a + b) % 5) - 4);
    for (int i = 0; i < kProteins; ++i) lengths[i] = kLongest - static_cast<int>(mixed(i + 77) % 65);
    query_ = Array<int8_t>(query);
    database_ = Array<int8_t>(database);
    likeness_ = Array<int8_t>(likeness);
    lengths_ = Array<int>(lengths);
  }

  void step() override {
    for (int first = 0; first < kProteins; first += at_once_)
      launch(align_proteins, at_once_, kQueryLength, query_, database_ + size_t(first) * kLongest, lengths_ + first,
             likeness_, scores_ + first);
  }

  float result() override { return value_at(scores_ + kProteins - 1); }

 private:
  static constexpr int kProteins = 4096;
  int at_once_;
  Array<int8_t> query_, database_, likeness_;
  Array<int> lengths_, scores_{kProteins};
};
