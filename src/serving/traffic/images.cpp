#include "serving/traffic/images.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "http/url.h"
#include "stats/random.h"

namespace warpmark::serving {
namespace {

void add_u32(std::string& text, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFF);
}

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xEDB88320U : crc >> 1;
  }
  return ~crc;
}

std::uint32_t adler32(std::string_view bytes) {
  std::uint32_t a = 1, b = 0;
  for (const char byte : bytes) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

void add_chunk(std::string& png, std::string_view type, std::string_view data) {
  add_u32(png, static_cast<std::uint32_t>(data.size()));
  const std::string body = std::string(type) + std::string(data);
  png += body;
  add_u32(png, crc32(body));
}

std::string stored_zlib(std::string_view raw) {
  std::string text = "\x78\x01";
  const std::uint32_t sum = adler32(raw);
  while (!raw.empty()) {
    const std::size_t size = std::min<std::size_t>(raw.size(), 65535);
    text += size == raw.size() ? '\x01' : '\x00';
    for (const std::size_t value : {size, ~size}) {
      text += static_cast<char>(value & 0xFF);
      text += static_cast<char>(value >> 8 & 0xFF);
    }
    text += raw.substr(0, size);
    raw.remove_prefix(size);
  }
  add_u32(text, sum);
  return text;
}

}  // namespace

std::string png_image(const ImageSpec& spec) {
  std::string raw;
  stats::Random random(spec.seed);
  const auto tone = static_cast<int>(random() % 200);
  for (int y = 0; y < spec.height; ++y) {
    raw += '\0';  // no filter
    for (int x = 0; x < spec.width; ++x) raw += static_cast<char>((tone + x / 8 + y / 8) % 256);
  }
  std::string png = "\x89PNG\r\n\x1a\n", header;
  add_u32(header, static_cast<std::uint32_t>(spec.width));
  add_u32(header, static_cast<std::uint32_t>(spec.height));
  header += std::string("\x08\x00\x00\x00\x00", 5);  // 8 bits of grey
  add_chunk(png, "IHDR", header);
  add_chunk(png, "IDAT", stored_zlib(raw));
  add_chunk(png, "IEND", "");
  return png;
}

std::string image_url(const ImageSpec& spec) { return "data:image/png;base64," + http::base64(png_image(spec)); }

}  // namespace warpmark::serving
