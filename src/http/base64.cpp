#include "http/base64.h"

#include <array>
#include <cstdint>

namespace warpmark::http {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 0x3F];
    }
  }
  return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t digits = text.size();
  while (digits > 0 && text.size() - digits < 2 && text[digits - 1] == '=') --digits;
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
  std::string bytes;
  bytes.reserve(digits / 4 * 3 + 2);
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const int value = values[static_cast<unsigned char>(text[i])];
    if (value < 0) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(value);
    if (i % 4 > 0) bytes += static_cast<char>(group >> (6 - 2 * (i % 4)) & 0xFF);
  }
  return bytes;
}

}  // namespace warpmark::http
