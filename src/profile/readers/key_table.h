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
      if (entries_[i].key[0] == key[0] && std::memcmp(entries_[i].key.data(), key.data(), key.size()) == 0) {
        return entries_[i].value;
      }
    }
    return Value{};
  }

 private:
  std::array<KeyEntry<Value>, N> entries_;
  std::array<std::uint8_t, 48> first_{};  ///< index of the first entry of each length
};

}  // namespace warpmark::profile
