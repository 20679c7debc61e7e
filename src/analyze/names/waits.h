// What the names of functions and calls tell of blocking until somebody else sends something.
#pragma once

#include <string_view>

namespace warpmark::analyze {

/// A function of Python's standard library or of a message queue, or a call of the operating system, that blocks until
/// something arrives: queue.get, select, epoll_wait, recv, a lock.
[[nodiscard]] bool waits_for_input(std::string_view name);

}  // namespace warpmark::analyze
