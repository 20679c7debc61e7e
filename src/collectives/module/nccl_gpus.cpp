#include "collectives/module/nccl_gpus.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "device/cuda/module/library_loader.h"
#include "device/machine.h"

namespace warpmark::collectives {
namespace {

/// ncclDataType_t.
int nccl_type(DataType type) {
  switch (type) {
    case DataType::int8: return 0;
    case DataType::uint8: return 1;
    case DataType::int32: return 2;
    case DataType::int64: return 4;
    case DataType::f16: return 6;
    case DataType::f32: return 7;
    case DataType::f64: return 8;
    case DataType::bf16: return 9;
  }
  return 7;
}

/// ncclRedOp_t.
int nccl_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return 0;
    case ReduceOp::prod: return 1;
    case ReduceOp::max: return 2;
    case ReduceOp::min: return 3;
    case ReduceOp::avg: return 4;
  }
  return 0;
}

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

RankGpu::~RankGpu() {
  if (communicator_ != nullptr) (void)api_.destroy(communicator_);
  release();
  if (counter_ != nullptr) (void)cudaFree(counter_);
}

void RankGpu::release() {
  for (void** side : {&send_, &receive_}) {
    if (*side == nullptr) continue;
    if (by_nccl_) {
      (void)api_.release(*side);
    } else {
      (void)cudaFree(*side);
    }
    *side = nullptr;
  }
}

Status RankGpu::open() {
  WM_CUDA(cudaSetDevice(device_));
  WM_TRY(stream_.create());
  WM_CUDA(cudaMalloc(reinterpret_cast<void**>(&counter_), sizeof(*counter_)));
  return {};
}

Status RankGpu::allocate(std::size_t bytes_a_side) {
  WM_CUDA(cudaSetDevice(device_));
  release();
  if (api_.allocate != nullptr) {
    by_nccl_ = true;
    if (api_.allocate(&send_, bytes_a_side) == 0 && api_.allocate(&receive_, bytes_a_side) == 0) return {};
    release();
    (void)cudaGetLastError();  // of what did not work
  }
  by_nccl_ = false;
  for (void** side : {&send_, &receive_}) {
    if (const auto code = cudaMalloc(side, bytes_a_side); code != cudaSuccess) {
      *side = nullptr;
      return device::allocation_error(code, bytes_a_side);
    }
  }
  return {};
}

std::string RankGpu::describe() const {
  cudaDeviceProp properties{};
  std::array<char, 32> bus{};
  if (cudaGetDeviceProperties(&properties, device_) != cudaSuccess) return "unknown device";
  (void)cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device_);
  return fmt::format("Pid {:6} on {:>10} device {:2} [{}] {}", ::getpid(), device::host_name(), device_, bus.data(),
                     properties.name);
}

Status RankGpu::enqueue(const Call& call, std::size_t set_offset, int rank, int ranks) {
  const auto part = static_cast<std::size_t>(call.counts.parameter) * size_of(call.type);
  const auto count = static_cast<std::size_t>(call.counts.parameter);
  const auto own = static_cast<std::size_t>(rank) * part;
  std::byte* receive = at(Side::receive, set_offset);
  const std::byte* send = call.in_place ? receive : at(Side::send, set_offset);
  const int type = nccl_type(call.type), op = nccl_op(call.op);
  switch (call.kind) {
    case Collective::all_reduce:
      return nccl_status(api_, api_.all_reduce(send, receive, count, type, op, communicator_, stream()),
                         "ncclAllReduce");
    case Collective::all_gather:
      return nccl_status(
          api_, api_.all_gather(call.in_place ? receive + own : send, receive, count, type, communicator_, stream()),
          "ncclAllGather");
    case Collective::reduce_scatter:
      return nccl_status(
          api_,
          api_.reduce_scatter(send, call.in_place ? receive + own : receive, count, type, op, communicator_, stream()),
          "ncclReduceScatter");
    case Collective::broadcast:
      return nccl_status(api_, api_.broadcast(send, receive, count, type, call.root, communicator_, stream()),
                         "ncclBroadcast");
    case Collective::reduce:
      return nccl_status(api_, api_.reduce(send, receive, count, type, op, call.root, communicator_, stream()),
                         "ncclReduce");
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter:
    case Collective::sendrecv: break;
  }
  if (has_own_call(call.kind) && !call.in_place) return own_call(call, send, receive);
  WM_TRY(nccl_status(api_, api_.group_start(), "ncclGroupStart"));
  WM_TRY(many_to_many(call, send, receive, rank, ranks));
  return nccl_status(api_, api_.group_end(), "ncclGroupEnd");
}

