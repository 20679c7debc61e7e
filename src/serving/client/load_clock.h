// The clocks of a load: CLOCK_MONOTONIC for all times, since waiting is measured by it, and the offset to
// CLOCK_REALTIME, in which the kernel tells when bytes arrived.
#pragma once

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <span>

namespace warpmark::serving {

[[nodiscard]] inline std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
[[nodiscard]] inline std::int64_t load_now_ns() { return clock_ns(CLOCK_MONOTONIC); }

/// CLOCK_REALTIME - CLOCK_MONOTONIC, now. To be asked again and again: the first is slewed and set.
[[nodiscard]] inline std::int64_t realtime_offset_ns() {
  const std::int64_t before = load_now_ns(), real = clock_ns(CLOCK_REALTIME), after = load_now_ns();
  return real - (before + after) / 2;
}

// epoll with a time limit in nanoseconds. The system call is made directly: its wrapper is newer (glibc 2.35) than the
// systems that the distribution shall run on, the call itself is in Linux 5.11.

/// As epoll_wait; -1 with errno ENOSYS or EPERM where the kernel or a container does not have it.
[[nodiscard]] inline int precise_epoll_wait(int epoll, std::span<epoll_event> events, const timespec& timeout) {
  constexpr std::size_t kNoSignals = 0;
  return static_cast<int>(::syscall(SYS_epoll_pwait2, epoll, events.data(), static_cast<int>(events.size()), &timeout,
                                    nullptr, kNoSignals));
}

}  // namespace warpmark::serving
