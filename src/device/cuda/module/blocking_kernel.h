// A kernel of one thread that holds a stream back until the host raises a flag, so that everything enqueued behind it
// runs without launch gaps. The method is nvbench's (NVIDIA/nvbench, nvbench/detail/blocking_kernel). It ends by itself
// after a time-out on the device's own clock: work that synchronizes inside the blocked region cannot hang the program.
#pragma once

#include <cuda_runtime_api.h>

namespace warpmark::device {

/// In host memory mapped into the device's address space.
struct BlockFlags {
  int release;    ///< the host sets it to 1
  int timed_out;  ///< the kernel sets it to 1 when it gave up waiting
};

cudaError_t launch_blocking_kernel(cudaStream_t stream, BlockFlags* device_flags, unsigned long long timeout_ns);

}  // namespace warpmark::device
