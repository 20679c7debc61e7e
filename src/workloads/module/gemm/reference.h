// Is a matrix product right? All elements in fp64 where that is affordable; for larger ones whole rows in fp64, and
// random projections C x = A (B x) over everything else (Freivalds, "Probabilistic machines can use less running time",
// IFIP 1977). For independent rounding errors E and x of random signs, ||E x|| / ||C x|| estimates ||E|| / ||C||.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "device/device.h"
#include "model/run.h"
#include "workloads/module/device_arrays.h"
#include "workloads/module/gemm/matmul.h"

namespace warpmark::workloads {

struct MatmulArrays {
  const DeviceArray& a;  ///< [m, k]
  const DeviceArray& b;  ///< [k, n], or [n, k] if b_transposed
  const DeviceArray& c;  ///< [m, n]
  bool b_transposed = false;
};

/// value: the relative error, or for tolerance 0 the number of elements (and of projected rows) that differ.
[[nodiscard]] Result<ErrorCheck> check_matmul(device::Device& device, const MatmulArrays& arrays,
                                              const MatmulShape& shape, double tolerance);

}  // namespace warpmark::workloads
