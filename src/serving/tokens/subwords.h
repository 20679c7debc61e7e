// The "model" of a tokenizer.json: how a piece of text becomes tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
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

}  // namespace warpmark::serving
