// One rank's GPU: its stream, communicator and buffers. And the call of one collective on it.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "collectives/calls/engine.h"
#include "collectives/module/nccl_api.h"
#include "device/cuda/module/cuda_handles.h"

namespace warpmark::collectives {

class RankGpu {
 public:
  RankGpu(const NcclApi& api, int device) : api_(api), device_(device) {}
  ~RankGpu();
  RankGpu(const RankGpu&) = delete;
  RankGpu& operator=(const RankGpu&) = delete;

  Status open();
  Status allocate(std::size_t bytes_a_side);
  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  [[nodiscard]] NcclCommunicator& communicator() { return communicator_; }
  [[nodiscard]] std::byte* at(Side side, std::size_t offset) const {
    return static_cast<std::byte*>(side == Side::send ? send_ : receive_) + offset;
  }
  [[nodiscard]] unsigned long long* counter() const { return counter_; }
  [[nodiscard]] std::string describe() const;

  /// Enqueues the call on set bytes `at`. Within a group where several ranks are of one process.
  Status enqueue(const Call& call, std::size_t set_offset, int rank, int ranks);
  /// Waits for the stream. The error of the communicator, if that is why it ends; polls, so that an error on another
  /// rank, which leaves this stream waiting, is seen.
  Status wait();

 private:
  void release();
  /// NCCL's own call for it, where this NCCL has one.
  [[nodiscard]] bool has_own_call(Collective kind) const;
  Status own_call(const Call& call, const std::byte* send, std::byte* receive);
  Status many_to_many(const Call& call, const std::byte* send, std::byte* receive, int rank, int ranks);

  const NcclApi& api_;
  int device_;
  device::OwnedStream stream_;
  NcclCommunicator communicator_ = nullptr;
  bool by_nccl_ = false;  ///< the buffers came from ncclMemAlloc
  void* send_ = nullptr;
  void* receive_ = nullptr;
  unsigned long long* counter_ = nullptr;
};

}  // namespace warpmark::collectives
