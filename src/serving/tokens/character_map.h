// The rules of a SentencePiece model for changing characters, as its tokenizer.json carries them ("Precompiled"): a
// double-array trie (Aoe, IEEE Transactions on Software Engineering 15, 1989; in the form of Yata's Darts-clone) from
// characters to places in a list of texts. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace warpmark::serving {

class CharacterMap {
 public:
  /// Of {"precompiled_charsmap": base64}. Data error for what is damaged.
  [[nodiscard]] static Result<CharacterMap> of(const Json& normalizer);

  /// As Hugging Face's tokenizers read it, which is not quite as SentencePiece does: the rule for a short
  /// user-perceived character is the shortest that fits its beginning, and stands for all of it.
  [[nodiscard]] std::string changed(std::string_view text) const;

 private:
  [[nodiscard]] std::optional<std::string_view> rule_for(std::string_view characters) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;  ///< each ends with a zero byte
};

}  // namespace warpmark::serving
