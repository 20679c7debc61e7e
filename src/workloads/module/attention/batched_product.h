// A batch of matrix products by cuBLASLt, for attention impl=standard.
#pragma once

#include <cstdint>

#include "device/device.h"
#include "workloads/module/element_type.h"
#include "workloads/module/gemm/cublaslt.h"

namespace warpmark::workloads {

/// A column-major matrix, repeated `batch` times without gaps. A row-major matrix is its transpose seen this way.
struct MatrixShape {
  std::int64_t rows, columns;
};

struct BatchedProductOptions {
  MatrixShape a, b, c;
  bool transpose_a;
  float scale;
  std::int64_t batch;
  ElementType type;  ///< f32, f16 or bf16; sums are fp32
};

struct BatchedOperands {
  const void* a;
  const void* b;
  void* c;
};

/// c = scale op(a) b, by the algorithm that the library's heuristic ranks first.
class BatchedProduct {
 public:
  [[nodiscard]] static Result<BatchedProduct> make(device::Device& device, const BatchedProductOptions& options);
  Status enqueue(device::Stream stream, const BatchedOperands& operands) const;

 private:
  explicit BatchedProduct(const CublasLt& library);
  Status make_layout(CublasLtOwner<cublasLtMatrixLayout_t>& layout, const MatrixShape& shape,
                     const BatchedProductOptions& options) const;
  Status choose();

  const CublasLt* library_;
  CublasLtOwner<cublasLtHandle_t> handle_;
  CublasLtOwner<cublasLtMatmulDesc_t> description_;
  CublasLtOwner<cublasLtMatrixLayout_t> a_, b_, c_;
  std::unique_ptr<device::Buffer> workspace_;
  cublasLtMatmulHeuristicResult_t chosen_{};
  float scale_ = 1;
};

}  // namespace warpmark::workloads
