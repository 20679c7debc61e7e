// What a load keeps of its requests while it runs: each record, and of a long load the gaps between tokens of some
// requests only, since these are nearly all of the memory and their percentiles need no more. Memory grows in even
// steps: nothing is copied as it grows, which would delay what is sent. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "serving/answers/record.h"

namespace warpmark::serving {

class KeptRecords {
 public:
  /// So many gaps are kept, some more for a moment; 0 without limit.
  explicit KeptRecords(std::int64_t most_gaps) : most_gaps_(most_gaps) {}

  void add(RequestRecord record);
  /// Gaps are there of one in so many requests, a power of two. Which ones is drawn by their number, whatever they
  /// were: a data set that comes around again does not beat with it.
  [[nodiscard]] std::int64_t one_in() const { return one_in_; }
  /// In the order of adding; nothing is kept any more.
  [[nodiscard]] std::vector<RequestRecord> take();

 private:
  static constexpr std::size_t kChunk = 1024;

  [[nodiscard]] bool keeps(std::size_t number) const;
  [[nodiscard]] RequestRecord& at(std::size_t number) { return chunks_[number / kChunk][number % kChunk]; }
  void drop_gaps(RequestRecord& record);

  std::vector<std::vector<RequestRecord>> chunks_;
  std::int64_t most_gaps_ = 0;
  std::int64_t one_in_ = 1;
  std::int64_t gaps_ = 0;
  std::size_t count_ = 0;
  std::size_t thinned_ = 0, thin_until_ = 0;  ///< earlier ones that are still to be looked through
};

}  // namespace warpmark::serving
