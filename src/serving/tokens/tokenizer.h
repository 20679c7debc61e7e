// How many tokens a text has, by the tokenizer of the model itself and without Python: Hugging Face's tokenizer.json
// (byte pairs as of GPT-2, Llama 3, Qwen; Unigram as of T5, XLM-RoBERTa; WordPiece as of BERT), and SentencePiece's
// models. What a server says of its tokens is held against it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark::serving {

/// For one thread at a time: it remembers words.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Of the text alone: no mark of a beginning or an end. Bytes that are no UTF-8 count as U+FFFD. Data error where an
  /// expression of the tokenizer gives up on the text.
  [[nodiscard]] virtual Result<std::vector<std::uint32_t>> encode(std::string_view text) const = 0;
  [[nodiscard]] virtual const char* kind() const = 0;  ///< "BPE", "Unigram", "WordPiece", "SentencePiece"

 protected:
  Tokenizer() = default;
};

/// tokenizer.json or a SentencePiece model, told by its content; of a folder the one that stands in it. Data error for
/// what is neither, and for parts of a tokenizer.json that are not understood: a count that is nearly right would be
/// worse than none.
[[nodiscard]] Result<std::shared_ptr<const Tokenizer>> load_tokenizer(const std::string& path);

/// Of a file's content; `name` is for messages.
[[nodiscard]] Result<std::shared_ptr<const Tokenizer>> json_tokenizer(std::string_view text, const std::string& name);
[[nodiscard]] Result<std::shared_ptr<const Tokenizer>> sentence_pieces(std::string_view bytes, const std::string& name);

}  // namespace warpmark::serving
