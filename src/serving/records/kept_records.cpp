#include "serving/records/kept_records.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "stats/random.h"

namespace warpmark::serving {
namespace {

void remove_from(std::string& text, const std::string& secret) {
  constexpr std::string_view kInstead = "***";
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + kInstead.size())) {
    text.replace(at, secret.size(), kInstead);
  }
}

}  // namespace

KeptRecords::KeptRecords(RecordSpool& spool, std::int64_t most_gaps, std::string secret)
    : writer_(spool), secret_(std::move(secret)), most_gaps_(most_gaps) {}

void KeptRecords::add(RequestRecord record) {
  if (!secret_.empty() && !record.message.empty()) remove_from(record.message, secret_);
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
