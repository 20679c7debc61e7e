#include "serving/client/kept_records.h"

#include <iterator>
#include <utility>

#include "stats/random.h"

namespace warpmark::serving {
bool KeptRecords::keeps(std::size_t number) const {
  return (stats::random_bits(number, 0) & (static_cast<std::uint64_t>(one_in_) - 1)) == 0;
}

void KeptRecords::drop_gaps(RequestRecord& record) {
  gaps_ -= static_cast<std::int64_t>(record.gaps_s.size());
  std::vector<float>().swap(record.gaps_s);
  std::vector<std::uint16_t>().swap(record.gap_tokens);
}

void KeptRecords::add(RequestRecord record) {
  if (count_ % kChunk == 0) {
    chunks_.emplace_back();
    chunks_.back().reserve(kChunk);
  }
  gaps_ += static_cast<std::int64_t>(record.gaps_s.size());
  chunks_.back().push_back(std::move(record));
  if (!keeps(count_)) drop_gaps(at(count_));
  ++count_;
  if (most_gaps_ > 0 && gaps_ > most_gaps_ && thinned_ == thin_until_) {
    one_in_ *= 2;
    thinned_ = 0;
    thin_until_ = count_;
  }
  // Some for each new one: to look through all at once would take milliseconds.
  for (int i = 0; i < 8 && thinned_ < thin_until_; ++i, ++thinned_) {
    if (!keeps(thinned_)) drop_gaps(at(thinned_));
  }
}

std::vector<RequestRecord> KeptRecords::take() {
  for (; thinned_ < thin_until_; ++thinned_) {
    if (!keeps(thinned_)) drop_gaps(at(thinned_));
  }
  std::vector<RequestRecord> all;
  all.reserve(count_);
  for (auto& chunk : chunks_) {
    all.insert(all.end(), std::make_move_iterator(chunk.begin()), std::make_move_iterator(chunk.end()));
    std::vector<RequestRecord>().swap(chunk);
  }
  chunks_.clear();
  gaps_ = 0;
  count_ = thinned_ = thin_until_ = 0;
  return all;
}

}  // namespace warpmark::serving
