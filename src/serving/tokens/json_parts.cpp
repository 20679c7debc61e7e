#include "serving/tokens/json_parts.h"

#include <fmt/format.h>

#include "base/json.h"

namespace warpmark::serving {

std::string word_at(const Json& json, const char* key, const char* otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

bool truth_at(const Json& json, const char* key, bool otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

Result<TextPattern> pattern_at(const Json& json) {
  const auto found = json.find("pattern");
  if (found == json.end()) return data_error("a tokenizer's step has no pattern");
  if (found->is_string()) return TextPattern::literal(found->get<std::string>());
  if (found->is_object() && found->contains("Regex") && (*found)["Regex"].is_string()) {
    return TextPattern::of((*found)["Regex"].get<std::string>());
  }
  if (found->is_object() && found->contains("String") && (*found)["String"].is_string()) {
    return TextPattern::literal((*found)["String"].get<std::string>());
  }
  return data_error("a tokenizer's pattern is neither Regex nor String");
}

}  // namespace warpmark::serving

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace warpmark::serving {
namespace {

std::string pcre2_words(int code) {
  PCRE2_UCHAR words[200] = "";
  (void)pcre2_get_error_message(code, words, sizeof words);
  return reinterpret_cast<const char*>(words);
}

}  // namespace

Result<TextPattern> TextPattern::of(const std::string& expression) {
  int problem = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                   PCRE2_UTF | PCRE2_UCP, &problem, &at, nullptr);
  if (code == nullptr) {
    return data_error(fmt::format("the expression {} cannot be read: {} at byte {}", expression.substr(0, 200),
                                  pcre2_words(problem), at));
  }
  TextPattern pattern;
  pattern.code_ = std::shared_ptr<void>(code, [](void* owned) { pcre2_code_free(static_cast<pcre2_code*>(owned)); });
  (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // slower without it, where memory may not be executed
  pattern.match_ = std::shared_ptr<void>(pcre2_match_data_create_from_pattern(code, nullptr), [](void* owned) {
    pcre2_match_data_free(static_cast<pcre2_match_data*>(owned));
  });
  return pattern;
}

Result<TextPattern> TextPattern::literal(const std::string& text) {
  std::string expression;
  for (const char c : text) {
    const bool plain = static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                       (c >= 'a' && c <= 'z');
    if (!plain) expression += '\\';
    expression += c;
  }
  return of(expression);
}

Result<std::vector<std::pair<std::size_t, std::size_t>>> TextPattern::matches(std::string_view text) const {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  auto* match = static_cast<pcre2_match_data*>(match_.get());
  const PCRE2_SIZE* places = pcre2_get_ovector_pointer(match);
  for (std::size_t at = 0; at < text.size();) {
    const int code = pcre2_match(static_cast<const pcre2_code*>(code_.get()), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                 text.size(), at, PCRE2_NO_UTF_CHECK, match, nullptr);
    if (code == PCRE2_ERROR_NOMATCH) break;
    if (code < 0) return data_error("an expression of the tokenizer gives up: " + pcre2_words(code));
    if (places[1] <= places[0]) {  // nothing was matched here
      at = places[0] + 1;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
      continue;
    }
    found.emplace_back(places[0], places[1]);
    at = places[1];
  }
  return found;
}

}  // namespace warpmark::serving
