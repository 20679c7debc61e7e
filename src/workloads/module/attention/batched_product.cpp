#include "workloads/module/attention/batched_product.h"

#include "device/cuda/module/cuda_device.h"

namespace warpmark::workloads {
namespace {

constexpr std::size_t kBatchedWorkspaceBytes = std::size_t{32}
                                               << 20;  ///< what the library's documentation advises on Hopper

cudaDataType_t batched_type(ElementType type) {
  if (type == ElementType::f16) return CUDA_R_16F;
  if (type == ElementType::bf16) return CUDA_R_16BF;
  return CUDA_R_32F;
}

}  // namespace

BatchedProduct::BatchedProduct(const CublasLt& library)
    : library_(&library),
      handle_(nullptr, library.destroy),
      description_(nullptr, library.description_destroy),
      a_(nullptr, library.layout_destroy),
      b_(nullptr, library.layout_destroy),
      c_(nullptr, library.layout_destroy) {}

Result<BatchedProduct> BatchedProduct::make(device::Device& device, const BatchedProductOptions& options) {
  WM_ASSIGN(const CublasLt* library, cublaslt());
  BatchedProduct product(*library);
  product.scale_ = options.scale;
  cublasLtHandle_t handle = nullptr;
  WM_TRY(library->check(library->create(&handle), "cublasLtCreate"));
  product.handle_.reset(handle);
  cublasLtMatmulDesc_t description = nullptr;
  WM_TRY(library->check(library->description_create(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                        "cublasLtMatmulDescCreate"));
  product.description_.reset(description);
  const cublasOperation_t operation = options.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  WM_TRY(
      library->check(library->description_set(description, CUBLASLT_MATMUL_DESC_TRANSA, &operation, sizeof operation),
                     "cublasLtMatmulDescSetAttribute"));
  WM_TRY(product.make_layout(product.a_, options.a, options));
  WM_TRY(product.make_layout(product.b_, options.b, options));
  WM_TRY(product.make_layout(product.c_, options.c, options));
  WM_ASSIGN(product.workspace_, device.allocate(kBatchedWorkspaceBytes));
  WM_TRY(product.choose());
  return product;
}

Status BatchedProduct::make_layout(CublasLtOwner<cublasLtMatrixLayout_t>& layout, const MatrixShape& shape,
                                   const BatchedProductOptions& options) const {
  cublasLtMatrixLayout_t made = nullptr;
  WM_TRY(
      library_->check(library_->layout_create(&made, batched_type(options.type), static_cast<std::uint64_t>(shape.rows),
                                              static_cast<std::uint64_t>(shape.columns), shape.rows),
                      "cublasLtMatrixLayoutCreate"));
  layout.reset(made);
  const auto batch = static_cast<std::int32_t>(options.batch);
  const std::int64_t stride = shape.rows * shape.columns;
  WM_TRY(library_->check(library_->layout_set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch),
                         "cublasLtMatrixLayoutSetAttribute(BATCH_COUNT)"));
  return library_->check(
      library_->layout_set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
      "cublasLtMatrixLayoutSetAttribute(STRIDED_BATCH_OFFSET)");
}

Status BatchedProduct::choose() {
  cublasLtMatmulPreference_t made = nullptr;
  WM_TRY(library_->check(library_->preference_create(&made), "cublasLtMatmulPreferenceCreate"));
  const CublasLtOwner<cublasLtMatmulPreference_t> preference(made, library_->preference_destroy);
  WM_TRY(library_->check(library_->preference_set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &kBatchedWorkspaceBytes, sizeof kBatchedWorkspaceBytes),
                         "cublasLtMatmulPreferenceSetAttribute"));
  int found = 0;
  WM_TRY(library_->check(library_->heuristic(handle_.get(), description_.get(), a_.get(), b_.get(), c_.get(), c_.get(),
                                             made, 1, &chosen_, &found),
                         "cublasLtMatmulAlgoGetHeuristic"));
  if (found == 0) return unsupported_error("cuBLASLt offers no algorithm for this batched product");
  return {};
}

Status BatchedProduct::enqueue(device::Stream stream, const BatchedOperands& operands) const {
  const float beta = 0;
  const cublasStatus_t status =
      library_->matmul(handle_.get(), description_.get(), &scale_, operands.a, a_.get(), operands.b, b_.get(), &beta,
                       operands.c, c_.get(), operands.c, c_.get(), &chosen_.algo, workspace_->data(),
                       kBatchedWorkspaceBytes, device::cuda_stream(stream));
  return status == CUBLAS_STATUS_SUCCESS ? Status{} : library_->check(status, "cublasLtMatmul");
}

}  // namespace warpmark::workloads
