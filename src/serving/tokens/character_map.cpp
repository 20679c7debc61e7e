#include "serving/tokens/character_map.h"

#include "base/json.h"
#include "base/untrusted/input.h"
#include "http/url.h"
#include "serving/tokens/json_parts.h"
#include "serving/tokens/utf8.h"

namespace warpmark::serving {
namespace {

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

}  // namespace

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

}  // namespace warpmark::serving
