// Memory of a program and of all that it started, as /proc shows it.
#pragma once

#include <cstdint>
#include <string_view>

namespace warpmark::evaluate {

/// Resident memory of the processes whose command line has this word, and of all their descendants. Pages that
/// processes share count for each of them.
[[nodiscard]] std::int64_t tree_memory_bytes(std::string_view word);

}  // namespace warpmark::evaluate
