#include "workloads/module/array_kernels.cuh"
#include "workloads/module/gemm/reference_kernels.h"

namespace warpmark::workloads {
namespace {

constexpr int kTile = 16;
constexpr int kThreads = 256;

__device__ double element(const MatrixView& matrix, std::int64_t row, std::int64_t column) {
  const std::int64_t index = matrix.transposed ? column * matrix.rows + row : row * matrix.columns + column;
  return load_element(matrix.array.data, matrix.array.type, index);
}

/// One thread an element of the output, tiles of both factors in shared memory.
__global__ void product_rows_kernel(MatrixView a, MatrixView b, RowChoice choice, double* out) {
  __shared__ double a_tile[kTile][kTile + 1];
  __shared__ double b_tile[kTile][kTile + 1];
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * kTile + threadIdx.y;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  const std::int64_t row = choice.first + i * choice.step;
  double sum = 0;
  for (std::int64_t k = 0; k < a.columns; k += kTile) {
    const bool a_inside = i < choice.rows && k + threadIdx.x < a.columns;
    a_tile[threadIdx.y][threadIdx.x] = a_inside ? element(a, row, k + threadIdx.x) : 0;
    // A transposed B is read along k, so that a warp's accesses stay together.
    const unsigned b_k = b.transposed ? threadIdx.x : threadIdx.y;
    const unsigned b_column = b.transposed ? threadIdx.y : threadIdx.x;
    const std::int64_t this_column = static_cast<std::int64_t>(blockIdx.x) * kTile + b_column;
    b_tile[b_k][b_column] = k + b_k < b.rows && this_column < b.columns ? element(b, k + b_k, this_column) : 0;
    __syncthreads();
    for (int step = 0; step < kTile; ++step) sum += a_tile[threadIdx.y][step] * b_tile[step][threadIdx.x];
    __syncthreads();
  }
  if (i < choice.rows && column < b.columns) out[i * b.columns + column] = sum;
}

__global__ void gather_rows_kernel(MatrixView c, RowChoice choice, double* out) {
  const std::int64_t count = choice.rows * c.columns;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    out[i] = element(c, choice.first + i / c.columns * choice.step, i % c.columns);
  }
}

__device__ double sign_of(std::uint64_t key, std::int64_t index) {
  return (mix64(key ^ mix64(static_cast<std::uint64_t>(index))) >> 63) != 0 ? 1.0 : -1.0;
}

/// One block a row; a transposed matrix is read with gaps, which the check can afford.
__global__ void matrix_vector_kernel(MatrixView matrix, const double* x, std::uint64_t key, double* out) {
  __shared__ double partial[kThreads];
  const std::int64_t row = blockIdx.x;
  double sum = 0;
  for (std::int64_t column = threadIdx.x; column < matrix.columns; column += kThreads) {
    sum += element(matrix, row, column) * (x != nullptr ? x[column] : sign_of(key, column));
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned width = kThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) partial[threadIdx.x] += partial[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[row] = partial[0];
}

}  // namespace

cudaError_t launch_product_rows(cudaStream_t stream, MatrixView a, MatrixView b, RowChoice choice, double* out) {
  const dim3 grid(static_cast<unsigned>((b.columns + kTile - 1) / kTile),
                  static_cast<unsigned>((choice.rows + kTile - 1) / kTile));
  product_rows_kernel<<<grid, dim3(kTile, kTile), 0, stream>>>(a, b, choice, out);
  return cudaGetLastError();
}

cudaError_t launch_gather_rows(cudaStream_t stream, MatrixView c, RowChoice choice, double* out) {
  gather_rows_kernel<<<1024, kThreads, 0, stream>>>(c, choice, out);
  return cudaGetLastError();
}

cudaError_t launch_matrix_vector(cudaStream_t stream, MatrixView matrix, const double* x, std::uint64_t key,
                                 double* out) {
  matrix_vector_kernel<<<static_cast<unsigned>(matrix.rows), kThreads, 0, stream>>>(matrix, x, key, out);
  return cudaGetLastError();
}

}  // namespace warpmark::workloads
