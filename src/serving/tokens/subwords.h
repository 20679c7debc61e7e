// The "model" of a tokenizer.json: how a piece of text becomes tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace warpmark::serving {

class Subwords {
 public:
  virtual ~Subwords() = default;
  /// Adds the tokens of a piece, which is UTF-8.
  virtual void encode(std::string_view piece, std::vector<std::uint32_t>& ids) const = 0;
  [[nodiscard]] virtual const char* kind() const = 0;  ///< "BPE", "Unigram", "WordPiece"
};

/// `bytes`: the vocabulary is of bytes as GPT-2 writes them, which only byte pairs have. Data error for what is damaged
/// or not known; `name` is for messages.
[[nodiscard]] Result<std::unique_ptr<const Subwords>> subwords_of(const Json& model, bool bytes,
                                                                  const std::string& name);

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
