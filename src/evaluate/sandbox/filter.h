// A seccomp filter for bubblewrap's --seccomp: system calls that reach memory outside of every limit (memfd_create,
// System V segments, shared memory without a file), that make namespaces or mounts, or that widen the kernel's surface,
// fail with EPERM.
#pragma once

#include <string>

namespace warpmark::evaluate {

/// The program as bytes of struct sock_filter, for this architecture; calls of any other are killed.
[[nodiscard]] std::string sandbox_filter();

}  // namespace warpmark::evaluate
