// Counting n-grams without a table of texts: words become numbers, an n-gram of up to four words or six characters a
// key of 128 bits, and one sort of the longest keys of a sentence puts the shorter ones, their beginnings, in order as
// well.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace warpmark::accuracy {

/// Numbers for words, from 1. One thread.
class Vocabulary {
 public:
  [[nodiscard]] std::uint32_t number_of(std::string_view word);
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
};

/// A key: the first item in the highest bits, items that would stand beyond the end of the sentence are 0.
struct NgramKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const NgramKey&, const NgramKey&) = default;
  friend bool operator<(const NgramKey& a, const NgramKey& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  }
};

/// How many bits an item takes, and how many items a key holds: words 32 and 4, characters 21 and 6.
struct KeyShape {
  unsigned bits = 32;
  unsigned items = 4;
};
inline constexpr KeyShape kWordKeys{32, 4};
inline constexpr KeyShape kCharacterKeys{21, 6};

/// The n-grams of one sequence of items, which are above 0.
class Ngrams {
 public:
  Ngrams() = default;
  Ngrams(std::span<const std::uint32_t> items, KeyShape shape);

  [[nodiscard]] std::int64_t length() const { return length_; }
  /// Number of n-grams of this order.
  [[nodiscard]] std::int64_t total(unsigned order) const { return length_ >= order ? length_ - order + 1 : 0; }

  /// Of this order, how many n-grams of ours are matched: each as often as it stands in the reference that has it most.
  [[nodiscard]] std::int64_t matches(std::span<const Ngrams> references, unsigned order) const;

 private:
  KeyShape shape_;
  std::int64_t length_ = 0;
  std::vector<NgramKey> keys_;  ///< sorted, one for each position
};

}  // namespace warpmark::accuracy
