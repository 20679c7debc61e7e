// Is C = A B? In fp64, over all elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/run.h"
#include "workloads/gemm/gemm_cpu.h"

namespace warpmark::workloads {

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
