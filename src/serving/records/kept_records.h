// What a load keeps of its requests while it runs: each record, and of a long load the gaps between tokens of some
// requests only, since these are nearly all of the space and their percentiles need no more. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "serving/answers/record.h"
#include "serving/records/record_spool.h"

namespace warpmark::serving {

class KeptRecords {
 public:
  /// So many gaps are kept, and those before one in two is left out; 0 without limit. `secret` is removed from
  /// messages.
  KeptRecords(RecordSpool& spool, std::int64_t most_gaps, std::string secret);

  void add(RequestRecord record);
  /// Hands over what there is. No more comes.
  void end() { writer_.flush(); }
  /// Gaps are there of one in so many requests, a power of two; of others, which came earlier, to be passed over
  /// (RecordSpool::finish). Which ones is drawn by their number, whatever they were: a data set that comes around again
  /// does not beat with it.
  [[nodiscard]] std::int64_t one_in() const { return std::int64_t{1} << sample_; }

 private:
  static constexpr int kSamples = 40;

  RecordWriter writer_;
  std::string secret_;
  std::int64_t most_gaps_ = 0;
  int sample_ = 0;                             ///< gaps are kept of one in 2^sample_ requests
  std::array<std::int64_t, kSamples> gaps_{};  ///< by the largest sample that their request is in
  std::int64_t in_sample_ = 0;                 ///< sum of those from sample_ on
  std::uint64_t count_ = 0;
};

}  // namespace warpmark::serving
