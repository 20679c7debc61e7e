#include "serving/answers/server_text.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/json.h"
#include "serving/answers/chunk.h"

namespace warpmark::serving {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: no UTF-8
};

Character character_at(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xF0 && first < 0xF5 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return {};
  std::uint32_t code = first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return {};
    code = code << 6 | (next & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[size] || code > 0x10FFFF || surrogate ? Character{} : Character{code, size};
}

bool may_be_shown(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool direction =
      code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return !control && !direction && code != 0x2028 && code != 0x2029;
}

}  // namespace

std::string server_text(std::string_view bytes, std::size_t most) {
  std::string text;
  while (!bytes.empty()) {
    const Character character = character_at(bytes);
    const std::size_t taken = character.bytes == 0 ? 1 : character.bytes;
    const char first = bytes.front();
    std::string shown(bytes.substr(0, taken));
    if (first == '\n' || first == '\r' || first == '\t') {
      shown = " ";
    } else if (character.bytes == 0) {
      shown = fmt::format("\\x{:02x}", static_cast<unsigned char>(first));
    } else if (!may_be_shown(character.code)) {
      const bool short_code = character.code < 0x100;
      shown = short_code ? fmt::format("\\x{:02x}", character.code) : fmt::format("\\u{:04x}", character.code);
    }
    if (text.size() + shown.size() > most) break;
    text += shown;
    bytes.remove_prefix(taken);
  }
  return text;
}

std::string without_escapes(std::string_view between_quotes) {
  if (between_quotes.find('\\') == std::string::npos) return std::string(between_quotes);
  const auto json = parse_json("\"" + std::string(between_quotes) + "\"", "an answer");
  return json.ok() && json->is_string() ? json->get<std::string>() : std::string(between_quotes);
}

std::string error_text(std::string_view body) {
  ChunkFacts facts;
  if (scan_chunk(body, facts) && !facts.error_message.empty()) return server_text(without_escapes(facts.error_message));
  return server_text(body);
}

}  // namespace warpmark::serving
