#include "profile/module/records.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "model/profile/event_kind.h"

namespace warpmark::profile::module {
namespace {

using recording::EventRecord;

std::uint8_t code_of(EventKind kind) { return static_cast<std::uint8_t>(kind); }

CopyKind copy_kind_of(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA: return CopyKind::host_to_device;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH: return CopyKind::device_to_host;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD: return CopyKind::device_to_device;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH: return CopyKind::host_to_host;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP: return CopyKind::peer_to_peer;
    default: return CopyKind::unknown;
  }
}

HostMemory memory_of(std::uint8_t source, std::uint8_t destination) {
  for (const std::uint8_t kind : {source, destination}) {
    if (kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE) return HostMemory::pageable;
    if (kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED) return HostMemory::pinned;
    if (kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED) return HostMemory::managed;
  }
  return HostMemory::unknown;
}

/// As PyTorch and Nsight write it: "Memcpy HtoD (Pageable -> Device)".
std::string copy_name(CopyKind kind, HostMemory memory) {
  const char* host = memory == HostMemory::pageable  ? "Pageable"
                     : memory == HostMemory::pinned  ? "Pinned"
                     : memory == HostMemory::managed ? "Managed"
                                                     : "Host";
  switch (kind) {
    case CopyKind::host_to_device: return std::string("Memcpy HtoD (") + host + " -> Device)";
    case CopyKind::device_to_host: return std::string("Memcpy DtoH (Device -> ") + host + ")";
    case CopyKind::device_to_device: return "Memcpy DtoD (Device -> Device)";
    case CopyKind::peer_to_peer: return "Memcpy PtoP (Device -> Device)";
    case CopyKind::host_to_host: return "Memcpy HtoH";
    case CopyKind::unknown: return "Memcpy";
  }
  return "Memcpy";
}

SyncKind sync_kind_of(CUpti_ActivitySynchronizationType type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE: return SyncKind::event;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT: return SyncKind::stream_wait_event;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE: return SyncKind::stream;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE: return SyncKind::context;
    default: return SyncKind::unknown;
  }
}

/// "cudaLaunchKernel_v7000" is the call that programs write as cudaLaunchKernel.
std::string_view without_version(std::string_view name) {
  const auto at = name.rfind("_v");
  const bool digits = at != std::string_view::npos && at + 2 < name.size() &&
                      name.find_first_not_of("0123456789", at + 2) == std::string_view::npos;
  return digits ? name.substr(0, at) : name;
}

template <typename Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

template <typename Record>
EventRecord timed(const Record& record, EventKind kind) {
  EventRecord event;
  event.start_ns = static_cast<std::int64_t>(record.start);
  event.duration_ns = static_cast<std::int64_t>(record.end - record.start);
  event.kind = code_of(kind);
  return event;
}

}  // namespace

