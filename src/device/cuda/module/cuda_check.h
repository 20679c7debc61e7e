// CUDA runtime errors as Errors: with the call, CUDA's name and text for the error, and what to do about it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace warpmark::device {

/// Success, or the error of `call` ("cudaMemcpyAsync(...)"). Clears CUDA's last error, so that a later launch check
/// does not report this one again; errors that spoil the whole context say that the process must be restarted.
[[nodiscard]] Status cuda_status(cudaError_t code, std::string_view call);

/// True for errors after which every later CUDA call of this process fails too.
[[nodiscard]] bool spoils_context(cudaError_t code);

/// cudaMalloc's failure, naming the bytes asked for and those free on the current device.
[[nodiscard]] Error allocation_error(cudaError_t code, std::size_t bytes);

}  // namespace warpmark::device

/// WM_CUDA(cudaStreamSynchronize(stream)): returns the error of a failed CUDA call from the enclosing function.
#define WM_CUDA(call) WM_TRY(::warpmark::device::cuda_status((call), #call))
