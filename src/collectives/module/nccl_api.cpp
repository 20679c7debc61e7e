#include "collectives/module/nccl_api.h"

#include <fmt/format.h>

#include "device/cuda/module/library_loader.h"

namespace warpmark::collectives {
namespace {

Result<NcclApi> load() {
  WM_ASSIGN(const auto* library, device::load_library(device::LibraryId::nccl));
  NcclApi api;
  WM_TRY(library->symbol("ncclGetVersion", api.get_version));
  WM_TRY(library->symbol("ncclGetErrorString", api.error_string));
  WM_TRY(library->symbol("ncclGetUniqueId", api.get_unique_id));
  WM_TRY(library->symbol("ncclCommInitRank", api.init_rank));
  WM_TRY(library->symbol("ncclCommDestroy", api.destroy));
  WM_TRY(library->symbol("ncclCommGetAsyncError", api.async_error));
  WM_TRY(library->symbol("ncclGroupStart", api.group_start));
  WM_TRY(library->symbol("ncclGroupEnd", api.group_end));
  WM_TRY(library->symbol("ncclAllReduce", api.all_reduce));
  WM_TRY(library->symbol("ncclAllGather", api.all_gather));
  WM_TRY(library->symbol("ncclReduceScatter", api.reduce_scatter));
  WM_TRY(library->symbol("ncclBroadcast", api.broadcast));
  WM_TRY(library->symbol("ncclReduce", api.reduce));
  WM_TRY(library->symbol("ncclSend", api.send));
  WM_TRY(library->symbol("ncclRecv", api.receive));
  api.last_error = reinterpret_cast<const char* (*)(NcclCommunicator)>(library->find("ncclGetLastError"));
  api.allocate = reinterpret_cast<int (*)(void**, std::size_t)>(library->find("ncclMemAlloc"));
  api.release = reinterpret_cast<int (*)(void*)>(library->find("ncclMemFree"));
  api.all_to_all = reinterpret_cast<decltype(api.all_to_all)>(library->find("ncclAlltoAll"));
  api.gather = reinterpret_cast<decltype(api.gather)>(library->find("ncclGather"));
  api.scatter = reinterpret_cast<decltype(api.scatter)>(library->find("ncclScatter"));
  if (api.allocate == nullptr || api.release == nullptr) api.allocate = nullptr, api.release = nullptr;
  return api;
}

}  // namespace

Result<const NcclApi*> nccl_api() {
  static const Result<NcclApi> api = load();
  if (!api.ok()) return api.error();
  return &api.value();
}

Status nccl_status(const NcclApi& api, int code, const char* doing) {
  if (code == 0 || code == kNcclInProgress) return {};
  const char* text = api.error_string(code);
  const char* last = api.last_error != nullptr ? api.last_error(nullptr) : nullptr;
  return environment_error(fmt::format("{} failed: {}{}{}", doing, text != nullptr ? text : "unknown error",
                                       last != nullptr && *last != '\0' ? ": " : "", last != nullptr ? last : ""),
                           "NCCL_DEBUG=INFO shows more");
}

}  // namespace warpmark::collectives
