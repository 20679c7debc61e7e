// The "pre_tokenizer" of a tokenizer.json, which cuts a text into pieces that no token spans. As Hugging Face's
// tokenizers do it; kinds that are not understood are errors. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace warpmark::serving {

/// One step of cutting: each piece becomes several, in order. `first`: the first piece is the beginning of the text.
using CutPieces = std::function<Result<std::vector<std::string>>(std::vector<std::string> pieces, bool first)>;

struct PieceCutter {
  std::vector<CutPieces> steps;
  bool bytes = false;  ///< the vocabulary is of bytes, as GPT-2 writes them
};
[[nodiscard]] Result<PieceCutter> cutter_of(const Json& json);

}  // namespace warpmark::serving
