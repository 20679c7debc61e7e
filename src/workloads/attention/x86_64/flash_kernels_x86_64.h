// The kernels of each instruction set of x86-64.
#pragma once

#include "workloads/attention/flash_kernels.h"

namespace warpmark::workloads {

extern const FlashKernels kSse2FlashKernels;
extern const FlashKernels kAvx2FlashKernels;
extern const FlashKernels kAvx512FlashKernels;

}  // namespace warpmark::workloads
