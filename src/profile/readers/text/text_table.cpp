// Open addressing with linear probing. The hash multiplies 16 bytes at a time and folds the 128-bit product, the step
// that Wang Yi's wyhash is built from (github.com/wangyi-fudan/wyhash, public domain description).
#include "profile/readers/text/text_table.h"

#include <algorithm>
#include <cstring>

namespace warpmark::profile {
namespace {

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
