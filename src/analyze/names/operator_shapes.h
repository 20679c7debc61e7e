// The shapes of an operator's inputs, as frameworks record them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace warpmark::analyze {

using Shapes = std::vector<std::vector<std::int64_t>>;

/// The dimensions of an operator's inputs from the recorded text "[[8,12,1024,1024],[],[3]]"; other characters
/// separate.
[[nodiscard]] Shapes parse_shapes(std::string_view text);

}  // namespace warpmark::analyze
