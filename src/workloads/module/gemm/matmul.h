// One matrix product by cuBLASLt with a choice of algorithms. Row-major C[m,n] = A[m,k] B[k,n] is given to the
// column-major library as C^T = B^T A^T, which needs no copy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"
#include "workloads/module/element_type.h"
#include "workloads/module/gemm/cublaslt.h"

namespace warpmark::workloads {

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
