// cuBLASLt, loaded at run time: its functions, its errors as Errors, and owners for its handles.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/cuda/module/library_loader.h"
#include "device/device.h"
#include "workloads/module/array_kernels.h"

namespace warpmark::workloads {

struct CublasLt {
  const device::Library* library = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetStatusName) status_name = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) description_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) description_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) description_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algorithm_get = nullptr;

  /// Success, or an error naming the call and the status; "not supported" is an unsupported error.
  [[nodiscard]] Status check(cublasStatus_t status, std::string_view call) const;
};

/// Loads the library once. Environment error saying where it was looked for.
[[nodiscard]] Result<const CublasLt*> cublaslt();

/// Owners: destroyed by the library's own function, which outlives them as libraries stay loaded.
template <typename Handle>
using CublasLtOwner = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

/// How a `dtype` is computed.
struct MatmulType {
  const char* dtype;
  ElementType input;
  ElementType output;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  bool b_transposed;      ///< B is stored as [n, k], the only layout the library offers for it
  std::int64_t multiple;  ///< that n and k (and m for 1-byte types) must be multiples of
  double tolerance;       ///< of ||out-ref||/||ref||; 0 for exact integers
};

/// nullptr for a text that names none.
[[nodiscard]] const MatmulType* matmul_type(const std::string& dtype);

struct MatmulShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

struct MatmulOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
};

/// One matrix product with a choice of algorithms. Row-major C[m,n] = A[m,k] B[k,n] is given to the column-major
/// library as C^T = B^T A^T, which needs no copy.
class Matmul {
 public:
  /// Asks the library's heuristic for up to `candidates` algorithms, best first by its own estimate. Unsupported error
  /// if it has none for this shape and type.
  [[nodiscard]] static Result<Matmul> make(device::Device& device, const MatmulType& type, const MatmulShape& shape,
                                           std::size_t candidates);

  [[nodiscard]] std::size_t candidates() const { return algorithms_.size(); }

  /// Enqueues the product with one of the candidates. Allocates nothing.
  Status enqueue(device::Stream stream, const MatmulOperands& operands, std::size_t candidate) const;

  /// "algo 66 tile 18 stages 36 splitk 1 ...": the library's numbers (cublasLtMatmulTile_t and so on).
  [[nodiscard]] std::string describe(std::size_t candidate) const;

 private:
  explicit Matmul(const CublasLt& library);
  Status create_description(device::Device& device, const MatmulType& type);
  Status create_layouts(const MatmulType& type, const MatmulShape& shape);
  Status create_workspace(device::Device& device);
  Status ask_heuristic(std::size_t candidates);
  [[nodiscard]] std::uint32_t configuration(std::size_t candidate,
                                            cublasLtMatmulAlgoConfigAttributes_t attribute) const;

  const CublasLt* library_;
  CublasLtOwner<cublasLtHandle_t> handle_;
  CublasLtOwner<cublasLtMatmulDesc_t> description_;
  CublasLtOwner<cublasLtMatrixLayout_t> first_;   ///< the library's A: our B
  CublasLtOwner<cublasLtMatrixLayout_t> second_;  ///< the library's B: our A
  CublasLtOwner<cublasLtMatrixLayout_t> result_;
  std::unique_ptr<device::Buffer> workspace_;
  std::unique_ptr<device::Buffer> ones_;  ///< scales of fp8 inputs
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms_;
  cudaDataType_t scale_type_ = CUDA_R_32F;
};

}  // namespace warpmark::workloads
