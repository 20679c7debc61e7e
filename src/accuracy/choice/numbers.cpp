#include "accuracy/choice/numbers.h"

#include <algorithm>
#include <cmath>

#include "accuracy/text/unicode.h"
#include "base/text.h"
#include "base/units.h"

namespace warpmark::accuracy {
namespace {

constexpr std::string_view kMark = "#### ";

bool is_number_character(char c) { return is_digit(c) || c == '.' || c == ','; }

/// As long as the characters are accepted.
template <typename Accept>
std::size_t run_length(std::string_view text, std::size_t at, Accept accept) {
  std::size_t end = at;
  while (end < text.size() && accept(text[end])) ++end;
  return end - at;
}

}  // namespace

std::string gsm8k_strict(std::string_view answer) {
  for (auto at = answer.find(kMark); at != std::string_view::npos; at = answer.find(kMark, at + 1)) {
    std::size_t begin = at + kMark.size();
    const std::size_t sign = begin < answer.size() && answer[begin] == '-' ? 1 : 0;
    const std::size_t digits = run_length(answer, begin + sign, is_number_character);
    if (digits > 0) return std::string(answer.substr(begin, sign + digits));
  }
  return kInvalidAnswer;
}

std::string gsm8k_flexible(std::string_view answer) {
  std::string last = kInvalidAnswer;
  for (std::size_t i = 0; i < answer.size();) {
    const std::size_t sign = answer[i] == '-' ? 1 : 0;
    const auto any = [](char c) { return is_number_character(c) || c == '$'; };
    std::size_t length = run_length(answer, i + sign, any);
    if (length < 2) length = run_length(answer, i + sign, is_digit);
    if (length == 0) {
      ++i;
      continue;
    }
    last = std::string(answer.substr(i, sign + length));
    i += sign + length;
  }
  return last;
}

std::string gsm8k_normalized(std::string_view answer) {
  const auto mark = answer.rfind(kMark);
  if (mark != std::string_view::npos) answer.remove_prefix(mark + kMark.size());
  std::string text = lower_case(answer);
  std::erase_if(text, [](char c) { return c == ',' || c == '$'; });
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::optional<double> value_of_number(std::string_view raw) {
  std::string text(stripped(raw));
  std::erase_if(text, [](char c) { return c == ',' || c == '$'; });
  while (text.ends_with('.')) text.pop_back();
  double scale = 1;
  if (text.ends_with('%')) {
    text.pop_back();
    scale = 0.01;
  }
  const auto slash = text.find('/');
  const auto numerator = parse_number(text.substr(0, slash));
  if (!numerator.ok()) return std::nullopt;
  double denominator = 1;
  if (slash != std::string::npos) {
    const auto parsed = parse_number(text.substr(slash + 1));
    if (!parsed.ok() || *parsed == 0) return std::nullopt;
    denominator = *parsed;
  }
  return *numerator / denominator * scale;
}

double pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k) {
  if (n - c < k) return 1;
  double all_wrong = 1;
  for (std::int64_t i = n - c + 1; i <= n; ++i) all_wrong *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - all_wrong;
}

}  // namespace warpmark::accuracy
