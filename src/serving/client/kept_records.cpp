#include "serving/client/kept_records.h"

#include <iterator>
#include <utility>

namespace warpmark::serving {
namespace {

/// Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators (OOPSLA 2014): its mixing of 64 bits.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

}  // namespace

bool KeptRecords::keeps(std::size_t number) const {
  return (mixed(number) & (static_cast<std::uint64_t>(one_in_) - 1)) == 0;
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
