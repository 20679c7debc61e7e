// The kernel that does nothing.
#pragma once

#include <cuda_runtime_api.h>

namespace warpmark::workloads {

cudaError_t launch_empty(cudaStream_t stream);

}  // namespace warpmark::workloads
