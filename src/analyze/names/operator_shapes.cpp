#include "analyze/names/operator_shapes.h"

#include <algorithm>

#include "base/text.h"

namespace warpmark::analyze {

Shapes parse_shapes(std::string_view text) {
  Shapes shapes;
  std::vector<std::int64_t> dims;
  std::int64_t number = -1;
  const auto take = [&] {
    if (number >= 0) dims.push_back(number);
    number = -1;
  };
  for (const char c : text) {
    if (is_digit(c)) {
      if (number > (INT64_MAX - 9) / 10) return {};
      number = std::max<std::int64_t>(number, 0) * 10 + (c - '0');
      continue;
    }
    take();
    if (c == '[' || c == ']') {
      if (!dims.empty()) shapes.push_back(std::move(dims));
      dims.clear();
    }
  }
  take();
  if (!dims.empty()) shapes.push_back(std::move(dims));
  return shapes;
}

}  // namespace warpmark::analyze
