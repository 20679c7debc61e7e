// The kinds of events that a timeline holds, and what the two spare columns mean for each.
#pragma once

#include <cstdint>

namespace warpmark {

enum class EventKind : std::uint8_t {
  op,              ///< framework operator on a CPU thread (aten::linear)
  annotation,      ///< a user's range on a CPU thread: NVTX, record_function, ProfilerStep#N
  runtime_api,     ///< CUDA runtime call
  driver_api,      ///< CUDA driver call
  os_call,         ///< operating system call of a CPU thread (read, pthread_cond_wait)
  python,          ///< Python function
  cpu_sample,      ///< interval for which a thread was seen running or blocked; value 1 = running, 0 = blocked
  overhead,        ///< the profiler's own work
  allocation,      ///< instant: value = bytes, negative when freed; detail 1 = device memory, 0 = host memory
  mark,            ///< any other instant
  gpu_annotation,  ///< a CPU range projected onto a stream
  kernel,          ///< detail = index into Timeline::launch_shapes
  memcpy,          ///< value = bytes; detail = CopyKind
  memset,          ///< value = bytes
  graph,           ///< a whole graph launch without records of its nodes: counts as GPU work
  sync_record,     ///< a wait as the GPU profiler recorded it; detail = SyncKind, value = awaited stream or -1
  other,
};

enum class CopyKind : std::uint8_t {
  unknown,
  host_to_device,
  device_to_host,
  device_to_device,
  peer_to_peer,
  host_to_host
};
enum class SyncKind : std::uint8_t { unknown, event, stream_wait_event, stream, context };
/// Host side of a copy, where the format tells.
enum class HostMemory : std::uint8_t { unknown, pageable, pinned, managed };

/// Packs and unpacks the `detail` of a memcpy.
[[nodiscard]] constexpr std::uint32_t copy_detail(CopyKind kind, HostMemory memory) {
  return static_cast<std::uint32_t>(kind) | static_cast<std::uint32_t>(memory) << 8;
}
[[nodiscard]] constexpr CopyKind copy_kind(std::uint32_t detail) { return static_cast<CopyKind>(detail & 0xFF); }
[[nodiscard]] constexpr HostMemory host_memory(std::uint32_t detail) {
  return static_cast<HostMemory>(detail >> 8 & 0xFF);
}

/// True for what occupies a stream: kernels, copies, memsets, graphs.
[[nodiscard]] constexpr bool is_gpu_work(EventKind kind) {
  return kind == EventKind::kernel || kind == EventKind::memcpy || kind == EventKind::memset ||
         kind == EventKind::graph;
}

enum class TrackKind : std::uint8_t { cpu_thread, gpu_stream, other };

}  // namespace warpmark
