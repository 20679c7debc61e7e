#include "base/command_line.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/text.h"

namespace warpmark {

std::string command_line(const std::vector<std::string>& words) {
  std::string line;
  for (const auto& word : words) line += (line.empty() ? "" : " ") + shell_quote(word);
  return line;
}

Result<std::vector<std::string>> words_of_line(std::string_view text, const std::function<Status(std::size_t)>& check) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  const auto begun = [&]() -> std::string& { return word ? *word : word.emplace(); };
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      begun() += text[++i];
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        *word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      (void)begun();
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (word) words.push_back(std::move(*word));
      word.reset();
    } else {
      if (check) WM_TRY(check(i));
      begun() += c;
    }
  }
  if (quote != 0) return usage_error(fmt::format("the quote {} is not closed in: {}", quote, text));
  if (word) words.push_back(std::move(*word));
  return words;
}

}  // namespace warpmark
