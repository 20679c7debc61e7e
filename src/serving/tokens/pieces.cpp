#include "serving/tokens/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "serving/tokens/text_pattern.h"
#include "serving/tokens/utf8.h"

namespace warpmark::serving {
namespace {

constexpr const char* kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::string word_at(const Json& json, const char* key, const char* otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

bool truth_at(const Json& json, const char* key, bool otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

/// {"Regex": ".."}, {"String": ".."}, or a text.
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
  } else if (type == "Replace") {
    WM_ASSIGN(auto pattern, pattern_at(json));
    changes.push_back(replacement(std::move(pattern), word_at(json, "content", "")));
  } else {
    return data_error(fmt::format("the normalizer {} is not understood", type));
  }
  return {};
}

/// A piece of a cut text, and whether it is a match.
struct CutPart {
  std::string text;
  bool match = false;
};

Result<std::vector<CutPart>> parts_of_text(const TextPattern& pattern, const std::string& text, bool invert) {
  std::vector<CutPart> parts;
  WM_ASSIGN(const auto found, pattern.matches(text));
  std::size_t at = 0;
  for (const auto& [begin, end] : found) {
    if (begin > at) parts.push_back({text.substr(at, begin - at), invert});
    parts.push_back({text.substr(begin, end - begin), !invert});
    at = end;
  }
  if (at < text.size()) parts.push_back({text.substr(at), invert});
  return parts;
}

enum class Behaviour { removed, isolated, with_previous, with_next, contiguous };

Result<Behaviour> behaviour_at(const Json& json) {
  const std::string name = word_at(json, "behavior", "Isolated");
  if (name == "Removed") return Behaviour::removed;
  if (name == "Isolated") return Behaviour::isolated;
  if (name == "MergedWithPrevious") return Behaviour::with_previous;
  if (name == "MergedWithNext") return Behaviour::with_next;
  if (name == "Contiguous") return Behaviour::contiguous;
  return data_error(fmt::format("the behavior {} of a tokenizer's Split is not understood", name));
}

void join_parts(std::vector<CutPart> parts, Behaviour behaviour, std::vector<std::string>& pieces) {
  if (behaviour == Behaviour::with_next) {  // the mirror of with_previous
    std::vector<std::string> mirrored;
    bool match_behind = false;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      if (part->match && !match_behind && !mirrored.empty()) {
        mirrored.back().insert(0, part->text);
      } else {
        mirrored.push_back(std::move(part->text));
      }
      match_behind = part->match;
    }
    pieces.insert(pieces.end(), std::make_move_iterator(mirrored.rbegin()), std::make_move_iterator(mirrored.rend()));
    return;
  }
  const std::size_t first = pieces.size();
  bool match_before = false;
  for (auto& part : parts) {
    if (behaviour == Behaviour::removed) {
      if (!part.match) pieces.push_back(std::move(part.text));
      continue;
    }
    const bool joins =
        pieces.size() > first && ((behaviour == Behaviour::with_previous && part.match && !match_before) ||
                                  (behaviour == Behaviour::contiguous && part.match == match_before));
    if (joins) {
      pieces.back() += part.text;
    } else {
      pieces.push_back(std::move(part.text));
    }
    match_before = part.match;
  }
}

CutPieces cut_by(TextPattern pattern, Behaviour behaviour, bool invert) {
  return [pattern = std::move(pattern), behaviour, invert](std::vector<std::string> pieces,
                                                           bool) -> Result<std::vector<std::string>> {
    std::vector<std::string> out;
    for (const auto& piece : pieces) {
      WM_ASSIGN(auto parts, parts_of_text(pattern, piece, invert));
      join_parts(std::move(parts), behaviour, out);
    }
    return out;
  };
}

Status add_cut(const std::string& expression, Behaviour behaviour, bool invert, PieceCutter& cutter) {
  WM_ASSIGN(auto pattern, TextPattern::of(expression));
  cutter.steps.push_back(cut_by(std::move(pattern), behaviour, invert));
  return {};
}

Status add_byte_level(const Json& json, PieceCutter& cutter) {
  if (truth_at(json, "add_prefix_space", true)) {
    cutter.steps.emplace_back([](std::vector<std::string> pieces, bool) -> Result<std::vector<std::string>> {
      for (auto& piece : pieces) {
        if (!piece.starts_with(' ')) piece.insert(0, " ");
      }
      return pieces;
    });
  }
  cutter.bytes = true;
  return truth_at(json, "use_regex", true) ? add_cut(kGpt2Words, Behaviour::isolated, false, cutter) : Status();
}

/// Blanks become a mark, which stands before the first word too.
Status add_metaspace(const Json& json, PieceCutter& cutter) {
  const std::string mark = word_at(json, "replacement", "\xE2\x96\x81");
  const std::string scheme =
      word_at(json, "prepend_scheme", truth_at(json, "add_prefix_space", true) ? "always" : "never");
  if (scheme != "always" && scheme != "never" && scheme != "first") {
    return data_error("the prepend_scheme " + scheme + " of a tokenizer's Metaspace is not understood");
  }
  cutter.steps.emplace_back(
      [mark, scheme](std::vector<std::string> pieces, bool first) -> Result<std::vector<std::string>> {
        for (std::size_t i = 0; i < pieces.size(); ++i) {
          std::string marked;
          for (const char c : pieces[i]) marked += c == ' ' ? mark : std::string(1, c);
          const bool wanted = scheme == "always" || (scheme == "first" && first && i == 0);
          pieces[i] = wanted && !marked.starts_with(mark) ? mark + marked : marked;
        }
        return pieces;
      });
  if (!truth_at(json, "split", true)) return {};
  WM_ASSIGN(auto pattern, TextPattern::literal(mark));
  cutter.steps.push_back(cut_by(std::move(pattern), Behaviour::with_next, false));
  return {};
}

Status add_step(const Json& json, PieceCutter& cutter) {
  if (json.is_null()) return {};
  if (!json.is_object()) return data_error("a tokenizer's pre_tokenizer is no object");
  if (cutter.bytes) return data_error("a tokenizer's step behind ByteLevel is not understood");
  const std::string type = word_at(json, "type", "");
  if (type == "Sequence" && json.contains("pretokenizers") && json["pretokenizers"].is_array()) {
    for (const auto& part : json["pretokenizers"]) WM_TRY(add_step(part, cutter));
    return {};
  }
  if (type == "ByteLevel") return add_byte_level(json, cutter);
  if (type == "Metaspace") return add_metaspace(json, cutter);
  if (type == "Split") {
    WM_ASSIGN(auto pattern, pattern_at(json));
    WM_ASSIGN(const auto behaviour, behaviour_at(json));
    cutter.steps.push_back(cut_by(std::move(pattern), behaviour, truth_at(json, "invert", false)));
    return {};
  }
  if (type == "Digits") {
    const bool each = truth_at(json, "individual_digits", false);
    return add_cut("\\p{N}", each ? Behaviour::isolated : Behaviour::contiguous, false, cutter);
  }
  if (type == "Whitespace") return add_cut("\\w+|[^\\w\\s]+", Behaviour::removed, true, cutter);
  if (type == "WhitespaceSplit") return add_cut("\\s", Behaviour::removed, false, cutter);
  if (type == "Punctuation") {
    WM_ASSIGN(const auto behaviour, behaviour_at(json));
    return add_cut("[\\p{P}!-/:-@\\[-`{-~]", behaviour, false, cutter);
  }
  return data_error(fmt::format("the pre_tokenizer {} is not understood", type));
}

}  // namespace

Result<std::vector<ChangeText>> normalizer_of(const Json& json) {
  std::vector<ChangeText> changes;
  WM_TRY(add_change(json, changes));
  return changes;
}

Result<PieceCutter> cutter_of(const Json& json) {
  PieceCutter cutter;
  WM_TRY(add_step(json, cutter));
  return cutter;
}

}  // namespace warpmark::serving
