// Do raters agree? Krippendorff's alpha (Content Analysis, 4th ed. 2018, chapter 12) for any number of raters, missing
// ratings, and four levels of measurement.
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark::accuracy {

enum class Measurement { nominal, ordinal, interval, ratio };

/// nominal, ordinal, interval, ratio; usage error for others.
[[nodiscard]] Result<Measurement> measurement_from(std::string_view name);

/// Ratings of one item, in any order; those that are missing are left out.
using ItemRatings = std::vector<double>;

/// 1 is agreement, 0 what chance gives. Items with fewer than two ratings say nothing. 1 where all ratings are equal.
[[nodiscard]] double krippendorff_alpha(std::span<const ItemRatings> items, Measurement measurement);

}  // namespace warpmark::accuracy
