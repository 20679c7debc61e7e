// What the names of calls tell: of CUDA's API, of the operating system, and of what a recorder notes of itself.
#pragma once

#include <string_view>

#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// Of CUDA's runtime or driver.
[[nodiscard]] constexpr bool is_api_call(EventKind kind) {
  return kind == EventKind::runtime_api || kind == EventKind::driver_api;
}

[[nodiscard]] bool is_cuda_or_hip(std::string_view api);
[[nodiscard]] bool is_launch_call(std::string_view api);
[[nodiscard]] bool is_graph_launch_call(std::string_view api);
/// From here on a thread's launches are put into a CUDA graph instead of run.
[[nodiscard]] bool is_capture_call(std::string_view api);
[[nodiscard]] bool is_sync_call(std::string_view api);
[[nodiscard]] bool is_copy_call(std::string_view api);
[[nodiscard]] bool is_allocation_call(std::string_view api);
/// Of the calls that allocate and free, those that pin memory of the host.
[[nodiscard]] bool is_host_memory_call(std::string_view api);
/// Of the calls that allocate and free, those that map pieces of memory into reserved addresses (expandable segments).
[[nodiscard]] bool is_mapping_call(std::string_view api);
/// Of the calls that allocate and free, those that give memory back.
[[nodiscard]] bool is_release_call(std::string_view api);

/// In warpmark's recordings: so long was the thread off the processor, at some time before its next call.
inline constexpr std::string_view kBlockedThread = "blocked";
/// pthread_cond_wait, futex, poll and the like, and the "blocked" of warpmark's recordings.
[[nodiscard]] bool is_waiting_os_call(std::string_view name);

/// A function that starts another process and waits until it ends.
[[nodiscard]] bool runs_process(std::string_view name);

/// A function of Python's standard library or of a message queue, or a call of the operating system, that blocks until
/// something arrives: queue.get, select, epoll_wait, recv, a lock.
[[nodiscard]] bool waits_for_input(std::string_view name);

/// Among its overheads CUPTI tells when a launch call found the queue full and waited for the GPU ("Command Buffer
/// Full"), which is no cost of recording.
[[nodiscard]] bool shows_full_queue(std::string_view overhead);

}  // namespace warpmark::analyze
