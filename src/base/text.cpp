#include "base/text.h"
#include "base/untrusted/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace warpmark {
namespace {

using Range = std::pair<char32_t, char32_t>;
// Unicode 15: combining marks, joiners and variation selectors; and East_Asian_Width W or F (UAX 11), in large pieces.
constexpr Range kOverlaid[] = {{0x300, 0x36F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
                           {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

bool within(std::span<const Range> ranges, char32_t letter) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return letter >= range.first && letter <= range.second; });
}

}  // namespace

std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = ascii_lower(c);
  return lower;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> fields;
  if (text.empty()) return fields;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find(separator, begin)) != std::string_view::npos; begin = end + 1) {
    fields.emplace_back(text.substr(begin, end - begin));
  }
  fields.emplace_back(text.substr(begin));
  return fields;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string joined;
  for (const auto& part : parts) {
    if (!joined.empty()) joined += separator;
    joined += part;
  }
  return joined;
}

bool is_glob(std::string_view pattern) { return pattern.find_first_of("*?") != std::string_view::npos; }

bool glob_match(std::string_view pattern, std::string_view text) {
  // Greedy match with one backtracking point: linear in practice, no recursion.
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {  // before all else: the text may have a '*' of its own
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLongest = 200;  // nobody types longer ones, and the distance takes the product of the lengths
  std::string best;
  if (word.size() > kLongest) return best;
  // Farther is another word, not a typing error: of a word of one or two letters any other is.
  std::size_t best_distance = (word.size() < 4 ? word.size() / 3 : std::max<std::size_t>(2, word.size() / 3)) + 1;
  for (const auto& candidate : candidates) {
    const bool one_missing = word.size() == 2 && candidate.size() == 3;
    const bool is_prefix = (word.size() >= 3 || one_missing) && candidate.starts_with(word);
    if (!is_prefix && candidate.size() >= word.size() + best_distance) continue;
    const bool sure = one_missing || word.size() > 3;  // "h100" is "h100-sxm" and not "b100"
    const std::size_t distance = is_prefix ? (sure ? 0 : 1) : edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string capitalized(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

std::string shell_quote(std::string_view word) {
  constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./%@^";
  if (!word.empty() && word.find_first_not_of(kSafe) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::size_t display_width(std::string_view utf8) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < utf8.size();) {
    const auto lead = static_cast<unsigned char>(utf8[i++]);
    char32_t letter = lead < 0x80 ? lead : lead & (lead < 0xE0 ? 0x1FU : lead < 0xF0 ? 0x0FU : 0x07U);
    for (; i < utf8.size() && (static_cast<unsigned char>(utf8[i]) & 0xC0U) == 0x80U; ++i) {
      letter = letter << 6 | (static_cast<unsigned char>(utf8[i]) & 0x3FU);
    }
    const bool plain = letter < kOverlaid[0].first;
    columns += plain ? 1U : within(kOverlaid, letter) ? 0U : within(kWide, letter) ? 2U : 1U;
  }
  return columns;
}

std::string command_line(const std::vector<std::string>& words) {
  std::string line;
  for (const auto& word : words) line += (line.empty() ? "" : " ") + shell_quote(hide_password(word));
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
