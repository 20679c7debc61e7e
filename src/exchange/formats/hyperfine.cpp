// JSON of hyperfine (--export-json): src/hyperfine/export/json.rs and benchmark_result.rs of
// github.com/sharkdp/hyperfine. Seconds. Every time is a process of its own, and so a round of its own.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "exchange/import.h"
#include "exchange/imported.h"
#include "model/run_query.h"
#include "report/results/build_parts.h"
#include "report/results/labels.h"

namespace warpmark::exchange {
namespace {

constexpr const char* kExitCodes = "exit codes";

bool detect_hyperfine(const Document& document) {
  if (!document.json || !document.json->is_object() || !document.json->contains("results")) return false;
  const Json& results = (*document.json)["results"];
  return results.is_array() && !results.empty() && results[0].is_object() && results[0].contains("command") &&
         (results[0].contains("mean") || results[0].contains("times"));
}

/// Executions that did not end with exit status 0; null is one that a signal ended.
void judge(JsonFields& fields, Run& run) {
  if (!fields.has("exit_codes") || !fields.json()["exit_codes"].is_array()) return;
  const Json& codes = fields.json()["exit_codes"];
  const auto failed = std::count_if(codes.begin(), codes.end(), [](const Json& code) { return code != 0; });
  run.notes.emplace_back(kExitCodes, codes.dump());
  if (failed == 0) return;
  run.outcome = Outcome::unreliable;
  run.reason = fmt::format("{} of {} executions ended with a failure", failed, codes.size());
}

Status read_parameters(JsonFields& fields, Run& run) {
  if (!fields.has("parameters") || !fields.json()["parameters"].is_object()) return {};
  for (const auto& [name, value] : fields.json()["parameters"].items()) {
    WM_TRY(set_param(run, clean_text(name), param_value(value.is_string() ? value.get<std::string>() : value.dump())));
  }
  return {};
}

Status read_hyperfine_result(JsonFields& fields, Session& session) {
  std::string command;
  fields.required("command", command);
  Run& run = add_run(session, command, "cpu");
  keep_name(run);
  run.timing.method = "hyperfine";
  WM_TRY(read_parameters(fields, run));
  judge(fields, run);
  std::vector<double> times, memory;
  double median = 0, mean = 0;
  fields.maybe("times", times);
  fields.maybe("memory_usage_byte", memory);
  if (times.empty()) {
    fields.required("mean", mean);
    median = mean;
    fields.maybe("median", median);
    WM_TRY(add_summary_metric(run, kTime, median, "the file has the median of the times alone"));
  }
  WM_TRY(add_metric(run, kTime, std::move(times), Grouping::round_each));
  for (const auto& [key, id] : {std::pair{"user", "user_time"}, std::pair{"system", "system_time"}}) {
    std::optional<double> seconds;
    fields.maybe(key, seconds);
    if (seconds) WM_TRY(add_summary_metric(run, {id, "s", Better::lower}, *seconds, "the mean of all executions"));
  }
  return add_metric(run, {"memory", "B", Better::lower}, std::move(memory), Grouping::round_each);
}

Result<std::vector<Session>> read_hyperfine(const Document& document) {
  if (!detect_hyperfine(document)) return data_error("it has no 'results' with a command and its times");
  ResultLimit limit(document.text);
  return read_object(*document.json, foreign_session("hyperfine"), [&](JsonFields& fields, Session& session) {
    fields.each("results", [&](JsonFields& result) {
      result.keep(limit.add_after(read_hyperfine_result(result, session), session));
    });
  });
}

/// The file's own statistics; null for what was not measured.
Json result_json(const Run& run, const Metric& time) {
  const Summary& summary = time.summary;
  Json json{{"command", report::case_name(run)}, {"mean", summary.mean}};
  json["stddev"] = summary.n > 1 ? Json(summary.stdev) : Json(nullptr);
  json["median"] = summary.median;
  for (const auto& [key, id] : {std::pair{"user", "user_time"}, std::pair{"system", "system_time"}}) {
    const Metric* metric = metric_of(run, id);
    json[key] = metric != nullptr ? Json(metric->summary.mean) : Json(nullptr);
  }
  json["min"] = summary.min;
  json["max"] = summary.max;
  if (note_text(run, "time").empty()) json["times"] = time.samples;
  if (const Metric* memory = metric_of(run, "memory")) json["memory_usage_byte"] = memory->samples;
  for (const auto& [name, value] : run.params.items()) json["parameters"][name] = to_text(value);
  if (const auto codes = note_text(run, kExitCodes); !codes.empty()) {
    if (auto list = parse_json(codes, kExitCodes); list.ok()) json["exit_codes"] = std::move(*list);
  }
  return json;
}

Result<Exported> write_hyperfine(const Session& session) {
  Json json{{"results", Json::array()}};
  std::size_t left_out = 0;
  for (const Run& run : session.runs) {
    const Metric* time = metric_of(run, "time");
    if (time == nullptr || !report::shows_speed(run)) {
      ++left_out;
      continue;
    }
    json["results"].push_back(result_json(run, *time));
  }
  return without_other_metrics(
      exported_json(json, json["results"].size(), left_out, "a time"), session, [](const Metric& metric) {
        return metric.id == "time" || metric.id == "user_time" || metric.id == "system_time" || metric.id == "memory";
      });
}

}  // namespace

extern const Format kHyperfine{
    "hyperfine", "JSON of hyperfine --export-json",       detect_hyperfine, read_hyperfine, write_hyperfine,
    false,       "hyperfine --runs 30 --export-json FILE"};

}  // namespace warpmark::exchange
