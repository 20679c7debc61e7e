// Who recorded a timeline, told by what its reader calls the format.
#pragma once

#include <string_view>

namespace warpmark::analyze {

/// PyTorch's profiler.
[[nodiscard]] bool is_of_kineto(std::string_view format);
/// Nsight Systems.
[[nodiscard]] bool is_of_nsight(std::string_view format);

}  // namespace warpmark::analyze
