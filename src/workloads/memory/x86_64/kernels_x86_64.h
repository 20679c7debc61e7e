// The kernels of each instruction set of x86-64.
#pragma once

#include "workloads/memory/kernels.h"

namespace warpmark::workloads {

extern const StreamKernels kSse2Kernels;
extern const StreamKernels kAvx2Kernels;
extern const StreamKernels kAvx512Kernels;

}  // namespace warpmark::workloads
