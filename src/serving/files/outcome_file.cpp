#include "serving/files/outcome_file.h"

#include <cstdint>
#include <utility>

#include "base/json.h"
#include "base/untrusted/read_fields.h"
#include "model/fields/fields.h"
#include "serving/records/record_bytes.h"

namespace warpmark::serving {
namespace {

constexpr std::size_t kMostLine = 16 << 20;
constexpr std::size_t kPieceBytes = 256 << 10;

/// Its largest value, and [bucket, count] of those that are not empty.
constexpr Form kHistogram{[](const void* value) -> Json {
                            const auto& histogram = *static_cast<const Histogram*>(value);
                            Json json{{"most", histogram.most_ns()}, {"counts", Json::array()}};
                            for (std::size_t i = 0; i < Histogram::kBuckets; ++i) {
                              if (histogram.counts()[i] > 0) json["counts"].push_back({i, histogram.counts()[i]});
                            }
                            return json;
                          },
                          [](const Json& json, void* value) -> const char* {
                            auto& histogram = *static_cast<Histogram*>(value);
                            for (const auto& entry : json.at("counts")) {
                              const auto bucket = entry.at(0).get<std::size_t>();
                              if (bucket >= Histogram::kBuckets) return "a histogram without buckets that do not exist";
                              histogram.add_bucket(bucket, entry.at(1).get<std::uint64_t>());
                            }
                            histogram.set_most(json.at("most").get<std::int64_t>());
                            return nullptr;
                          },
                          nullptr};

/// 0 is "did not happen" and stays so; the start itself is 1 ns after 0.
std::int64_t after(std::int64_t ns, std::int64_t began_ns) { return ns == 0 ? 0 : ns - began_ns + 1; }

constexpr Field kHeadFields[] = {
    field<&LoadOutcome::stopped_ns>("stopped").written_as(
        [](const LoadOutcome& outcome) { return after(outcome.stopped_ns, outcome.began_ns); }),
    field<&LoadOutcome::ended_ns>("ended").written_as(
        [](const LoadOutcome& outcome) { return after(outcome.ended_ns, outcome.began_ns); }),
    field<&LoadOutcome::never_sent>("never_sent"),
    field<&LoadOutcome::gaps_of_one_in>("gaps_of_one_in"),
    field<&LoadOutcome::interrupted>("interrupted"),
    field<&LoadOutcome::everything_sent>("everything_sent"),
    field<&LoadOutcome::too_many_errors>("too_many_errors"),
    field<&LoadOutcome::stopped_because>("stopped_because"),
    field<&LoadOutcome::problem>("problem"),
    field<&LoadOutcome::kernel_times>("kernel_times"),
    field<&LoadOutcome::busy_share>("busy_share"),
    field<&LoadOutcome::cpu_s>("cpu_s"),
    field<&LoadOutcome::send_lag>("send_lag").formed(kHistogram),
    field<&LoadOutcome::receive_lag>("receive_lag").formed(kHistogram),
    field<&LoadOutcome::server_delay>("server_delay").formed(kHistogram),
};
constexpr RecordOf<LoadOutcome> kHead{"outcome", "", kHeadFields};

constexpr Field kShareFields[] = {field<&ClientShare::host>("host"), field<&ClientShare::requests>("requests")};
constexpr RecordOf<ClientShare> kShareOfClient{"share", "", kShareFields};

/// Whether a block holds as many records as it says, and nothing else.
bool is_whole(std::string_view records, std::uint32_t count) {
  RequestRecord record;
  for (; count > 0; --count) {
    const std::size_t length = read_record(records, record);
    if (length == 0) return false;
    records.remove_prefix(length);
  }
  return records.empty();
}

}  // namespace

Status send_outcome(const LoadOutcome& outcome, const std::string& host,
                    const std::function<Status(std::string_view)>& send) {
  Json head = write(kHead, outcome);
  head.update(write(kShareOfClient, {host, static_cast<std::int64_t>(outcome.records.size())}));
  WM_TRY(send(dump_json(head, -1) + "\n"));
  RecordBlock block;
  for (RequestRecord record : outcome.records) {
    count_from(outcome.began_ns, record);
    block.add(record);
    if (block.size() >= kPieceBytes) WM_TRY(send(block.take()));
  }
  if (!block.empty()) WM_TRY(send(block.take()));
  return outcome.records.status();
}

Status OutcomeReader::take(std::string_view bytes) {
  if (!outcome_) WM_TRY(take_line(bytes));
  if (!outcome_) return {};
  waiting_.append(bytes);
  return take_blocks();
}

Status OutcomeReader::take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  waiting_.append(bytes.substr(0, end));
  bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  if (waiting_.size() > kMostLine) return data_error("a client's outcome begins with no line");
  if (end == std::string_view::npos) return {};
  WM_ASSIGN(const Json json, parse_json(waiting_, "a client's outcome"));
  waiting_.clear();
  LoadOutcome outcome;
  outcome.began_ns = 1;
  WM_TRY(read_fields("a client's outcome", [&]() -> Status {
    const Status head = read_record(kHead, json, &outcome);
    return head.ok() ? read_record(kShareOfClient, json, &outcome.shares.emplace_back()) : head;
  }));
  wanted_ = static_cast<std::size_t>(outcome.shares.front().requests);
  outcome_ = std::move(outcome);
  return {};
}

Status OutcomeReader::take_blocks() {
  std::size_t begin = 0;
  while (waiting_.size() - begin >= kBlockHeadBytes) {
    const auto head = read_block_head(std::string_view(waiting_).substr(begin));
    if (!head) return data_error("a client's outcome is damaged: no block of requests");
    const std::size_t length = kBlockHeadBytes + head->bytes;
    if (waiting_.size() - begin < length) break;
    std::string block = waiting_.substr(begin, length);
    if (!is_whole(std::string_view(block).substr(kBlockHeadBytes), head->records)) {
      return data_error("a client's outcome is damaged: a request cannot be read");
    }
    taken_ += head->records;
    keep_(std::move(block));
    begin += length;
  }
  waiting_.erase(0, begin);
  return {};
}

Result<LoadOutcome> OutcomeReader::finish() {
  if (!outcome_ || !waiting_.empty() || taken_ != wanted_) return data_error("a client's outcome is cut off");
  return std::move(*outcome_);
}

}  // namespace warpmark::serving
