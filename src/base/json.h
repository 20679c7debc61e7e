// JSON by nlohmann-json, with the two habits everything here keeps: parse errors name the place, and what is written is
// strict JSON (a NaN or infinity is our bug, as it has no JSON form).
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"

namespace warpmark {

/// Copying and writing a document recurse once a level.
inline constexpr std::size_t kMostJsonLevels = 1000;

/// `name` is the file or source named in the error. Data error for what is no JSON, or nested above kMostJsonLevels.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view name);

/// Indented by two, or on one line with indent -1. Invalid UTF-8 is replaced by U+FFFD, and what may
/// not be shown (base/untrusted/input.h) is escaped.
[[nodiscard]] std::string dump_json(const Json& json, int indent = 2);

}  // namespace warpmark
