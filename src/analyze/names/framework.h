// What a program is written with, told by the names in its recording.
#pragma once

#include <cstdint>

#include "model/profile/profile_session.h"

namespace warpmark::analyze {

enum class Framework : std::uint8_t {
  other,   ///< none of these, or nothing was recorded that tells: advice without a snippet
  native,  ///< CUDA C++ and its libraries
  pytorch,
  jax,
  cupy,
};

/// Of the program that was recorded: by kernels, operators and ranges of a framework, or that it ran in Python; a
/// timeline with neither is a native program's. O(names), not O(events).
[[nodiscard]] Framework framework_of(const ProfileSession& session);

/// Whether a name tells one; else the program may still be a framework's of which nothing was recorded.
[[nodiscard]] bool names_framework(const NameTable& names);

/// Whether TorchInductor generated kernels of it. O(names).
[[nodiscard]] bool is_compiled(const ProfileSession& session);

}  // namespace warpmark::analyze
