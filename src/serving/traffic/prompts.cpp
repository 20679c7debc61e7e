#include "serving/traffic/prompts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "http/url.h"
#include "stats/random.h"

namespace warpmark::serving {
namespace {

constexpr std::array<std::string_view, 160> kPromptWords{
    "time",    "year",    "people",   "way",      "day",    "man",     "thing",   "woman",  "life",   "child",
    "world",   "school",  "state",    "family",   "group",  "country", "hand",    "part",   "place",  "case",
    "week",    "company", "system",   "program",  "work",   "night",   "point",   "home",   "water",  "room",
    "mother",  "area",    "money",    "story",    "fact",   "month",   "lot",     "right",  "study",  "book",
    "eye",     "job",     "word",     "business", "issue",  "side",    "kind",    "head",   "house",  "service",
    "friend",  "father",  "power",    "hour",     "game",   "line",    "end",     "member", "law",    "car",
    "city",    "name",    "team",     "minute",   "idea",   "body",    "back",    "parent", "face",   "level",
    "office",  "door",    "health",   "person",   "art",    "war",     "history", "party",  "result", "change",
    "morning", "reason",  "research", "girl",     "moment", "air",     "teacher", "force",  "order",  "light",
    "field",   "paper",   "tree",     "river",    "road",   "stone",   "bird",    "sea",    "wind",   "summer",
    "winter",  "spring",  "garden",   "bridge",   "market", "window",  "table",   "chair",  "letter", "number",
    "music",   "color",   "north",    "south",    "east",   "west",    "small",   "large",  "early",  "late",
    "old",     "new",     "long",     "short",    "high",   "low",     "first",   "last",   "great",  "little",
    "own",     "other",   "and",      "or",       "but",    "with",    "from",    "into",   "over",   "under",
    "after",   "before",  "about",    "between",  "is",     "was",     "has",     "had",    "can",    "will",
    "may",     "must",    "said",     "made",     "came",   "went",    "took",    "gave",   "found",  "knew"};

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

std::string words_text(std::int64_t words, std::uint64_t seed) {
  std::string text;
  text.reserve(static_cast<std::size_t>(std::max<std::int64_t>(words, 0)) * 6);
  stats::Random random(seed);
  for (std::int64_t i = 0; i < words; ++i) {
    if (i > 0) text += ' ';
    text += kPromptWords[static_cast<std::size_t>(random() % kPromptWords.size())];
  }
  return text;
}

std::int64_t TokenFit::words_for(std::int64_t tokens) const {
  return std::max<std::int64_t>(1, std::llround((static_cast<double>(tokens) - fixed) / per_word));
}

TokenFit fit_tokens(std::span<const TokenProbe> probes) {
  double words = 0, tokens = 0;
  for (const auto& probe : probes) words += probe.words, tokens += probe.tokens;
  const auto n = static_cast<double>(probes.size());
  double xx = 0, xy = 0;
  for (const auto& probe : probes) {
    xx += (probe.words - words / n) * (probe.words - words / n);
    xy += (probe.words - words / n) * (probe.tokens - tokens / n);
  }
  if (probes.size() < 2 || !(xx > 0) || !(xy > 0)) return {};
  const double slope = xy / xx;
  return {.fixed = tokens / n - slope * words / n, .per_word = slope, .measured = true};
}

std::size_t find_serial(std::string_view body) { return body.find(kSerialMark); }

void write_serial(std::string& body, std::size_t at, std::uint64_t serial) {
  // Numbers in a row begin with different digits: a prefix cache would have all but the last digit of 10000001 after
  // 10000000. The factor has no divisor in common with 10^8, so that no two numbers become one.
  serial = serial % 100'000'000 * 61'803'399 % 100'000'000;
  for (std::size_t i = kSerialMark.size(); i-- > 0; serial /= 10) body[at + i] = static_cast<char>('0' + serial % 10);
}

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
