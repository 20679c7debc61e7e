// CUDA's errors as a Status, and its handles with an owner: made on the current device, destroyed with the object.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string_view>
#include <utility>

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

namespace warpmark::device {

class Event {
 public:
  Event() = default;
  Event(Event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&& other) noexcept { return std::swap(handle_, other.handle_), *this; }
  ~Event() {
    if (handle_ != nullptr) (void)cudaEventDestroy(handle_);
  }
  /// `flags` as for cudaEventCreateWithFlags.
  Status create(unsigned flags) { return cuda_status(cudaEventCreateWithFlags(&handle_, flags), "cudaEventCreate"); }
  [[nodiscard]] cudaEvent_t get() const { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

class OwnedStream {
 public:
  OwnedStream() = default;
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream() {
    if (handle_ != nullptr) (void)cudaStreamDestroy(handle_);
  }
  Status create() {
    return cuda_status(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  [[nodiscard]] cudaStream_t get() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

struct Graph {
  cudaGraph_t handle = nullptr;
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (handle != nullptr) (void)cudaGraphDestroy(handle);
  }
};

struct GraphExecutable {
  cudaGraphExec_t handle = nullptr;
  GraphExecutable() = default;
  GraphExecutable(const GraphExecutable&) = delete;
  GraphExecutable& operator=(const GraphExecutable&) = delete;
  ~GraphExecutable() {
    if (handle != nullptr) (void)cudaGraphExecDestroy(handle);
  }
};

/// Page-locked host memory.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  PinnedMemory(PinnedMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  ~PinnedMemory() {
    if (data_ != nullptr) (void)cudaFreeHost(data_);
  }
  /// Environment error naming the size if the host has not enough memory.
  Status create(std::size_t bytes);
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace warpmark::device
