#include "serving/records/record_bytes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace warpmark::serving {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kMark = 0x314b4c42;  // "BLK1"

using Count = std::int64_t RequestRecord::*;
// In the order in which they stand; the time at which it was due is the first, where read_due() looks for it.
constexpr Count kTimes[] = {
    &RequestRecord::intended_ns,   &RequestRecord::begun_ns,       &RequestRecord::sent_ns,
    &RequestRecord::first_byte_ns, &RequestRecord::first_token_ns, &RequestRecord::first_visible_ns,
    &RequestRecord::last_token_ns, &RequestRecord::ended_ns,       &RequestRecord::server_first_token_ns};
constexpr Count kCounts[] = {
    &RequestRecord::connect_ns,    &RequestRecord::longest_gap_ns,   &RequestRecord::prompt_tokens,
    &RequestRecord::output_tokens, &RequestRecord::reasoning_tokens, &RequestRecord::cached_tokens,
    &RequestRecord::own_tokens,    &RequestRecord::events,           &RequestRecord::bytes,
    &RequestRecord::retry_after_s};
constexpr bool RequestRecord::*kFlags[] = {&RequestRecord::retried, &RequestRecord::without_done,
                                           &RequestRecord::cut_off, &RequestRecord::counted_here,
                                           &RequestRecord::prompt_counted_here};
constexpr unsigned kHasWords = 1U << 6, kHasToolCalls = 1U << 7;  // beside the flags

/// The fields that each record has.
struct Fixed {
  std::uint32_t length = 0;  ///< of the whole record
  std::uint32_t prepared = 0;
  std::int64_t times[std::size(kTimes)] = {};
  std::int64_t counts[std::size(kCounts)] = {};
  std::int32_t turn = 0, user = 0;
  std::uint32_t gaps = 0, gap_tokens = 0, message = 0, visible = 0, reasoning = 0;
  std::int16_t status = 0;
  std::uint8_t fault = 0, flags = 0, sample = 0;
  std::uint8_t unused[7] = {};
};
static_assert(std::has_unique_object_representations_v<Fixed>, "no byte of it is left to chance");

template <typename Value>
void append(const std::vector<Value>& values, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
}

/// Takes what is behind the fixed fields, whose length was checked.
struct Tail {
  std::string_view bytes;
  template <typename Value>
  void take(std::size_t count, std::vector<Value>& values) {
    values.resize(count);
    if (count > 0) std::memcpy(values.data(), bytes.data(), count * sizeof(Value));
    bytes.remove_prefix(count * sizeof(Value));
  }
  std::string_view take(std::size_t length) {
    const std::string_view text = bytes.substr(0, length);
    bytes.remove_prefix(length);
    return text;
  }
};

std::uint64_t tail_length(const Fixed& fixed) {
  return std::uint64_t{fixed.gaps} * sizeof(float) + std::uint64_t{fixed.gap_tokens} * sizeof(std::uint16_t) +
         std::uint64_t{fixed.message} + fixed.visible + fixed.reasoning;
}

Fixed fixed_of(const RequestRecord& record) {
  Fixed fixed{.prepared = record.prepared, .turn = record.turn, .user = record.user, .status = record.status};
  for (std::size_t i = 0; i < std::size(kTimes); ++i) fixed.times[i] = record.*kTimes[i];
  for (std::size_t i = 0; i < std::size(kCounts); ++i) fixed.counts[i] = record.*kCounts[i];
  fixed.fault = static_cast<std::uint8_t>(record.fault);
  fixed.sample = record.sample;
  unsigned flags = 0;
  for (std::size_t i = 0; i < std::size(kFlags); ++i) flags |= record.*kFlags[i] ? 1U << i : 0U;
  fixed.gaps = static_cast<std::uint32_t>(record.gaps_s.size());
  fixed.gap_tokens = static_cast<std::uint32_t>(record.gap_tokens.size());
  fixed.message = static_cast<std::uint32_t>(record.message.size());
  if (record.said != nullptr) {
    flags |= kHasWords | (record.said->tool_calls ? kHasToolCalls : 0U);
    fixed.visible = static_cast<std::uint32_t>(record.said->visible.size());
    fixed.reasoning = static_cast<std::uint32_t>(record.said->reasoning.size());
  }
  fixed.flags = static_cast<std::uint8_t>(flags);
  fixed.length = static_cast<std::uint32_t>(sizeof(Fixed) + tail_length(fixed));
  return fixed;
}

