// Parts of a tokenizer.json that several of its steps have. Pure.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "base/result.h"
#include "serving/tokens/text_pattern.h"

namespace warpmark::serving {

/// What is no text, or no truth value, is as if it were not there.
[[nodiscard]] std::string word_at(const Json& json, const char* key, const char* otherwise);
[[nodiscard]] bool truth_at(const Json& json, const char* key, bool otherwise);
/// The "pattern" of a step: {"Regex": ".."}, {"String": ".."}, or a text. Data error for what is none.
[[nodiscard]] Result<TextPattern> pattern_at(const Json& json);

}  // namespace warpmark::serving
