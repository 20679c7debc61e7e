#include "validate/commands/command_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace warpmark::validate {
namespace {

bool is_name(char c) { return is_digit(c) || c == '_' || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z'); }

/// Whether a shell may put the names of files for the word around `at`, which holds *, ? or [. Not of a URL, an option
/// or NAME=VALUE, for which there is hardly ever a file, and not of a list, [1,2].
bool is_glob(std::string_view text, std::size_t at) {
  constexpr std::string_view kBlanks = " \t\n";
  const std::size_t begin = text.find_last_of(kBlanks, at) + 1;  // 0 after npos
  const auto before = text.substr(begin, at - begin);
  if (before.starts_with('-') || before.find('=') != before.npos || before.find("://") != before.npos) return false;
  if (text[at] != '[') return true;
  const auto end = text.find_first_of("], \t\n", at);
  return end != text.npos && text[end] == ']';
}

/// What only a shell understands and stands here outside quotes, or empty: an operator, a variable, a pattern of files.
/// A lone & in a word, as URLs have it, is none.
std::string_view for_a_shell(std::string_view text, std::size_t at) {
  const char c = text[at], next = at + 1 < text.size() ? text[at + 1] : ' ';
  if (c == '|' || c == '&') {
    if (next == c) return text.substr(at, 2);
    return c == '|' || next == ' ' ? text.substr(at, 1) : std::string_view();
  }
  if (c == '$' && (next == '(' || next == '{')) return text.substr(at, 2);
  if (c == '$' && is_name(next) && !is_digit(next)) {
    std::size_t end = at + 1;
    while (end < text.size() && is_name(text[end])) ++end;
    return text.substr(at, end - at);
  }
  const bool pattern = (c == '*' || c == '?' || c == '[') && is_glob(text, at);
  return pattern || c == ';' || c == '<' || c == '>' || c == '`' ? text.substr(at, 1) : std::string_view();
}

/// "NAME=", as a shell sets a variable in front of a command.
bool sets_variable(const std::string& word) {
  const auto equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || is_digit(word.front())) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), is_name);
}

/// A word that is an operator and nothing else.
bool is_operator(std::string_view word) {
  constexpr std::array<std::string_view, 10> kOperators{"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1"};
  return std::ranges::find(kOperators, word) != kOperators.end();
}

Error needs_a_shell(std::string_view what, std::string_view text) {
  return usage_error(fmt::format("the command needs a shell, because of {}: {}", what, text),
                     "add --shell (in a project file shell: true), or quote the character if it is meant as it stands");
}

/// Only a shell takes NAME=VALUE in front of a command for a variable.
Status check_first_word(const std::vector<std::string>& words) {
  if (words.empty() || !sets_variable(words.front())) return {};
  return usage_error("the command starts with a variable, which only a shell sets: " + words.front(),
                     "add --shell, or start it through env: env " + words.front() + " ...");
}

}  // namespace

Status check_words(const std::vector<std::string>& words) {
  WM_TRY(check_first_word(words));
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    const bool is_value = words[i - 1].starts_with('-') || words[i - 1] == "{}";  // find -exec COMMAND {} ;
    if (!is_value && is_operator(words[i])) return needs_a_shell(words[i], command_line(words));
  }
  return {};
}

Result<std::vector<std::string>> split_words(std::string_view text) {
  WM_ASSIGN(auto words, words_of_line(text, [text](std::size_t at) -> Status {
              const auto found = for_a_shell(text, at);
              return found.empty() ? Status() : Status(needs_a_shell(found, text));
            }));
  if (words.empty()) return usage_error("the command is empty");
  WM_TRY(check_first_word(words));
  return words;
}

}  // namespace warpmark::validate
