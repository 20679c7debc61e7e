#include "serving/files/outcome_file.h"

#include <cstdint>
#include <utility>

#include "base/json.h"
#include "base/untrusted/read_fields.h"
#include "serving/records/record_bytes.h"

namespace warpmark::serving {
namespace {

constexpr std::size_t kMostLine = 16 << 20;
constexpr std::size_t kPieceBytes = 256 << 10;

Json histogram_json(const Histogram& histogram) {
  Json json{{"most", histogram.most_ns()}, {"counts", Json::array()}};
  for (std::size_t i = 0; i < Histogram::kBuckets; ++i) {
    if (histogram.counts()[i] > 0) json["counts"].push_back({i, histogram.counts()[i]});
  }
  return json;
}

/// 0 is "did not happen" and stays so; the start itself is 1 ns after 0.
std::int64_t after(std::int64_t ns, std::int64_t began_ns) { return ns == 0 ? 0 : ns - began_ns + 1; }

Status fill_histogram(const Json& json, Histogram& histogram) {
  for (const auto& entry : json.at("counts")) {
    const auto bucket = entry.at(0).get<std::size_t>();
    if (bucket >= Histogram::kBuckets) return data_error("a histogram of an outcome has a bucket that does not exist");
    histogram.add_bucket(bucket, entry.at(1).get<std::uint64_t>());
  }
  histogram.set_most(json.at("most").get<std::int64_t>());
  return {};
}

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

Status take_head(const Json& json, LoadOutcome& outcome) {
  outcome.began_ns = 1;
  outcome.stopped_ns = json.at("stopped").get<std::int64_t>();
  outcome.ended_ns = json.at("ended").get<std::int64_t>();
  outcome.never_sent = json.at("never_sent").get<std::int64_t>();
  outcome.gaps_of_one_in = json.at("gaps_of_one_in").get<std::int64_t>();
  outcome.interrupted = json.at("interrupted").get<bool>();
  outcome.everything_sent = json.at("everything_sent").get<bool>();
  outcome.too_many_errors = json.at("too_many_errors").get<bool>();
  outcome.stopped_because = json.at("stopped_because").get<std::string>();
  outcome.problem = json.at("problem").get<std::string>();
  outcome.shares.push_back({json.at("host").get<std::string>(), json.at("requests").get<std::int64_t>()});
  outcome.kernel_times = json.at("kernel_times").get<bool>();
  outcome.busy_share = json.at("busy_share").get<double>();
  outcome.cpu_s = json.at("cpu_s").get<double>();
  WM_TRY(fill_histogram(json.at("send_lag"), outcome.send_lag));
  WM_TRY(fill_histogram(json.at("receive_lag"), outcome.receive_lag));
  return fill_histogram(json.at("server_delay"), outcome.server_delay);
}

std::string head_line(const LoadOutcome& outcome, const std::string& host) {
  const Json head{{"stopped", after(outcome.stopped_ns, outcome.began_ns)},
                  {"ended", after(outcome.ended_ns, outcome.began_ns)},
                  {"never_sent", outcome.never_sent},
                  {"gaps_of_one_in", outcome.gaps_of_one_in},
                  {"interrupted", outcome.interrupted},
                  {"everything_sent", outcome.everything_sent},
                  {"too_many_errors", outcome.too_many_errors},
                  {"stopped_because", outcome.stopped_because},
                  {"problem", outcome.problem},
                  {"host", host},
                  {"kernel_times", outcome.kernel_times},
                  {"busy_share", outcome.busy_share},
                  {"cpu_s", outcome.cpu_s},
                  {"send_lag", histogram_json(outcome.send_lag)},
                  {"receive_lag", histogram_json(outcome.receive_lag)},
                  {"server_delay", histogram_json(outcome.server_delay)},
                  {"requests", outcome.records.size()}};
  return dump_json(head, -1) + "\n";
}

}  // namespace

Status send_outcome(const LoadOutcome& outcome, const std::string& host,
                    const std::function<Status(std::string_view)>& send) {
  WM_TRY(send(head_line(outcome, host)));
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
  WM_TRY(read_fields("a client's outcome", [&]() -> Status {
    wanted_ = json.at("requests").get<std::size_t>();
    return take_head(json, outcome);
  }));
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
