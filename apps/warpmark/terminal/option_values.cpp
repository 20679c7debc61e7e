#include "warpmark/terminal/option_values.h"

#include <fmt/format.h>

#include "base/units.h"

namespace warpmark::apps {

Result<std::int64_t> count_of(const ParsedOptions& options, const char* name, std::int64_t otherwise,
                              std::int64_t least, std::int64_t most) {
  if (!options.has(name)) return otherwise;
  WM_ASSIGN(const auto value, parse_integer(options.get(name)));
  if (value < least || value > most) return usage_error(fmt::format("{} must be {} to {}", name, least, most));
  return value;
}

Result<double> ratio_of(const ParsedOptions& options, const char* name, double otherwise) {
  if (!options.has(name)) return otherwise;
  WM_ASSIGN(const auto value, parse_ratio(options.get(name)));
  if (!(value > 0 && value < 1)) return usage_error(std::string(name) + " must be between 0 and 1");
  return value;
}

}  // namespace warpmark::apps
