#include "accuracy/text/tokenizers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "accuracy/text/unicode.h"
#include "base/text.h"

namespace warpmark::accuracy {
namespace {

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

/// The ASCII symbols that mteval always splits off: all but the apostrophe, the hyphen, the comma and the period.
constexpr bool is_split_symbol(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (!is_ascii_punctuation(byte) && c != ' ') return false;
  return c != '\'' && c != '-' && c != ',' && c != '.';
}

/// By a table, as each byte of a corpus is asked.
constexpr auto kIsSplit = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0; c < table.size(); ++c) table[c] = is_split_symbol(static_cast<char>(c));
  return table;
}();

std::string with_symbols_split(std::string_view text) {
  std::string split(3 * text.size(), ' ');  // a symbol becomes three bytes at most
  char* out = split.data();
  for (const char c : text) {
    const bool is_split = kIsSplit[static_cast<unsigned char>(c)];
    out += is_split ? 1 : 0;
    *out = c;
    out += is_split ? 2 : 1;
  }
  split.resize(static_cast<std::size_t>(out - split.data()));
  return split;
}

/// A substitution of two neighbours, from the left, none of them twice: what `first` and `second` accept is replaced by
/// itself with spaces before (if `before`), between, and after (if `after`). On bytes, as all that is tested is ASCII.
template <typename First, typename Second>
std::string pairs_spaced(std::string_view text, First first, Second second, bool before, bool after) {
  std::string result(2 * text.size() + 2, ' ');  // two bytes become four at most
  char* out = result.data();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && second(text[i + 1]) && first(text[i])) {
      out += before ? 1 : 0;
      *out = text[i];
      out += 2;
      *out = text[++i];
      out += after ? 2 : 1;
    } else {
      *out++ = text[i];
    }
  }
  result.resize(static_cast<std::size_t>(out - result.data()));
  return result;
}

// Objects and not functions, whose address would be called for each byte.
constexpr auto kIsDigit = [](char c) { return is_digit(c); };
constexpr auto kIsNoDigit = [](char c) { return !is_digit(c); };
constexpr auto kIsStop = [](char c) { return c == '.' || c == ','; };
constexpr auto kIsHyphen = [](char c) { return c == '-'; };

/// Periods and commas unless between digits, and hyphens after digits.
std::string with_stops_split(std::string_view text) {
  std::string result = pairs_spaced(text, kIsNoDigit, kIsStop, false, true);
  result = pairs_spaced(result, kIsStop, kIsNoDigit, true, false);
  return pairs_spaced(result, kIsDigit, kIsHyphen, false, true);
}

void unescape_entities(std::string& text) {
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
}

std::string separated_13a(std::string_view line) {
  std::string text(line);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  if (text.find('&') != std::string::npos) unescape_entities(text);
  return with_stops_split(with_symbols_split(" " + text + " "));
}

std::string mteval_13a(std::string_view line) { return single_spaced(separated_13a(line)); }

/// Of code points, as what is tested is not ASCII alone; otherwise as pairs_spaced.
template <typename First, typename Second>
std::u32string points_spaced(std::u32string_view text, First first, Second second, bool before) {
  std::u32string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && first(text[i]) && second(text[i + 1])) {
      if (before) result += U' ';
      result += text[i];
      result += U' ';
      result += text[++i];
      if (!before) result += U' ';
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string mteval_intl(std::string_view line) {
  const auto is_no_numeral = [](char32_t c) { return !is_numeral(c); };
  std::u32string text = points_spaced(code_points(line), is_no_numeral, is_punctuation, false);
  text = points_spaced(text, is_punctuation, is_no_numeral, true);
  std::string result;
  for (const char32_t c : text) {
    const bool symbol = is_symbol(c);
    if (symbol) result += ' ';
    append_utf8(result, c);
    if (symbol) result += ' ';
  }
  return single_spaced(result);
}

std::string each_character(std::string_view line) {
  std::string result;
  for (const char32_t c : code_points(line)) {
    if (!result.empty()) result += ' ';
    append_utf8(result, c);
  }
  return result;
}

/// The ranges of sacreBLEU as they act: its two above U+FFFF are written with five digits after \u, which takes four,
/// so that they compare as texts of two characters and hold U+2001 to U+2A6D and U+2F81 to U+2FA1.
bool is_chinese(char32_t c) {
  static constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x3400, 0x4DB5}, {0x4E00, 0x9FA5}, {0x9FA6, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9},
      {0x2001, 0x2A6D}, {0x2F81, 0x2FA1}, {0xFF00, 0xFFEF}, {0x2E80, 0x2EFF}, {0x3000, 0x303F}, {0x31C0, 0x31EF},
      {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F},
      {0x2600, 0x26FF}, {0x2700, 0x27BF}, {0x3200, 0x32FF}, {0x3300, 0x33FF}};
  for (const auto& [low, high] : kRanges) {
    if (c >= low && c <= high) return true;
  }
  return false;
}

