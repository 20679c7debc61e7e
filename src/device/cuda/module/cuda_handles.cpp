#include "device/cuda/module/cuda_handles.h"

#include <fmt/format.h>

namespace warpmark::device {

Status PinnedMemory::create(std::size_t bytes) {
  const cudaError_t code = cudaHostAlloc(&data_, bytes, cudaHostAllocDefault);
  if (code == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    return with_code(environment_error(fmt::format("not enough host memory to lock {} bytes of it", bytes),
                                       "choose a smaller size, or raise the memory limit of the container"),
                     ErrorCode::out_of_memory);
  }
  return cuda_status(code, "cudaHostAlloc");
}

}  // namespace warpmark::device
