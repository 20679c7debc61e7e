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
  if (value > 0 && value < 1) return value;
  const bool in_percent = value >= 1 && value < 100;
  return usage_error(std::string(name) + " must be between 0 and 1",
                     in_percent ? fmt::format("{} {:g}%", name, value) : std::string());
}

Result<std::pair<std::string, std::string>> name_and_value(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return usage_error("'" + text + "' is not of the form name=value");
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

Result<std::optional<double>> monthly_cost_of(const ParsedOptions& options) {
  if (!options.has("--monthly-cost")) return std::optional<double>();
  WM_ASSIGN(const double amount, parse_number(options.get("--monthly-cost")));
  if (!(amount > 0)) return usage_error("--monthly-cost must be above 0", "an amount of money, such as 180000");
  return std::optional<double>(amount);
}

}  // namespace warpmark::apps
