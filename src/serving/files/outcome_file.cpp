#include "serving/files/outcome_file.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace warpmark::serving {
namespace {

using Count = std::int64_t RequestRecord::*;
// In the order in which they stand in a line.
constexpr Count kTimes[] = {
    &RequestRecord::intended_ns,   &RequestRecord::begun_ns,       &RequestRecord::sent_ns,
    &RequestRecord::first_byte_ns, &RequestRecord::first_token_ns, &RequestRecord::first_visible_ns,
    &RequestRecord::last_token_ns, &RequestRecord::ended_ns,       &RequestRecord::server_first_token_ns};
constexpr Count kCounts[] = {&RequestRecord::connect_ns,       &RequestRecord::longest_gap_ns,
                             &RequestRecord::prompt_tokens,    &RequestRecord::output_tokens,
                             &RequestRecord::reasoning_tokens, &RequestRecord::cached_tokens,
                             &RequestRecord::events,           &RequestRecord::bytes,
                             &RequestRecord::retry_after_s};
constexpr std::pair<const char*, bool RequestRecord::*> kFlags[] = {{"retried", &RequestRecord::retried},
                                                                    {"without_done", &RequestRecord::without_done},
                                                                    {"cut_off", &RequestRecord::cut_off}};

Json histogram_json(const Histogram& histogram) {
  Json json{{"most", histogram.most_ns()}, {"counts", Json::array()}};
  for (std::size_t i = 0; i < Histogram::kBuckets; ++i) {
    if (histogram.counts()[i] > 0) json["counts"].push_back({i, histogram.counts()[i]});
  }
  return json;
}

/// 0 is "did not happen" and stays so; the start itself is 1 ns after 0.
std::int64_t after(std::int64_t ns, std::int64_t began_ns) { return ns == 0 ? 0 : ns - began_ns + 1; }

Json record_json(const RequestRecord& record, std::int64_t began_ns) {
  Json times = Json::array(), counts = Json::array();
  for (const auto field : kTimes) times.push_back(after(record.*field, began_ns));
  for (const auto field : kCounts) counts.push_back(record.*field);
  Json json{{"p", record.prepared},
            {"turn", record.turn},
            {"user", record.user},
            {"t", times},
            {"c", counts},
            {"fault", static_cast<int>(record.fault)},
            {"status", record.status}};
  json["gaps"] = record.gaps_s;
  if (!record.gap_tokens.empty()) json["gap_tokens"] = record.gap_tokens;
  for (const auto& [name, flag] : kFlags) {
    if (record.*flag) json[name] = true;
  }
  if (record.said != nullptr) json["said"] = {record.said->visible, record.said->reasoning, record.said->tool_calls};
  if (!record.message.empty()) json["message"] = record.message;
  return json;
}

Status fill_histogram(const Json& json, Histogram& histogram) {
  for (const auto& entry : json.at("counts")) {
    const auto bucket = entry.at(0).get<std::size_t>();
    if (bucket >= Histogram::kBuckets) return data_error("a histogram of an outcome has a bucket that does not exist");
    histogram.add_bucket(bucket, entry.at(1).get<std::uint64_t>());
  }
  histogram.set_most(json.at("most").get<std::int64_t>());
  return {};
}

RequestRecord record_of(const Json& json) {
  RequestRecord record;
  for (std::size_t i = 0; i < std::size(kTimes); ++i) record.*kTimes[i] = json.at("t").at(i).get<std::int64_t>();
  for (std::size_t i = 0; i < std::size(kCounts); ++i) record.*kCounts[i] = json.at("c").at(i).get<std::int64_t>();
  record.prepared = json.at("p").get<std::uint32_t>();
  record.turn = json.at("turn").get<std::int32_t>();
  record.user = json.at("user").get<std::int32_t>();
  const int fault = json.at("fault").get<int>();
  record.fault = fault >= 0 && static_cast<std::size_t>(fault) < kFaults ? static_cast<Fault>(fault) : Fault::bad_http;
  record.status = json.at("status").get<std::int16_t>();
  record.gaps_s = json.at("gaps").get<std::vector<float>>();
  if (json.contains("gap_tokens")) record.gap_tokens = json["gap_tokens"].get<std::vector<std::uint16_t>>();
  for (const auto& [name, flag] : kFlags) record.*flag = json.contains(name);
  if (json.contains("said")) {
    const Json& said = json["said"];
    record.said = std::make_shared<AnswerText>(
        AnswerText{said.at(0).get<std::string>(), said.at(1).get<std::string>(), said.at(2).get<bool>()});
  }
  record.message = json.value("message", "");
  return record;
}

Status take_head(const Json& json, LoadOutcome& outcome) {
  outcome.began_ns = 1;
  outcome.stopped_ns = json.at("stopped").get<std::int64_t>();
  outcome.ended_ns = json.at("ended").get<std::int64_t>();
  outcome.never_sent = json.at("never_sent").get<std::int64_t>();
  outcome.gaps_of_one_in = json.at("gaps_of_one_in").get<std::int64_t>();
  outcome.interrupted = json.at("interrupted").get<bool>();
  outcome.stopped_because = json.at("stopped_because").get<std::string>();
  outcome.shares.push_back({json.at("host").get<std::string>(), json.at("requests").get<std::int64_t>()});
  outcome.kernel_times = json.at("kernel_times").get<bool>();
  outcome.busy_share = json.at("busy_share").get<double>();
  outcome.cpu_s = json.at("cpu_s").get<double>();
  WM_TRY(fill_histogram(json.at("send_lag"), outcome.send_lag));
  WM_TRY(fill_histogram(json.at("receive_lag"), outcome.receive_lag));
  return fill_histogram(json.at("server_delay"), outcome.server_delay);
}

}  // namespace

std::string outcome_text(const LoadOutcome& outcome, const std::string& host) {
  const Json head{{"stopped", after(outcome.stopped_ns, outcome.began_ns)},
                  {"ended", after(outcome.ended_ns, outcome.began_ns)},
                  {"never_sent", outcome.never_sent},
                  {"gaps_of_one_in", outcome.gaps_of_one_in},
                  {"interrupted", outcome.interrupted},
                  {"stopped_because", outcome.stopped_because},
                  {"host", host},
                  {"kernel_times", outcome.kernel_times},
                  {"busy_share", outcome.busy_share},
                  {"cpu_s", outcome.cpu_s},
                  {"send_lag", histogram_json(outcome.send_lag)},
                  {"receive_lag", histogram_json(outcome.receive_lag)},
                  {"server_delay", histogram_json(outcome.server_delay)},
                  {"requests", outcome.records.size()}};
  std::string text = dump_json(head, -1) + "\n";
  for (const auto& record : outcome.records) text += dump_json(record_json(record, outcome.began_ns), -1) + "\n";
  return text;
}

Result<LoadOutcome> outcome_of_text(std::string_view text) {
  LoadOutcome outcome;
  std::size_t wanted = 0, number = 0;
  for (const auto& line : split(text, '\n')) {
    if (line.empty()) continue;
    WM_ASSIGN(const Json json, parse_json(line, "a client's outcome"));
    try {
      if (number++ == 0) {
        WM_TRY(take_head(json, outcome));
        wanted = json.at("requests").get<std::size_t>();
      } else {
        outcome.records.push_back(record_of(json));
      }
    } catch (const nlohmann::json::exception& exception) {
      return data_error(std::string("a client's outcome is damaged: ") + exception.what());
    }
  }
  if (number == 0 || outcome.records.size() != wanted) return data_error("a client's outcome is cut off");
  return outcome;
}

}  // namespace warpmark::serving
