// Values of options that many verbs have, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/options.h"
#include "base/result.h"

namespace warpmark::apps {

/// A whole number within [least, most]; `otherwise` where the option is not given.
[[nodiscard]] Result<std::int64_t> count_of(const ParsedOptions& options, const char* name, std::int64_t otherwise,
                                            std::int64_t least, std::int64_t most);

/// A ratio within (0, 1), as "5%" or "0.05"; `otherwise` where the option is not given.
[[nodiscard]] Result<double> ratio_of(const ParsedOptions& options, const char* name, double otherwise);

/// "name=value".
[[nodiscard]] Result<std::pair<std::string, std::string>> name_and_value(const std::string& text);

/// --monthly-cost, above 0; nothing where it is not given.
[[nodiscard]] Result<std::optional<double>> monthly_cost_of(const ParsedOptions& options);

}  // namespace warpmark::apps
