// Our own declarations of the part of NCCL that is used (nccl.h 2.18 and newer; the functions never changed). Loaded
// from libnccl.so.2 at run time.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "base/result.h"

namespace warpmark::collectives {

struct NcclCommunicatorTag;
using NcclCommunicator = NcclCommunicatorTag*;  ///< ncclComm_t

struct NcclUniqueId {  ///< ncclUniqueId
  char internal[128];
};

inline constexpr int kNcclInProgress = 7;  ///< ncclResult_t

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

}  // namespace warpmark::collectives