bool RankGpu::has_own_call(Collective kind) const {
  switch (kind) {
    case Collective::alltoall: return api_.all_to_all != nullptr;
    case Collective::gather: return api_.gather != nullptr;
    case Collective::scatter: return api_.scatter != nullptr;
    default: return false;
  }
}

Status RankGpu::own_call(const Call& call, const std::byte* send, std::byte* receive) {
  const auto count = static_cast<std::size_t>(call.counts.parameter);
  const int type = nccl_type(call.type);
  if (call.kind == Collective::alltoall) {
    return nccl_status(api_, api_.all_to_all(send, receive, count, type, communicator_, stream()), "ncclAlltoAll");
  }
  if (call.kind == Collective::gather) {
    return nccl_status(api_, api_.gather(send, receive, count, type, call.root, communicator_, stream()), "ncclGather");
  }
  return nccl_status(api_, api_.scatter(send, receive, count, type, call.root, communicator_, stream()), "ncclScatter");
}

/// Of sends and receives, as nccl-tests makes what its NCCL has no call for; in place, where those calls promise
/// nothing.
Status RankGpu::many_to_many(const Call& call, const std::byte* send, std::byte* receive, int rank, int ranks) {
  const auto count = static_cast<std::size_t>(call.counts.parameter);
  const std::size_t part = count * size_of(call.type);
  const int type = nccl_type(call.type);
  const auto sent = [&](const std::byte* from, int to) {
    return nccl_status(api_, api_.send(from, count, type, to, communicator_, stream()), "ncclSend");
  };
  const auto received = [&](std::byte* to, int from) {
    return nccl_status(api_, api_.receive(to, count, type, from, communicator_, stream()), "ncclRecv");
  };
  const auto at_rank = [&](int other) { return static_cast<std::size_t>(other) * part; };
  if (call.kind == Collective::sendrecv) {
    WM_TRY(sent(send, (rank + 1) % ranks));
    return received(receive, (rank + ranks - 1) % ranks);
  }
  const bool at_root = rank == call.root;
  for (int other = 0; other < ranks; ++other) {
    if (call.kind == Collective::alltoall || (call.kind == Collective::scatter && at_root)) {
      WM_TRY(sent(send + at_rank(other), other));
    }
    if (call.kind == Collective::alltoall || (call.kind == Collective::gather && at_root)) {
      WM_TRY(received(receive + at_rank(other), other));
    }
  }
  if (call.kind == Collective::gather) WM_TRY(sent(call.in_place ? send + at_rank(rank) : send, call.root));
  if (call.kind == Collective::scatter) {
    WM_TRY(received(call.in_place ? receive + at_rank(rank) : receive, call.root));
  }
  return {};
}

Status RankGpu::wait() {
  WM_CUDA(cudaSetDevice(device_));
  for (std::int64_t turn = 0;; ++turn) {
    const cudaError_t state = cudaStreamQuery(stream());
    if (state == cudaSuccess) return {};
    if (state != cudaErrorNotReady) return device::cuda_status(state, "cudaStreamQuery");
    if (turn % 1000 != 999) continue;
    int error = 0;
    WM_TRY(nccl_status(api_, api_.async_error(communicator_, &error), "ncclCommGetAsyncError"));
    WM_TRY(nccl_status(api_, error, "NCCL"));
  }
}

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
