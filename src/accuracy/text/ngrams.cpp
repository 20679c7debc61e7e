#include "accuracy/text/ngrams.h"

#include <algorithm>

namespace warpmark::accuracy {
namespace {

/// The first `order` items of a key.
NgramKey mask_of(KeyShape shape, unsigned order) {
  const unsigned bits = shape.bits * order, unused = 128 - shape.bits * shape.items;
  // Keys are right-aligned: `unused` bits on the left are 0 in all of them.
  const unsigned cleared = 128 - unused - bits;
  NgramKey mask{~std::uint64_t{0}, ~std::uint64_t{0}};
  if (cleared >= 64) {
    mask.low = 0;
    mask.high = cleared == 128 ? 0 : mask.high << (cleared - 64);
  } else {
    mask.low <<= cleared;
  }
  return mask;
}

NgramKey operator&(const NgramKey& a, const NgramKey& b) { return {a.high & b.high, a.low & b.low}; }

/// Whether the key has an item at place `order`: the sentence did not end before.
bool has_item(const NgramKey& key, const NgramKey& longer, const NgramKey& shorter) {
  return !((key & longer) == (key & shorter));
}

}  // namespace

std::uint32_t Vocabulary::number_of(std::string_view word) {
  const auto found = numbers_.find(word);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(numbers_.size() + 1);
  numbers_.emplace(std::string(word), number);
  return number;
}

Ngrams::Ngrams(std::span<const std::uint32_t> items, KeyShape shape)
    : shape_(shape), length_(static_cast<std::int64_t>(items.size())) {
  keys_.reserve(items.size());
  __extension__ using Wide = unsigned __int128;
  const Wide mask = shape.bits * shape.items == 128 ? ~Wide{0} : (Wide{1} << (shape.bits * shape.items)) - 1;
  // From the end: the key of a place is the one after it, moved by an item, with its own in front.
  Wide key = 0;
  for (std::size_t i = items.size(); i-- > 0;) {
    key = ((key & mask) >> shape.bits) | (Wide{items[i]} << (shape.bits * (shape.items - 1)));
    keys_.push_back({static_cast<std::uint64_t>(key >> 64), static_cast<std::uint64_t>(key)});
  }
  std::sort(keys_.begin(), keys_.end());
}

std::int64_t Ngrams::matches(std::span<const Ngrams> references, unsigned order) const {
  const NgramKey mask = mask_of(shape_, order), shorter = order > 1 ? mask_of(shape_, order - 1) : NgramKey{};
  std::vector<std::size_t> cursors(references.size(), 0);
  std::int64_t matched = 0;
  for (std::size_t i = 0; i < keys_.size();) {
    const NgramKey key = keys_[i] & mask;
    std::int64_t count = 0;
    for (; i < keys_.size() && (keys_[i] & mask) == key; ++i) ++count;
    if (!has_item(key, mask, shorter)) continue;
    std::int64_t most = 0;
    for (std::size_t r = 0; r < references.size(); ++r) {
      const auto& theirs = references[r].keys_;
      std::size_t& at = cursors[r];
      while (at < theirs.size() && (theirs[at] & mask) < key) ++at;
      std::int64_t there = 0;
      for (; at < theirs.size() && (theirs[at] & mask) == key; ++at) ++there;
      most = std::max(most, there);
    }
    matched += std::min(count, most);
  }
  return matched;
}

}  // namespace warpmark::accuracy
