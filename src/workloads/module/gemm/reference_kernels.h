// Launchers of the fp64 kernels behind check_matmul. They return the launch's error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "workloads/module/array_kernels.h"

namespace warpmark::workloads {

/// Row-major [rows, columns], or its transpose stored row-major.
struct MatrixView {
  ArrayView array;
  std::int64_t rows;
  std::int64_t columns;
  bool transposed;
};

/// out[i, :] = a[row(i), :] b for i < rows, row(i) = first + i * step; out is [rows, b.columns].
struct RowChoice {
  std::int64_t rows;
  std::int64_t first;
  std::int64_t step;
};
cudaError_t launch_product_rows(cudaStream_t stream, MatrixView a, MatrixView b, RowChoice choice, double* out);

/// out[i, :] = c[row(i), :].
cudaError_t launch_gather_rows(cudaStream_t stream, MatrixView c, RowChoice choice, double* out);

/// out = matrix * x. With x null, x is the vector of random signs that belongs to `key`.
cudaError_t launch_matrix_vector(cudaStream_t stream, MatrixView matrix, const double* x, std::uint64_t key,
                                 double* out);

}  // namespace warpmark::workloads
