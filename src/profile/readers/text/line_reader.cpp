#include "profile/readers/text/line_reader.h"

#include <algorithm>
#include <cstring>

#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

constexpr std::size_t kReadBytes = 1 << 18;
constexpr std::size_t kMostLineBytes = 16 << 20;
// No tool prints more; a line of nothing but separators would take 32 times its size.
constexpr std::size_t kMostFields = 1 << 15;
constexpr std::size_t kMostWords = 1 << 12;

constexpr std::size_t kChunkBytes = 1 << 16;
constexpr std::size_t kFirstSlots = 1 << 12;
constexpr std::uint64_t kSecretA = 0xA0761D6478BD642F;  // odd constants with as many ones as zeros
constexpr std::uint64_t kSecretB = 0xE7037ED1A0B428DB;

std::uint64_t load(const char* p, std::size_t bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, bytes);
  return word;
}

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_of(std::string_view text) {
  const char* p = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = kSecretB ^ left;
  for (; left > 16; left -= 16, p += 16) {
    hash = fold(load(p, 8) ^ kSecretA ^ hash, load(p + 8, 8) ^ kSecretB ^ (hash << 1));
  }
  std::uint64_t a = 0, b = 0;
  if (left >= 8) {
    a = load(p, 8);
    b = load(p + left - 8, 8);
  } else if (left >= 4) {
    a = load(p, 4);
    b = load(p + left - 4, 4);
  } else if (left > 0) {
    a = static_cast<unsigned char>(p[0]);
    b = static_cast<std::uint64_t>(static_cast<unsigned char>(p[left / 2])) << 8 |
        static_cast<unsigned char>(p[left - 1]);
  }
  return fold(a ^ kSecretA ^ hash, b ^ kSecretB);
}

}  // namespace

Result<bool> LineReader::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t have = buffer_.size();
  buffer_.resize(have + kReadBytes);
  const auto got = source_.read({buffer_.data() + have, kReadBytes});
  buffer_.resize(have + (got.ok() ? *got : 0));
  if (!got.ok()) return got.error();
  return *got > 0;
}

Result<bool> LineReader::next(std::string_view& line) {
  std::size_t searched = at_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    const bool too_long = end == std::string::npos && buffer_.size() - at_ >= kMostLineBytes;
    if (end != std::string::npos || too_long) {
      const std::size_t stop = too_long ? buffer_.size() : end;
      line = std::string_view(buffer_).substr(at_, stop - at_);
      at_ = too_long ? stop : stop + 1;
      cut_lines_ += too_long ? 1 : 0;
      break;
    }
    searched = buffer_.size() - at_;
    WM_ASSIGN(const bool more, fill());
    if (more) continue;
    if (buffer_.size() == at_) return false;
    line = std::string_view(buffer_).substr(at_);
    at_ = buffer_.size();
    break;
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

void count_line_issues(const ByteSource& source, const LineReader& lines, std::vector<DataQualityIssue>& quality) {
  if (lines.cut_lines() > 0) {
    count_issue(quality, "long_line", "lines above 16 MB: each was read as several", {}, lines.cut_lines());
  }
  if (!source.damage().empty()) count_issue(quality, source.damage_id(), source.damage());
}

std::vector<std::string> csv_fields(std::string_view record) {
  std::vector<std::string> fields;
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < record.size() && fields.size() < kMostFields; ++i) {
    const char c = record[i];
    if (quoted && c == '"' && i + 1 < record.size() && record[i + 1] == '"') {
      field += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.push_back(std::move(field));
      field.clear();
    } else {
      field += c;
    }
  }
  if (fields.size() < kMostFields) fields.push_back(std::move(field));
  return fields;
}

bool has_open_quote(std::string_view line) { return std::count(line.begin(), line.end(), '"') % 2 != 0; }

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t\r";
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos && words.size() < kMostWords;
       at = line.find_first_not_of(kBlanks, at)) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// Open addressing with linear probing. The hash multiplies 16 bytes at a time and folds the 128-bit product, the step
// that Wang Yi's wyhash is built from (github.com/wangyi-fudan/wyhash, public domain description).

TextTable::TextTable() : slots_(kFirstSlots) { memory_ = slots_.size() * sizeof(Slot); }

std::uint32_t TextTable::intern(std::string_view text) {
  const std::uint64_t hash = hash_of(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = static_cast<std::size_t>(hash) & mask;
  for (; slots_[at].id != 0; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && texts_[slots_[at].id - 1] == text) return slots_[at].id - 1;
  }
  texts_.push_back(keep(text));
  slots_[at] = {hash, static_cast<std::uint32_t>(texts_.size())};
  const auto id = static_cast<std::uint32_t>(texts_.size() - 1);
  if (texts_.size() * 2 > slots_.size()) grow();
  return id;
}

void TextTable::drain(std::vector<std::string_view>& into) {
  into.insert(into.end(), texts_.begin() + static_cast<std::ptrdiff_t>(drained_), texts_.end());
  drained_ = texts_.size();
}

std::vector<std::shared_ptr<char[]>> TextTable::clear() {
  auto chunks = std::move(chunks_);
  *this = TextTable();
  return chunks;
}

std::string_view TextTable::keep(std::string_view text) {
  if (text.size() > chunk_left_) {
    chunk_left_ = std::max(kChunkBytes, text.size());
    chunks_.emplace_back(std::make_unique<char[]>(chunk_left_));  // GCC 11 makes no shared array in one piece
    chunk_at_ = chunks_.back().get();
    memory_ += chunk_left_;
  }
  std::copy_n(text.data(), text.size(), chunk_at_);
  const std::string_view kept(chunk_at_, text.size());
  chunk_at_ += text.size();
  chunk_left_ -= text.size();
  return kept;
}

void TextTable::grow() {
  std::vector<Slot> larger(slots_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.id == 0) continue;
    std::size_t at = static_cast<std::size_t>(slot.hash) & mask;
    while (larger[at].id != 0) at = (at + 1) & mask;
    larger[at] = slot;
  }
  memory_ += (larger.size() - slots_.size()) * sizeof(Slot);
  slots_ = std::move(larger);
}

}  // namespace warpmark::profile
