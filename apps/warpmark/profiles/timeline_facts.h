// What is told of a recorded timeline.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "model/profile/timeline.h"

namespace warpmark::apps {

/// The text of a fact of the recording, or empty.
[[nodiscard]] inline std::string fact(const Timeline& timeline, std::string_view key) {
  for (const auto& [name, value] : timeline.metadata) {
    if (name == key) return value;
  }
  return {};
}

[[nodiscard]] inline std::int64_t gpu_works(const Timeline& timeline) {
  return std::count_if(timeline.events.kind.begin(), timeline.events.kind.end(), is_gpu_work);
}

}  // namespace warpmark::apps
