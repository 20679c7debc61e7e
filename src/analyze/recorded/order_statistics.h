// The value of a given rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace warpmark::analyze {

/// That `rank` values do not exceed; below the number of values.
template <typename Value>
[[nodiscard]] Value value_of_rank(std::vector<Value> values, std::size_t rank) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// The upper median; a value of nothing if there are none.
template <typename Value>
[[nodiscard]] Value upper_median(std::vector<Value> values) {
  const std::size_t middle = values.size() / 2;
  return values.empty() ? Value{} : value_of_rank(std::move(values), middle);
}

}  // namespace warpmark::analyze
