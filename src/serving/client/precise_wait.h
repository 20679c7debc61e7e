// epoll with a time limit in nanoseconds. The system call is made directly: its wrapper is newer (glibc 2.35) than the
// systems that the distribution shall run on, the call itself is in Linux 5.11.
#pragma once

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <span>

namespace warpmark::serving {

/// As epoll_wait; -1 with errno ENOSYS or EPERM where the kernel or a container does not have it.
[[nodiscard]] inline int precise_epoll_wait(int epoll, std::span<epoll_event> events, const timespec& timeout) {
  constexpr std::size_t kNoSignals = 0;
  return static_cast<int>(::syscall(SYS_epoll_pwait2, epoll, events.data(), static_cast<int>(events.size()), &timeout,
                                    nullptr, kNoSignals));
}

}  // namespace warpmark::serving
