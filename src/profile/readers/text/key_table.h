// A constant table of words that is searched by length and first letters: faster than hashing for a few dozen.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace warpmark::profile {

template <typename Value>
struct KeyEntry {
  std::string_view key;
  Value value{};
};

template <typename Value, std::size_t N>
class KeyTable {
 public:
  constexpr explicit KeyTable(const std::array<KeyEntry<Value>, N>& entries) : entries_(entries) {
    std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.key.size() != b.key.size() ? a.key.size() < b.key.size() : a.key < b.key;
    });
    for (std::size_t length = 0; length < first_.size(); ++length) {
      std::size_t i = 0;
      while (i < N && entries_[i].key.size() < length) ++i;
      first_[length] = static_cast<std::uint8_t>(i);
    }
  }

  /// Value{} if the word is not in the table.
  [[nodiscard]] Value find(std::string_view key) const {
    if (key.size() + 1 >= first_.size()) return Value{};
    for (std::size_t i = first_[key.size()]; i < first_[key.size() + 1]; ++i) {
      if (equal(entries_[i].key.data(), key.data(), key.size())) return entries_[i].value;
    }
    return Value{};
  }

 private:
  /// memcmp in place: the words are short, and most differ in their first letters.
  static bool equal(const char* a, const char* b, std::size_t size) {
    if (size >= 8) {
      return same<std::uint64_t>(a, b) && same<std::uint64_t>(a + size - 8, b + size - 8) &&
             (size <= 16 || std::memcmp(a, b, size) == 0);
    }
    if (size >= 4) return same<std::uint32_t>(a, b) && same<std::uint32_t>(a + size - 4, b + size - 4);
    if (size >= 2) return same<std::uint16_t>(a, b) && same<std::uint16_t>(a + size - 2, b + size - 2);
    return size == 0 || *a == *b;
  }
  template <typename Word>
  static bool same(const char* a, const char* b) {
    Word left = 0, right = 0;
    std::memcpy(&left, a, sizeof(Word));
    std::memcpy(&right, b, sizeof(Word));
    return left == right;
  }

  std::array<KeyEntry<Value>, N> entries_;
  std::array<std::uint8_t, 48> first_{};  ///< index of the first entry of each length
};

}  // namespace warpmark::profile
