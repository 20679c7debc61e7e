#include "base/command_line.h"

#include "base/text.h"

namespace warpmark {

std::string command_line(const std::vector<std::string>& words) {
  std::string line;
  for (const auto& word : words) line += (line.empty() ? "" : " ") + shell_quote(word);
  return line;
}

Result<std::vector<std::string>> words_of_line(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool any = false;  // a pair of quotes alone is an empty word
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool escapes =
        c == '\\' && quote != '\'' && i + 1 < line.size() && (quote == 0 || line[i + 1] == '"' || line[i + 1] == '\\');
    if (escapes) {
      word += line[++i];
      any = true;
    } else if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? '\0' : c;
      any = true;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (any) words.push_back(std::exchange(word, {}));
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (quote != 0) return usage_error("a quote does not end in: " + std::string(line));
  if (any) words.push_back(std::move(word));
  return words;
}

}  // namespace warpmark
