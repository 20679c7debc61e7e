// Kernels of the program's own that do nothing but pass over memory. Their names say nothing, but a demangled one has
// its parameters: one element of each array a thread is a lower bound of the bytes that it moves, and where these took
// most of its time, whatever it computes does not matter.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyze/recorded/work_list.h"

namespace warpmark::analyze {

/// Threads of each work that is such a pass, over what no cache holds; 0: it is none, or that cannot be told. O(works).
[[nodiscard]] std::vector<std::uint64_t> find_streaming_kernels(const Timeline& timeline, const WorkList& list);

/// Bytes that one element of each of its pointers takes; 0 where the name has no parameters, or pointers to other than
/// numbers. "smooth(float const*, float4*, int)" is 20.
[[nodiscard]] int bytes_a_thread(std::string_view kernel_name);

}  // namespace warpmark::analyze
