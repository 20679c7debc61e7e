// What NVIDIA's commands and CUDA's calls are for AMD's GPUs.
#pragma once

#include <string>
#include <string_view>

namespace warpmark::analyze {

/// A command or lines of code, as AMD's; "" where AMD has nothing like it.
[[nodiscard]] std::string of_amd(const std::string& snippet);

[[nodiscard]] bool names_hip_launch(std::string_view call);

}  // namespace warpmark::analyze
