// WordPiece as BERT has it (Wu et al., arXiv 1609.08144; Devlin et al., NAACL 2019): a word is cut from its beginning,
// each time at the longest token that fits; a word of which that leaves a rest is unknown as a whole. As Hugging Face's
// tokenizers do it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "serving/tokens/subwords.h"

namespace warpmark::serving {

class WordPieces final : public Subwords {
 public:
  /// Data error for what is damaged.
  [[nodiscard]] static Result<WordPieces> of(const Json& model, const std::string& name);

  void encode(std::string_view piece, std::vector<std::uint32_t>& ids) const override;
  [[nodiscard]] const char* kind() const override { return "WordPiece"; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Words = std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>>;

  Status read_vocabulary(const Json& model, const std::string& name);

  Words beginnings_;     ///< all words of the vocabulary
  Words continuations_;  ///< those with the mark of a continuation, without it
  std::size_t longest_ = 0;
  std::uint32_t unknown_ = 0;
  std::uint64_t most_characters_ = 100;
};

}  // namespace warpmark::serving
