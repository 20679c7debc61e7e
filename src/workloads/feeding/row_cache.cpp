#include "workloads/feeding/row_cache.h"

#include <algorithm>
#include <numeric>

#include "base/result.h"
#include "stats/random.h"

namespace warpmark::workloads {
namespace {

/// Scores only halve, and below this a row counts as forgotten: a single lookup ten choices ago.
constexpr float kForgotten = 1.0F / 1024;

}  // namespace

RowCache::RowCache(std::size_t rows, std::size_t capacity)
    : scores_(rows, 0.0F), slots_(rows, kAbsent), held_(std::min(rows, capacity), kAbsent) {
  WM_CHECK(rows < (std::size_t{1} << 31));
}

std::vector<RowEntry> RowCache::choose(std::span<const std::uint32_t> counted) {
  WM_CHECK(counted.size() == scores_.size());
  for (std::size_t row = 0; row < scores_.size(); ++row) {
    scores_[row] = scores_[row] / 2 + static_cast<float>(counted[row]);
  }
  if (held_.size() == scores_.size()) {
    std::vector<std::int32_t> all(scores_.size());
    std::iota(all.begin(), all.end(), 0);
    return replace(all);
  }
  return replace(most_frequent());
}

std::vector<RowEntry> RowCache::contents() const {
  std::vector<RowEntry> entries;
  for (std::size_t slot = 0; slot < held_.size(); ++slot) {
    if (held_[slot] != kAbsent) entries.push_back({held_[slot], static_cast<std::int32_t>(slot), kAbsent});
  }
  return entries;
}

/// Ties are broken by a hash of the row's number: the numbers themselves follow popularity in made-up inputs, and an
/// order by them would know what no cache can.
std::vector<std::int32_t> RowCache::most_frequent() const {
  std::vector<std::int32_t> asked;
  for (std::size_t row = 0; row < scores_.size(); ++row) {
    if (scores_[row] > kForgotten) asked.push_back(static_cast<std::int32_t>(row));
  }
  if (asked.size() <= held_.size()) return asked;
  const auto before = [this](std::int32_t a, std::int32_t b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    if (scores_[i] != scores_[j]) return scores_[i] > scores_[j];
    if ((slots_[i] == kAbsent) != (slots_[j] == kAbsent)) return slots_[i] != kAbsent;
    return stats::random_bits(0, i) < stats::random_bits(0, j);
  };
  std::nth_element(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(held_.size()), asked.end(), before);
  asked.resize(held_.size());
  return asked;
}

/// Rows that are chosen and not there take the free slots first, then those of rows that are no longer chosen.
std::vector<RowEntry> RowCache::replace(std::span<const std::int32_t> chosen) {
  std::vector<bool> stays(held_.size(), false);
  std::vector<std::int32_t> coming;
  for (const std::int32_t row : chosen) {
    const std::int32_t slot = slots_[static_cast<std::size_t>(row)];
    if (slot == kAbsent) {
      coming.push_back(row);
    } else {
      stays[static_cast<std::size_t>(slot)] = true;
    }
  }
  std::vector<RowEntry> entries;
  entries.reserve(coming.size());
  const auto fill = [&](bool free_ones) {
    for (std::size_t slot = 0; slot < held_.size() && entries.size() < coming.size(); ++slot) {
      if (stays[slot] || (held_[slot] == kAbsent) != free_ones) continue;
      entries.push_back({coming[entries.size()], static_cast<std::int32_t>(slot), held_[slot]});
      stays[slot] = true;
    }
  };
  fill(true);
  fill(false);
  for (const RowEntry& entry : entries) {
    const auto slot = static_cast<std::size_t>(entry.slot);
    if (entry.driven_out != kAbsent) slots_[static_cast<std::size_t>(entry.driven_out)] = kAbsent;
    slots_[static_cast<std::size_t>(entry.row)] = entry.slot;
    held_[slot] = entry.row;
  }
  return entries;
}

}  // namespace warpmark::workloads
