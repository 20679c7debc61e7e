// The CPU's matrix products: C = A B by one library, on the arrays of a SetMemory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "device/device.h"
#include "measure/workload.h"
#include "model/run.h"
#include "workloads/set_memory.h"

namespace warpmark::workloads {

/// A is m x k, B is k x n, C is m x n, all row-major without padding.
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::string dtype;  ///< of A and B: "f64", "f32", "bf16", "int8", ...
};

/// Bytes of an element of C: f64 and f32 and tf32 as the inputs, f16 and bf16 likewise, bf16 for fp8, int32 for int8.
[[nodiscard]] std::int64_t gemm_output_bytes(const std::string& dtype);

/// Arrays of a set.
enum GemmArray : std::size_t { kGemmA, kGemmB, kGemmC };

/// One library's product of the arrays of a set.
class GemmLibrary {
 public:
  virtual ~GemmLibrary() = default;
  [[nodiscard]] virtual Status multiply(std::size_t set) = 0;
  [[nodiscard]] virtual std::string name() const = 0;     ///< "openblas"
  [[nodiscard]] virtual std::string details() const = 0;  ///< version and kernel
};

/// `memory` must outlive the library.
[[nodiscard]] Result<std::unique_ptr<GemmLibrary>> make_openblas_gemm(const GemmShape& shape, const SetMemory& memory);
[[nodiscard]] Result<std::unique_ptr<GemmLibrary>> make_onednn_gemm(const GemmShape& shape, const SetMemory& memory);

[[nodiscard]] device::Support openblas_supports(const GemmShape& shape);
[[nodiscard]] device::Support onednn_supports(const GemmShape& shape);

[[nodiscard]] device::Support gemm_supports_cpu(const DeviceInfo& device, const Params& params);
[[nodiscard]] Result<std::unique_ptr<measure::Prepared>> gemm_prepare_cpu(const measure::PrepareOptions& options);

/// Row-major matrices as gemm stores them; C has the output type of the inputs' dtype.
struct GemmArrays {
  std::span<const std::byte> a;
  std::span<const std::byte> b;
  std::span<const std::byte> c;
};

/// Up to m * n * k = 2^24 the whole product is computed in fp64. Above, E = C - A B is multiplied by 8 random vectors
/// of
/// +-1, at the cost of a few matrix-vector products: the mean of |E x|^2 is |E|_F^2 (Freivalds, "Probabilistic machines
/// can use less running time", IFIP 1977), and a NaN or a wrong element anywhere shows; in addition 8 whole rows are
/// compared element by element. int8 is exact: fp64 holds every intermediate sum, and what differs is counted.
[[nodiscard]] ErrorCheck check_gemm(const GemmShape& shape, const GemmArrays& arrays, std::uint64_t seed);

}  // namespace warpmark::workloads