void RecordTranslator::add(const CUpti_Activity& record) {
  if (discarding_) return;
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: return kernel(as<CUpti_ActivityKernel10>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY: return copy(as<CUpti_ActivityMemcpy6>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return peer_copy(as<CUpti_ActivityMemcpyPtoP4>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET: return set(as<CUpti_ActivityMemset4>(record));
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return synchronization(as<CUpti_ActivitySynchronization2>(record));
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return graph(as<CUpti_ActivityGraphTrace2>(record));
    case CUPTI_ACTIVITY_KIND_MEMORY2: return memory(as<CUpti_ActivityMemory4>(record));
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return overhead(as<CUpti_ActivityOverhead3>(record));
    default: ++skipped_;
  }
}

void RecordTranslator::kernel(const CUpti_ActivityKernel10& record) {
  if (!has_times(record.start, record.end) || !is_wanted(record.correlationId)) return;
  EventRecord event = timed(record, EventKind::kernel);
  const auto [name, is_new] = kernel_names_.try_emplace(record.name, 0);
  if (is_new) name->second = writer_.name(record.name != nullptr ? record.name : "kernel");
  event.name = name->second;
  event.track = stream(record.deviceId, record.streamId);
  event.correlation = record.correlationId;
  recording::ShapeRecord shape;
  const std::int32_t grid[3] = {record.gridX, record.gridY, record.gridZ};
  const std::int32_t block[3] = {record.blockX, record.blockY, record.blockZ};
  std::memcpy(shape.grid, grid, sizeof grid);
  std::memcpy(shape.block, block, sizeof block);
  shape.registers_per_thread = record.registersPerThread;
  shape.shared_bytes = static_cast<std::uint32_t>(record.staticSharedMemory + record.dynamicSharedMemory);
  shape.graph_id = record.graphId;
  event.detail = writer_.shape(shape);
  writer_.event(event);
}

void RecordTranslator::copy(const CUpti_ActivityMemcpy6& record) {
  if (!has_times(record.start, record.end) || !is_wanted(record.correlationId)) return;
  EventRecord event = timed(record, EventKind::memcpy);
  const auto kind = copy_kind_of(record.copyKind);
  const auto memory = memory_of(record.srcKind, record.dstKind);
  event.name = writer_.name(copy_name(kind, memory));
  event.track = stream(record.deviceId, record.streamId);
  event.correlation = record.correlationId;
  event.value = static_cast<std::int64_t>(record.bytes);
  event.detail = copy_detail(kind, memory);
  writer_.event(event);
}

void RecordTranslator::peer_copy(const CUpti_ActivityMemcpyPtoP4& record) {
  if (!has_times(record.start, record.end) || !is_wanted(record.correlationId)) return;
  EventRecord event = timed(record, EventKind::memcpy);
  event.name = writer_.name(copy_name(CopyKind::peer_to_peer, HostMemory::unknown));
  event.track = stream(record.deviceId, record.streamId);
  event.correlation = record.correlationId;
  event.value = static_cast<std::int64_t>(record.bytes);
  event.detail = copy_detail(CopyKind::peer_to_peer, HostMemory::unknown);
  writer_.event(event);
}

void RecordTranslator::set(const CUpti_ActivityMemset4& record) {
  if (!has_times(record.start, record.end) || !is_wanted(record.correlationId)) return;
  EventRecord event = timed(record, EventKind::memset);
  event.name = writer_.name("Memset (Device)");
  event.track = stream(record.deviceId, record.streamId);
  event.correlation = record.correlationId;
  event.value = static_cast<std::int64_t>(record.bytes);
  writer_.event(event);
}

void RecordTranslator::add(const NamedRange& range) {
  if (discarding_) return;
  EventRecord event;
  event.start_ns = range.start_ns;
  event.duration_ns = std::max<std::int64_t>(0, range.end_ns - range.start_ns);
  event.kind = code_of(range.end_ns > range.start_ns ? EventKind::annotation : EventKind::mark);
  event.name = writer_.name(range.name);
  event.track = thread(range.thread);
  writer_.event(event);
}

void RecordTranslator::add(std::int64_t thread_id, const CallRecord& call) {
  if (discarding_) return;
  EventRecord event;
  event.start_ns = call.start_ns;
  event.duration_ns = std::max<std::int64_t>(0, call.end_ns - call.start_ns);
  event.kind = code_of(call.runtime ? EventKind::runtime_api : EventKind::driver_api);
  const std::uint64_t key = static_cast<std::uint64_t>(call.call) << 1U | (call.runtime ? 1U : 0U);
  const auto [name, is_new] = api_names_.try_emplace(key, 0);
  if (is_new) {
    const char* text = nullptr;
    const auto domain = call.runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
    const bool known = cupti_.GetCallbackName(domain, call.call, &text) == CUPTI_SUCCESS && text != nullptr;
    name->second = writer_.name(known ? without_version(text) : "CUDA call");
  }
  event.name = name->second;
  event.track = thread(thread_id);
  event.correlation = call.correlation;
  if (call.blocked_ns > 0) blocked(event, call);
  writer_.event(event);
}

/// Where in the gap it was off the processor is not known: at its beginning, as who waits for what was launched does.
void RecordTranslator::blocked(const EventRecord& call_event, const CallRecord& call) {
  EventRecord event;
  event.start_ns = call.start_ns - call.gap_ns;
  event.duration_ns = call.blocked_ns;
  event.kind = code_of(EventKind::os_call);
  event.name = writer_.name("blocked");
  event.track = call_event.track;
  writer_.event(event);
}

void RecordTranslator::synchronization(const CUpti_ActivitySynchronization2& record) {
  if (!has_times(record.start, record.end) || !is_wanted(record.correlationId)) return;
  EventRecord event = timed(record, EventKind::sync_record);
  const auto kind = sync_kind_of(record.type);
  constexpr const char* kNames[] = {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
  event.name = writer_.name(kNames[static_cast<int>(kind)]);
  constexpr std::uint32_t kNoStream = 0xFFFFFFFFU;
  event.value = record.streamId == kNoStream ? -1 : static_cast<std::int64_t>(record.streamId);
  event.track = row("synchronization");
  event.correlation = record.correlationId;
  event.detail = static_cast<std::uint32_t>(kind);
  writer_.event(event);
}

void RecordTranslator::graph(const CUpti_ActivityGraphTrace2& record) {
  if (!has_times(record.start, record.end) || !is_wanted(record.correlationId)) return;
  EventRecord event = timed(record, EventKind::graph);
  event.name = writer_.name("CUDA graph " + std::to_string(record.graphId));
  event.track = stream(record.deviceId, record.streamId);
  event.correlation = record.correlationId;
  writer_.event(event);
}

/// Allocated bytes count up, released ones down. Pools of cudaMallocAsync are recorded as their users see them.
void RecordTranslator::memory(const CUpti_ActivityMemory4& record) {
  if (!has_times(record.timestamp, record.timestamp) || !is_wanted(record.correlationId)) return;
  const bool released = record.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  const bool on_host = record.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE ||
                       record.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  EventRecord event;
  event.start_ns = static_cast<std::int64_t>(record.timestamp);
  event.kind = code_of(EventKind::allocation);
  event.name = writer_.name(released ? "release" : "allocation");
  event.value = static_cast<std::int64_t>(record.bytes) * (released ? -1 : 1);
  event.detail = on_host ? 0 : 1;
  event.track = row("memory");
  event.correlation = record.correlationId;
  writer_.event(event);
}

void RecordTranslator::overhead(const CUpti_ActivityOverhead3& record) {
  if (!has_times(record.start, record.end)) return;
  EventRecord event = timed(record, EventKind::overhead);
  event.name = writer_.name("CUPTI overhead");
  event.track = row("recording");
  writer_.event(event);
}

std::uint32_t RecordTranslator::stream(std::uint32_t device, std::uint32_t stream_id) {
  recording::TrackRecord track;
  track.kind = static_cast<std::uint8_t>(TrackKind::gpu_stream);
  track.process = getpid();
  track.thread = stream_id;
  track.device = static_cast<std::int32_t>(device);
  return writer_.track(track, {});
}

std::uint32_t RecordTranslator::row(const char* name) {
  recording::TrackRecord track;
  track.kind = static_cast<std::uint8_t>(TrackKind::other);
  track.process = getpid();
  return writer_.track(track, name);
}

std::uint32_t RecordTranslator::thread(std::int64_t thread_id) {
  recording::TrackRecord track;
  track.kind = static_cast<std::uint8_t>(TrackKind::cpu_thread);
  track.process = getpid();
  track.thread = thread_id;
  return writer_.track(track, {});
}

bool RecordTranslator::has_times(std::uint64_t start, std::uint64_t end) {
  if (start == 0 || end < start) {
    ++skipped_;
    return false;
  }
  return static_cast<std::int64_t>(end) >= begin_ns_;
}

}  // namespace warpmark::profile::module
