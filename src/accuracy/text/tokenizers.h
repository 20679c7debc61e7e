// The tokenizers of sacreBLEU 2.6.0 (Post, "A Call for Clarity in Reporting BLEU Scores", WMT 2018), by their names in
// its signatures: 13a (mteval-v13a, the default of WMT), intl (mteval-v14 international), zh, char and none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark::accuracy {

using Tokenizer = std::string (*)(std::string_view line);

struct NamedTokenizer {
  const char* id;
  Tokenizer tokenize;  ///< words separated by single spaces
  Tokenizer separate;  ///< the same words with any white space around them, which costs less
};

[[nodiscard]] const std::vector<NamedTokenizer>& bleu_tokenizers();

/// Usage error that lists the names.
[[nodiscard]] Result<NamedTokenizer> bleu_tokenizer(std::string_view id);

struct TercomOptions {
  bool normalized = false;      ///< split punctuation off words
  bool punctuation = true;      ///< else removed
  bool case_sensitive = false;  ///< else lower case
  bool asian = false;           ///< Chinese and Japanese: characters and punctuation as the two above have theirs
};

/// The words of Tercom, which TER is computed on.
[[nodiscard]] std::string tercom_tokenized(std::string_view line, const TercomOptions& options);

}  // namespace warpmark::accuracy
