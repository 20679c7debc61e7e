// What the files of AMD's profilers share: names of copies and of kinds of calls, and launches in work items.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/profile/timeline.h"

namespace warpmark::profile {

/// "MEMORY_COPY_HOST_TO_DEVICE", "HOST_TO_DEVICE", "CopyHostToDevice".
[[nodiscard]] CopyKind rocprof_copy_kind(std::string_view name);
/// "HIP_RUNTIME_API_EXT", "MARKER_CORE_API", "RCCL_API", ...
[[nodiscard]] EventKind rocprof_call_kind(std::string_view domain);
/// Grids are counted in work items.
[[nodiscard]] LaunchShape rocprof_shape(const std::array<std::int64_t, 3>& grid,
                                        const std::array<std::int64_t, 3>& block, std::int64_t shared_bytes);

}  // namespace warpmark::profile
