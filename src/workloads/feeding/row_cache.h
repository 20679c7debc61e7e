// Which rows of tables are kept where reading is fast: those asked for most often, by what was counted. Counts age by
// half at each choice, so that what was popular long ago makes room (the periodic reset of TinyLFU: Einziger, Friedman,
// Manes, ACM Transactions on Storage 13(4), 2017). Chosen now and then and not row by row, as FBGEMM's and HugeCTR's
// caches of embeddings can be: between two choices nothing moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace warpmark::workloads {

inline constexpr std::int32_t kAbsent = -1;

/// A row that comes in, the slot that takes it, and the row that it drives out (kAbsent: the slot was free).
struct RowEntry {
  std::int32_t row = kAbsent;
  std::int32_t slot = kAbsent;
  std::int32_t driven_out = kAbsent;
  friend bool operator==(const RowEntry&, const RowEntry&) = default;
};

class RowCache {
 public:
  /// `capacity` slots for `rows` rows, all free. With as many slots as rows the first choice takes every row; else only
  /// rows that were asked for come in.
  RowCache(std::size_t rows, std::size_t capacity);

  /// Chooses anew: `counted` says of each row how often it was asked for since the last choice. Of rows that were asked
  /// for equally often those stay that are there, then chance decides. Returns what changes.
  [[nodiscard]] std::vector<RowEntry> choose(std::span<const std::uint32_t> counted);

  /// The slot of each row, or kAbsent.
  [[nodiscard]] std::span<const std::int32_t> slots() const { return slots_; }
  [[nodiscard]] std::size_t capacity() const { return held_.size(); }
  /// Every row that is there, as if it came into an empty cache.
  [[nodiscard]] std::vector<RowEntry> contents() const;

 private:
  [[nodiscard]] std::vector<std::int32_t> most_frequent() const;
  [[nodiscard]] std::vector<RowEntry> replace(std::span<const std::int32_t> chosen);

  std::vector<float> scores_;
  std::vector<std::int32_t> slots_;  ///< of each row
  std::vector<std::int32_t> held_;   ///< row of each slot
};

}  // namespace warpmark::workloads
