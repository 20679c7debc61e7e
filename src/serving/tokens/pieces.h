// What a tokenizer.json does to a text before its pairs are joined: "normalizer" changes it, "pre_tokenizer" cuts it
// into pieces that no token spans. As Hugging Face's tokenizers do it; kinds that are not understood are errors. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace warpmark::serving {

using ChangeText = std::function<Result<std::string>(std::string)>;
/// One step of cutting: each piece becomes several, in order. `first`: the first piece is the beginning of the text.
using CutPieces = std::function<Result<std::vector<std::string>>(std::vector<std::string> pieces, bool first)>;

/// Null changes nothing.
[[nodiscard]] Result<std::vector<ChangeText>> normalizer_of(const Json& json);

struct PieceCutter {
  std::vector<CutPieces> steps;
  bool bytes = false;  ///< the vocabulary is of bytes, as GPT-2 writes them
};
[[nodiscard]] Result<PieceCutter> cutter_of(const Json& json);

}  // namespace warpmark::serving
