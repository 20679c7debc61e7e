// The "normalizer" of a tokenizer.json: what changes a text before it is cut. As Hugging Face's tokenizers do it; kinds
// that are not understood are errors. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace warpmark::serving {

/// Of text that is UTF-8, as is what it becomes.
using ChangeText = std::function<Result<std::string>(std::string)>;

/// In order; null changes nothing.
[[nodiscard]] Result<std::vector<ChangeText>> normalizer_of(const Json& json);

}  // namespace warpmark::serving