std::string mteval_zh(std::string_view line) {
  std::string text;
  for (const char32_t c : code_points(stripped(line))) {
    const bool chinese = is_chinese(c);
    if (chinese) text += ' ';
    append_utf8(text, c);
    if (chinese) text += ' ';
  }
  return single_spaced(with_stops_split(with_symbols_split(text)));
}

std::string as_it_is(std::string_view line) { return std::string(line); }

struct CodeRange {
  char32_t first, last;
};

template <std::size_t N>
bool is_within(char32_t c, const CodeRange (&ranges)[N]) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const CodeRange& range) { return range.first <= c && c <= range.last; });
}

/// Tercom's punctuation of Asian scripts, and that of full width.
bool is_asian_punctuation(char32_t c) {
  static constexpr CodeRange kRanges[] = {{0x3001, 0x3002}, {0x3008, 0x3011}, {0x3014, 0x301F}, {0x30FB, 0x30FB},
                                          {0xFF61, 0xFF65}, {0xFF01, 0xFF02}, {0xFF08, 0xFF09}, {0xFF0C, 0xFF0C},
                                          {0xFF0E, 0xFF0E}, {0xFF1A, 0xFF1B}, {0xFF1F, 0xFF1F}};
  return is_within(c, kRanges);
}

/// What sacreBLEU's Tercom makes words of their own: ideographs, strokes, radicals, and compatibility forms. Its rule
/// for kana never applies, as it asks for the beginning of a line that begins with a space; its range of enclosed
/// letters ends at U+3F22.
bool is_asian_word(char32_t c) {
  static constexpr CodeRange kRanges[] = {{0x2E80, 0x2EFF}, {0x31C0, 0x31EF}, {0x3200, 0x4DBF},
                                          {0x4E00, 0x9FFF}, {0xF900, 0xFAFF}, {0xFE30, 0xFE4F}};
  return is_within(c, kRanges) || is_asian_punctuation(c);
}

std::string with_asian_words_split(const std::string& text) {
  std::string result;
  for (const char32_t c : code_points(text)) {
    const bool alone = is_asian_word(c);
    if (alone) result += ' ';
    append_utf8(result, c);
    if (alone) result += ' ';
  }
  return result;
}

std::string without_asian_punctuation(const std::string& text) {
  std::string result;
  for (const char32_t c : code_points(text)) {
    if (!is_asian_punctuation(c)) append_utf8(result, c);
  }
  return result;
}

}  // namespace

const std::vector<NamedTokenizer>& bleu_tokenizers() {
  static const std::vector<NamedTokenizer> tokenizers{{"13a", mteval_13a, separated_13a},
                                                      {"intl", mteval_intl, mteval_intl},
                                                      {"zh", mteval_zh, mteval_zh},
                                                      {"char", each_character, each_character},
                                                      {"none", as_it_is, as_it_is}};
  return tokenizers;
}

Result<NamedTokenizer> bleu_tokenizer(std::string_view id) {
  std::vector<std::string> names;
  for (const auto& tokenizer : bleu_tokenizers()) {
    if (id == tokenizer.id) return tokenizer;
    names.emplace_back(tokenizer.id);
  }
  return usage_error("there is no tokenizer '" + std::string(id) + "'", "tokenizers: " + join(names, ", "));
}

std::string tercom_tokenized(std::string_view line, const TercomOptions& options) {
  std::string text = options.case_sensitive ? std::string(line) : lower_case(line);
  if (options.normalized) {
    replace_all(text, "\n-", "");
    replace_all(text, "\n", " ");
    unescape_entities(text);
    text = with_symbols_split(" " + text + " ");
    replace_all(text, "'s ", " 's ");
    if (text.ends_with("'s")) text.insert(text.size() - 2, 1, ' ');
    text = with_stops_split(text);
    if (options.asian) text = with_asian_words_split(text);
  }
  if (!options.punctuation) {
    std::erase_if(text, [](char c) { return std::string_view(".,?:;!\"()").find(c) != std::string_view::npos; });
    if (options.asian) text = without_asian_punctuation(text);
  }
  return single_spaced(text);
}

}  // namespace warpmark::accuracy
