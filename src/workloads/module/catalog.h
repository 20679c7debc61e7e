// The GPU implementations in this module, one line each in catalog.cpp.
#pragma once

#include "base/catalog.h"
#include "workloads/cuda_bridge.h"

namespace warpmark::workloads {

[[nodiscard]] Catalog<CudaImplementation> cuda_implementations();

}  // namespace warpmark::workloads
