// Parts of a tokenizer.json that several of its steps have. Pure.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace warpmark::serving {

// A regular expression of a tokenizer, by PCRE2: they look ahead, which the expressions of users (RE2) cannot, and come
// with the model.

class TextPattern {
 public:
  /// Data error that says what is wrong with the expression, and where.
  [[nodiscard]] static Result<TextPattern> of(const std::string& expression);
  /// One that finds this text.
  [[nodiscard]] static Result<TextPattern> literal(const std::string& text);

  /// Where it matches, from begin to end in bytes, in order; matches without length are passed over. The text must be
  /// UTF-8. Data error where the expression takes more steps than any sane one.
  [[nodiscard]] Result<std::vector<std::pair<std::size_t, std::size_t>>> matches(std::string_view text) const;

 private:
  TextPattern() = default;
  std::shared_ptr<void> code_, match_;
};

/// What is no text, or no truth value, is as if it were not there.
[[nodiscard]] std::string word_at(const Json& json, const char* key, const char* otherwise);
[[nodiscard]] bool truth_at(const Json& json, const char* key, bool otherwise);
/// The "pattern" of a step: {"Regex": ".."}, {"String": ".."}, or a text. Data error for what is none.
[[nodiscard]] Result<TextPattern> pattern_at(const Json& json);

}  // namespace warpmark::serving
