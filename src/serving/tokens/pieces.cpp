#include "serving/tokens/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "serving/tokens/json_parts.h"

namespace warpmark::serving {
namespace {

constexpr const char* kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kSpace = R"([^\S\x{180E}])";  // PCRE2 takes U+180E for a space, which Unicode 6.3 made it not
// Unicode Technical Standard 18's \w (letters with circles among the alphabetic ones); PCRE2's lacks marks.
constexpr const char* kWords = R"([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9})"
                               R"(\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}]+)";
constexpr const char* kPunctuation = R"([\p{P}!-/:-@\[-`{-~])";

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
  if (type == "BertPreTokenizer") {
    WM_TRY(add_cut(kSpace, Behaviour::removed, false, cutter));
    return add_cut(kPunctuation, Behaviour::isolated, false, cutter);
  }
  if (type == "Whitespace") {
    // Words, and what is neither a word nor a space: what lies between two words is cut at spaces.
    WM_TRY(add_cut(kSpace, Behaviour::removed, false, cutter));
    return add_cut(kWords, Behaviour::isolated, false, cutter);
  }
  if (type == "WhitespaceSplit") return add_cut(kSpace, Behaviour::removed, false, cutter);
  if (type == "Punctuation") {
    WM_ASSIGN(const auto behaviour, behaviour_at(json));
    return add_cut(kPunctuation, behaviour, false, cutter);
  }
  return data_error(fmt::format("the pre_tokenizer {} is not understood", type));
}

}  // namespace

Result<PieceCutter> cutter_of(const Json& json) {
  PieceCutter cutter;
  WM_TRY(add_step(json, cutter));
  return cutter;
}

}  // namespace warpmark::serving
