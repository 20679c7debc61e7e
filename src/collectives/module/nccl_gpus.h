// One rank's GPU: its stream, communicator and buffers. And the call of one collective on it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "base/result.h"
#include "collectives/calls/engine.h"
#include "collectives/calls/gpu_links.h"
#include "device/cuda/module/cuda_handles.h"

namespace warpmark::collectives {

struct NcclCommunicatorTag;
using NcclCommunicator = NcclCommunicatorTag*;  ///< ncclComm_t

struct NcclUniqueId {  ///< ncclUniqueId
  char internal[128];
};

inline constexpr int kNcclInProgress = 7;  ///< ncclResult_t

/// The part of NCCL that is used (nccl.h 2.18 and newer; the functions never changed), from libnccl.so.2 at run time.
struct NcclApi {
  int (*get_version)(int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  const char* (*last_error)(NcclCommunicator) = nullptr;  ///< may be null
  int (*get_unique_id)(NcclUniqueId*) = nullptr;
  int (*init_rank)(NcclCommunicator*, int, NcclUniqueId, int) = nullptr;
  int (*destroy)(NcclCommunicator) = nullptr;
  int (*async_error)(NcclCommunicator, int*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, NcclCommunicator, cudaStream_t) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, NcclCommunicator, cudaStream_t) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, NcclCommunicator, cudaStream_t) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int, int, NcclCommunicator, cudaStream_t) = nullptr;
  int (*reduce)(const void*, void*, std::size_t, int, int, int, NcclCommunicator, cudaStream_t) = nullptr;
  int (*send)(const void*, std::size_t, int, int, NcclCommunicator, cudaStream_t) = nullptr;
  /// Since NCCL 2.19: memory that NCCL can register as it likes, as nccl-tests allocates it. May be null, both or none.
  int (*allocate)(void**, std::size_t) = nullptr;
  int (*release)(void*) = nullptr;
  int (*receive)(void*, std::size_t, int, int, NcclCommunicator, cudaStream_t) = nullptr;
  /// Since NCCL 2.28; before that these are sends and receives. May be null.
  int (*all_to_all)(const void*, void*, std::size_t, int, NcclCommunicator, cudaStream_t) = nullptr;
  int (*gather)(const void*, void*, std::size_t, int, int, NcclCommunicator, cudaStream_t) = nullptr;
  int (*scatter)(const void*, void*, std::size_t, int, int, NcclCommunicator, cudaStream_t) = nullptr;
};

/// Environment error where NCCL is missing, with where it was looked for.
[[nodiscard]] Result<const NcclApi*> nccl_api();
[[nodiscard]] Status nccl_status(const NcclApi& api, int code, const char* doing);

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

[[nodiscard]] Result<Links> measure_links(const LinkOptions& options);

}  // namespace warpmark::collectives
