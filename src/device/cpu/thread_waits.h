// What the kernel's scheduler counted of this process's threads.
#pragma once

#include <filesystem>
#include <vector>

#include "device/device.h"

namespace warpmark::device {

/// Of each thread (/proc/self/task/TID/schedstat). About 10 us for each.
[[nodiscard]] std::vector<ThreadWait> read_thread_waits(const std::filesystem::path& root);

}  // namespace warpmark::device
