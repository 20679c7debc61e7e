#include "serving/tokens/normalizers.h"

#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "serving/tokens/character_map.h"
#include "serving/tokens/json_parts.h"
#include "serving/tokens/utf8.h"

namespace warpmark::serving {
namespace {

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
