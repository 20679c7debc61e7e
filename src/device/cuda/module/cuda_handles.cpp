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

namespace {

ErrorKind kind_of(cudaError_t code) {
  switch (code) {
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorAssert: return ErrorKind::internal;
    case cudaErrorNotSupported:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion: return ErrorKind::unsupported;
    default: return ErrorKind::environment;
  }
}

const char* hint_for(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return "choose smaller sizes, or end other processes that use the GPU (nvidia-smi lists them)";
    case cudaErrorInsufficientDriver: return "install an NVIDIA driver of branch 580 or newer, as CUDA 13 needs";
    case cudaErrorNoDevice: return "check nvidia-smi, CUDA_VISIBLE_DEVICES, and that the container was given the GPU";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion: return "this build holds code for compute capability 8.0, 9.0 and newer only";
    case cudaErrorECCUncorrectable:
      return "the GPU's memory is faulty: nvidia-smi -q -d ECC shows it; have it reset or replaced";
    case cudaErrorDevicesUnavailable: return "another process holds the GPU in exclusive compute mode";
    default: return "";
  }
}

}  // namespace

bool spoils_context(cudaError_t code) {
  switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorContextIsDestroyed: return true;
    default: return false;
  }
}

Status cuda_status(cudaError_t code, std::string_view call) {
  if (code == cudaSuccess) return {};
  (void)cudaGetLastError();
  std::string hint = hint_for(code);
  if (spoils_context(code)) {
    if (!hint.empty()) hint += "; ";
    hint += "after this error every CUDA call of this process fails: start the program again";
  }
  return Error{kind_of(code), fmt::format("{}: {} ({})", call, cudaGetErrorName(code), cudaGetErrorString(code)),
               std::move(hint), code == cudaErrorMemoryAllocation ? ErrorCode::out_of_memory : ErrorCode::none};
}

Error allocation_error(cudaError_t code, std::size_t bytes) {
  if (code != cudaErrorMemoryAllocation) return cuda_status(code, "cudaMalloc").error();
  (void)cudaGetLastError();
  std::size_t free = 0;
  std::size_t total = 0;
  (void)cudaMemGetInfo(&free, &total);
  return with_code(environment_error(fmt::format("not enough GPU memory: {} bytes asked for, {} bytes free of {}",
                                                 bytes, free, total),
                                     hint_for(code)),
                   ErrorCode::out_of_memory);
}

}  // namespace warpmark::device
