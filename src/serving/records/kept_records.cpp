#include "serving/records/kept_records.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/untrusted/input.h"
#include "stats/random.h"

namespace warpmark::serving {

KeptRecords::KeptRecords(RecordSpool& spool, std::int64_t most_gaps, std::string secret)
    : writer_(spool), secret_(std::move(secret)), most_gaps_(most_gaps) {}

void KeptRecords::add(RequestRecord record) {
  record.message = hide_secret(std::move(record.message), secret_);
  const int largest = std::min(std::countr_zero(stats::random_bits(count_++, 0)), kSamples - 1);
  record.sample = static_cast<std::uint8_t>(largest);
  if (largest < sample_) {
    record.gaps_s.clear();
    record.gap_tokens.clear();
  } else {
    const auto gaps = static_cast<std::int64_t>(record.gaps_s.size());
    gaps_[static_cast<std::size_t>(largest)] += gaps;
    in_sample_ += gaps;
  }
  writer_.add(record);
  if (most_gaps_ > 0 && in_sample_ > most_gaps_ && sample_ < kSamples - 1) {
    in_sample_ -= gaps_[static_cast<std::size_t>(sample_++)];
  }
}

}  // namespace warpmark::serving
