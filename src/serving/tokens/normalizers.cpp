#include "serving/tokens/normalizers.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/untrusted/input.h"
#include "http/url.h"
#include "serving/tokens/json_parts.h"
#include "serving/tokens/utf8.h"

namespace warpmark::serving {
namespace {

// The rules of a SentencePiece model for changing characters, as its tokenizer.json carries them ("Precompiled"): a
// double-array trie (Aoe, IEEE Transactions on Software Engineering 15, 1989; in the form of Yata's Darts-clone) from
// characters to places in a list of texts. Pure.

class CharacterMap {
 public:
  /// Of {"precompiled_charsmap": base64}. Data error for what is damaged.
  [[nodiscard]] static Result<CharacterMap> of(const Json& normalizer);

  /// As Hugging Face's tokenizers read it, which is not quite as SentencePiece does: the rule for a short
  /// user-perceived character is the shortest that fits its beginning, and stands for all of it.
  [[nodiscard]] std::string changed(std::string_view text) const;

 private:
  [[nodiscard]] std::optional<std::string_view> rule_for(std::string_view characters) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;  ///< each ends with a zero byte
};

constexpr std::size_t kLongestGrapheme = 5;  ///< bytes of one that is looked up as a whole

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// A unit of the array: whether a value hangs on it, the byte that leads to it, and how far its children are.
bool has_value(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }

std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
std::uint32_t byte_of(std::uint32_t unit) { return unit & 0x800000FF; }
std::uint32_t distance_of(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

Result<CharacterMap> CharacterMap::of(const Json& normalizer) {
  const auto blob = http::bytes_of_base64(word_at(normalizer, "precompiled_charsmap", ""));
  if (!blob || blob->size() < 4) return data_error("the precompiled_charsmap of a tokenizer is no base64 of a map");
  const std::size_t trie_bytes = little_endian(*blob);
  if (trie_bytes % 4 != 0 || trie_bytes == 0 || trie_bytes > blob->size() - 4) {
    return data_error("the precompiled_charsmap of a tokenizer is cut off");
  }
  CharacterMap map;
  for (std::size_t at = 0; at < trie_bytes; at += 4) {
    map.units_.push_back(little_endian(std::string_view(*blob).substr(4 + at, 4)));
  }
  map.texts_ = blob->substr(4 + trie_bytes);
  if (valid_utf8(map.texts_) != map.texts_) return data_error("the precompiled_charsmap of a tokenizer is no UTF-8");
  return map;
}

std::optional<std::string_view> CharacterMap::rule_for(std::string_view characters) const {
  std::size_t node = distance_of(units_[0]);
  for (const char c : characters) {
    const auto byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || byte_of(units_[node]) != byte) return std::nullopt;
    const bool ends = has_value(units_[node]);
    node ^= distance_of(units_[node]);
    if (!ends) continue;
    if (node >= units_.size() || value_of(units_[node]) > texts_.size()) return std::nullopt;
    const std::string_view text = std::string_view(texts_).substr(value_of(units_[node]));
    return text.substr(0, text.find('\0'));
  }
  return std::nullopt;
}

std::string CharacterMap::changed(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  for (const std::size_t end : grapheme_ends(text)) {
    const std::string_view grapheme = text.substr(at, end - at);
    at = end;
    if (grapheme.size() <= kLongestGrapheme) {
      if (const auto whole = rule_for(grapheme)) {
        out += *whole;
        continue;
      }
    }
    for (std::size_t i = 0, bytes = 1; i < grapheme.size(); i += bytes) {
      bytes = character_bytes(grapheme, i);
      out += rule_for(grapheme.substr(i, bytes)).value_or(grapheme.substr(i, bytes));
    }
  }
  return out;
}

std::string without_characters(std::string_view text, bool (*unwanted)(char32_t)) {
  return changed_characters(text, [&](char32_t character, std::string& out) {
    if (!unwanted(character)) append_character(character, out);
  });
}

/// The blocks of CJK ideographs that BERT sets apart; Hangul and Kana are written in words.
bool is_ideograph(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kBlocks[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                                       {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                                       {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  for (const auto& [first, last] : kBlocks) {
    if (c >= first && c <= last) return true;
  }
  return false;
}

std::string cleaned(std::string_view text) {
  return changed_characters(text, [](char32_t c, std::string& out) {
    const bool blank = is_space(c);
    if (!(c == '\t' || c == '\n' || c == '\r') && (c == 0 || c == 0xFFFD || is_control(c))) return;
    append_character(blank ? U' ' : c, out);
  });
}

std::string with_ideographs_apart(std::string_view text) {
  return changed_characters(text, [](char32_t c, std::string& out) {
    const bool apart = is_ideograph(c);
    if (apart) out += ' ';
    append_character(c, out);
    if (apart) out += ' ';
  });
}

/// As BERT's own tokenizer changes a text (Devlin et al., NAACL 2019).
ChangeText bert_change(const Json& json) {
  const bool clean = truth_at(json, "clean_text", true), apart = truth_at(json, "handle_chinese_chars", true);
  const bool lower = truth_at(json, "lowercase", true), plain = truth_at(json, "strip_accents", lower);
  return [=](std::string text) -> Result<std::string> {
    if (clean) text = cleaned(text);
    if (apart) text = with_ideographs_apart(text);
    if (plain) text = without_characters(normal_form(text, "NFD"), is_nonspacing_mark);
    return lower ? lower_characters(text) : text;
  };
}

/// SentencePiece's "nmt": control characters go, what separates words becomes a blank.
std::string plain_spaces(std::string_view text) {
  return changed_characters(text, [](char32_t c, std::string& out) {
    if ((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F) return;
    const bool blank = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                       c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    append_character(blank ? U' ' : c, out);
  });
}

ChangeText replacement(TextPattern pattern, std::string content) {
  return [pattern = std::move(pattern), content = std::move(content)](std::string text) -> Result<std::string> {
    WM_ASSIGN(const auto found, pattern.matches(text));
    std::string out;
    std::size_t at = 0;
    for (const auto& [begin, end] : found) {
      out.append(text, at, begin - at).append(content);
      at = end;
    }
    return out.append(text, at);
  };
}

std::string stripped_text(const std::string& text, bool left, bool right) {
  std::size_t begin = 0, end = text.size();
  while (left && begin < end && is_space_character(std::string_view(text).substr(begin))) {
    begin += character_bytes(text, begin);
  }
  while (right && end > begin) {
    std::size_t last = end - 1;
    while (last > begin && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    if (!is_space_character(std::string_view(text).substr(last))) break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

Status add_change(const Json& json, std::vector<ChangeText>& changes) {
  if (json.is_null()) return {};
  if (!json.is_object()) return data_error("a tokenizer's normalizer is no object");
  const std::string type = word_at(json, "type", "");
  if (type == "Sequence" && json.contains("normalizers") && json["normalizers"].is_array()) {
    for (const auto& part : json["normalizers"]) WM_TRY(add_change(part, changes));
  } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    changes.emplace_back([type](std::string text) -> Result<std::string> { return normal_form(text, type); });
  } else if (type == "Lowercase") {
    changes.emplace_back([](std::string text) -> Result<std::string> { return lower_characters(text); });
  } else if (type == "Strip") {
    const bool left = truth_at(json, "strip_left", true), right = truth_at(json, "strip_right", true);
    changes.emplace_back(
        [left, right](std::string text) -> Result<std::string> { return stripped_text(text, left, right); });
  } else if (type == "Prepend") {
    changes.emplace_back([before = word_at(json, "prepend", "")](std::string text) -> Result<std::string> {
      return text.empty() ? text : before + text;
    });
  } else if (type == "BertNormalizer") {
    changes.push_back(bert_change(json));
  } else if (type == "StripAccents") {
    changes.emplace_back([](std::string text) -> Result<std::string> { return without_characters(text, is_mark); });
  } else if (type == "Nmt") {
    changes.emplace_back([](std::string text) -> Result<std::string> { return plain_spaces(text); });
  } else if (type == "Precompiled") {
    WM_ASSIGN(auto map, CharacterMap::of(json));
    changes.emplace_back([map = std::move(map)](std::string text) -> Result<std::string> { return map.changed(text); });
  } else if (type == "Replace") {
    WM_ASSIGN(auto pattern, pattern_at(json));
    changes.push_back(replacement(std::move(pattern), word_at(json, "content", "")));
  } else {
    return data_error(fmt::format("the normalizer {} is not understood", type));
  }
  return {};
}

}  // namespace

Result<std::vector<ChangeText>> normalizer_of(const Json& json) {
  std::vector<ChangeText> changes;
  WM_TRY(add_change(json, changes));
  return changes;
}

}  // namespace warpmark::serving
