// Tables as text: RFC 4180, any separator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark {

/// Rows of fields; empty lines are no rows. Quoted fields may hold separators, doubled quotes and line ends. Data error
/// that begins with `name` for a quote that is not closed.
[[nodiscard]] Result<std::vector<std::vector<std::string>>> parse_csv(std::string_view text, char separator,
                                                                      std::string_view name);

/// The field, quoted where it must be.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace warpmark
