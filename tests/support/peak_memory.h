// The most memory that a piece of work takes, in a process of its own.
#pragma once

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "support/sanitized.h"

namespace warpmark::testing_support {

/// Sanitizers keep freed memory and shadow all of it.
inline bool memory_can_be_measured() { return !sanitized(); }

/// Resident bytes of a child that does the work and ends; -1 if the work returns false.
template <typename Work>
std::int64_t peak_bytes(Work&& work) {
  ::malloc_trim(0);  // what earlier tests freed would serve the child, unseen
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  rusage usage = {};
  int status = 0;
  ::wait4(child, &status, 0, &usage);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? usage.ru_maxrss * 1024 : -1;
}

/// The same beyond what a child takes that does nothing, which has what this process holds.
template <typename Work>
std::int64_t peak_bytes_beyond_this(Work&& work) {
  const std::int64_t nothing = peak_bytes([] { return true; });
  const std::int64_t peak = peak_bytes(work);
  return peak < 0 ? -1 : std::max<std::int64_t>(0, peak - nothing);
}

}  // namespace warpmark::testing_support
