// Which numbers a value may have: of a field of a result, for its schema, and of an option.
#pragma once

#include <optional>

namespace warpmark {

struct Range {
  std::optional<double> low, high;
  bool above_low = false, below_high = false;  ///< the end itself is not among them
};
inline constexpr Range kNonNegative{0, std::nullopt};
inline constexpr Range kPositive{0, std::nullopt, true};
inline constexpr Range kAtLeastOne{1, std::nullopt};
inline constexpr Range kShare{0, 1};
inline constexpr Range kBetweenZeroAndOne{0, 1, true, true};

}  // namespace warpmark
