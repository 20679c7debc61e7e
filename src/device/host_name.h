// The name of this machine.
#pragma once

#include <string>

namespace warpmark::device {

/// As gethostname(2) tells it; empty where the kernel refuses. Any thread.
[[nodiscard]] std::string host_name();

}  // namespace warpmark::device