bool read_fixed(std::string_view bytes, Fixed& fixed) {
  if (bytes.size() < sizeof fixed) return false;
  std::memcpy(&fixed, bytes.data(), sizeof fixed);
  const bool reported_each = fixed.gap_tokens == 0 || fixed.gap_tokens == fixed.gaps;
  return fixed.length <= bytes.size() && fixed.length == sizeof fixed + tail_length(fixed) && reported_each &&
         fixed.fault < kFaults;
}

}  // namespace

void append_record(const RequestRecord& record, std::string& bytes) {
  const Fixed fixed = fixed_of(record);
  bytes.append(reinterpret_cast<const char*>(&fixed), sizeof fixed);
  append(record.gaps_s, bytes);
  append(record.gap_tokens, bytes);
  bytes.append(record.message);
  if (record.said == nullptr) return;
  bytes.append(record.said->visible).append(record.said->reasoning);
}

void RecordBlock::add(const RequestRecord& record) {
  if (records_ == 0) {
    bytes_.reserve(kUsualBlockBytes + kUsualBlockBytes / 8);
    bytes_.assign(kBlockHeadBytes, '\0');
  }
  append_record(record, bytes_);
  ++records_;
}

std::string RecordBlock::take() {
  const std::array<std::uint32_t, 3> head{kMark, static_cast<std::uint32_t>(bytes_.size() - kBlockHeadBytes), records_};
  static_assert(sizeof head == kBlockHeadBytes);
  std::memcpy(bytes_.data(), head.data(), sizeof head);
  records_ = 0;
  return std::exchange(bytes_, {});
}

std::optional<BlockHead> read_block_head(std::string_view bytes) {
  std::array<std::uint32_t, 3> head{};
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(head.data(), bytes.data(), sizeof head);
  if (head[0] != kMark || head[1] > kMostBlockBytes) return std::nullopt;
  return BlockHead{.bytes = head[1], .records = head[2]};
}

std::size_t read_record(std::string_view bytes, RequestRecord& record) {
  Fixed fixed;
  if (!read_fixed(bytes, fixed)) return 0;
  record.prepared = fixed.prepared;
  record.turn = fixed.turn;
  record.user = fixed.user;
  for (std::size_t i = 0; i < std::size(kTimes); ++i) record.*kTimes[i] = fixed.times[i];
  for (std::size_t i = 0; i < std::size(kCounts); ++i) record.*kCounts[i] = fixed.counts[i];
  record.fault = static_cast<Fault>(fixed.fault);
  record.status = fixed.status;
  record.sample = fixed.sample;
  for (std::size_t i = 0; i < std::size(kFlags); ++i) record.*kFlags[i] = (fixed.flags >> i & 1U) != 0;
  Tail tail{bytes.substr(sizeof fixed, fixed.length - sizeof fixed)};
  tail.take(fixed.gaps, record.gaps_s);
  tail.take(fixed.gap_tokens, record.gap_tokens);
  record.message.assign(tail.take(fixed.message));
  record.said.reset();
  if ((fixed.flags & kHasWords) != 0) {
    const std::string_view visible = tail.take(fixed.visible), reasoning = tail.take(fixed.reasoning);
    record.said = std::make_shared<AnswerText>(
        AnswerText{std::string(visible), std::string(reasoning), (fixed.flags & kHasToolCalls) != 0});
  }
  return fixed.length;
}

std::size_t read_due(std::string_view bytes, std::int64_t& intended_ns) {
  Fixed fixed;
  if (!read_fixed(bytes, fixed)) return 0;
  intended_ns = fixed.times[0];
  return fixed.length;
}

void count_from(std::int64_t began_ns, RequestRecord& record) {
  for (const auto time : kTimes) {
    if (record.*time != 0) record.*time += 1 - began_ns;
  }
}

}  // namespace warpmark::serving
