// impl=standard: scores = Q K^T with cuBLASLt, softmax in place, output = scores V with cuBLASLt. The scores of all
// heads, sequence x sequence each, lie in memory: the baseline that fused attention is measured against.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "device/device.h"
#include "workloads/module/array_kernels.h"
#include "workloads/module/attention/implementation.h"
#include "workloads/module/gemm/cublaslt.h"

namespace warpmark::workloads {
namespace {

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

constexpr std::size_t kBatchedWorkspaceBytes = std::size_t{32}
                                               << 20;  ///< what the library's documentation advises on Hopper

cudaDataType_t batched_type(ElementType type) {
  if (type == ElementType::f16) return CUDA_R_16F;
  if (type == ElementType::bf16) return CUDA_R_16BF;
  return CUDA_R_32F;
}

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

class StandardAttention final : public AttentionImplementation {
 public:
  explicit StandardAttention(const AttentionInputs& inputs) : problem_(inputs.problem), sets_(inputs.sets) {}

  Status create(device::Device& device) {
    const ElementType type = sets_.front().query.type();
    WM_TRY(allocate(device, type));
    const std::int64_t s = problem_.sequence, d = problem_.dimension;
    const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(d)));
    // Row-major [s, d] is column-major d x s: column i of the scores is row i, so scores = K^T Q with K and Q of d x s.
    WM_ASSIGN(scores_product_, BatchedProduct::make(device, {.a = {d, s},
                                                             .b = {d, s},
                                                             .c = {s, s},
                                                             .transpose_a = true,
                                                             .scale = scale,
                                                             .batch = problem_.matrices(),
                                                             .type = type}));
    WM_ASSIGN(output_product_, BatchedProduct::make(device, {.a = {d, s},
                                                             .b = {s, s},
                                                             .c = {d, s},
                                                             .transpose_a = false,
                                                             .scale = 1,
                                                             .batch = problem_.matrices(),
                                                             .type = type}));
    return {};
  }

  Status launch(device::Stream stream, std::size_t set) override {
    const AttentionSet& tensors = sets_[set];
    WM_TRY(scores_product_->enqueue(stream, {tensors.key.data(), tensors.query.data(), scores_.data()}));
    const SoftmaxArguments softmax{.scores = scores_.data(),
                                   .rows = problem_.matrices() * problem_.sequence,
                                   .columns = static_cast<int>(problem_.sequence),
                                   .causal = problem_.causal,
                                   .scale_log2 = std::numbers::log2e_v<float>};  // 1 / sqrt(dim) is in the scores
    WM_CUDA(launch_softmax(problem_.type, softmax, device::cuda_stream(stream)));
    return output_product_->enqueue(stream, {tensors.value.data(), scores_.data(), tensors.output.data()});
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"kernel", "cuBLASLt, softmax, cuBLASLt"}, {"scores_bytes", std::to_string(scores_.bytes())}};
  }

 private:
  Status allocate(device::Device& device, ElementType type) {
    const std::int64_t count = problem_.matrices() * problem_.sequence * problem_.sequence;
    const auto needed = static_cast<std::int64_t>(size_of(type)) * count;
    WM_ASSIGN(const std::int64_t free_bytes, device.free_memory());
    if (needed > free_bytes) {
      return environment_error(
          fmt::format("attention impl=standard needs {} bytes for {} x {} scores of {} heads; {} bytes are free",
                      needed, problem_.sequence, problem_.sequence, problem_.matrices(), free_bytes),
          "use impl=flash, or a smaller batch or seq");
    }
    WM_ASSIGN(scores_, DeviceArray::make(device, count, type));
    return {};
  }

  AttentionProblem problem_;
  const std::vector<AttentionSet>& sets_;
  std::optional<BatchedProduct> scores_product_;
  std::optional<BatchedProduct> output_product_;
  DeviceArray scores_;
};

}  // namespace

MadeAttention make_standard_attention(const AttentionInputs& inputs) {
  auto attention = std::make_unique<StandardAttention>(inputs);
  WM_TRY(attention->create(inputs.device));
  return MadeAttention(std::move(attention));
}

}  // namespace warpmark::workloads
