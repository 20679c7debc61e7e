// What a load showed: for each scenario at each concurrency or rate the latencies with their intervals, rates, errors,
// and whether the client may be believed. Plain data; times in seconds. JSON: "warpmark.load/1".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/fields/fields_fwd.h"
#include "model/metric.h"
#include "serving/client/load_plan.h"
#include "serving/records/request_records.h"
#include "serving/results/token_check.h"

namespace warpmark::serving {

inline constexpr const char* kLoadSchema = "warpmark.load/1";

struct LoadMetric {
  std::string id;
  std::string unit;
  Better better = Better::lower;
  std::int64_t n = 0;
  double mean = 0;
  double stdev = 0;
  double min = 0;
  double max = 0;
  std::optional<Interval> mean_interval;
  std::vector<Percentile> percentiles;
  std::string interval_method;
  /// One a request, of a long series every k-th, so that files and the store stay small; of rates, of equal parts of
  /// the window; empty of gaps.
  std::vector<double> samples;
};

struct SloOutcome {
  std::string text;
  std::optional<double> value;
  std::optional<Interval> interval;
  std::string reason;  ///< why it is undecided, and what decides it
  std::string option;  ///< of the command, with its value, which decides it; empty if none
  /// "met" and "missed" where the whole interval is on one side, else "undecided".
  std::string verdict;
};

struct MlperfCheck {
  std::string name;
  bool met = false;
  std::string text;  ///< with its numbers, and what to do where it is not met
};

/// Of a load by the rules of MLPerf (mlperf.h).
struct MlperfVerdict {
  std::string scenario;
  bool valid = false;
  std::string metric;  ///< "90th percentile latency", "samples per second", ...
  std::string unit;
  std::optional<double> value;     ///< of the metric, as LoadGen reports it
  std::optional<double> estimate;  ///< of early stopping: what may be claimed of the percentile
  std::int64_t queries = 0;
  double duration_s = 0;
  std::vector<MlperfCheck> checks;
};

/// Of a task whose questions were the load; its scores are the metrics "quality.NAME".
struct QualityFacts {
  std::string task;
  std::int64_t asked = 0;       ///< questions of which an answer, or a failure, is known
  std::int64_t of = 0;          ///< all of the task
  std::int64_t unanswered = 0;  ///< without a usable answer, which count as wrong
};

struct ScenarioResult {
  std::string scenario;
  std::string arrivals;                           ///< "closed", "poisson", ...
  std::int64_t users = 0;                         ///< closed loop
  double rate = 0;                                ///< open loop: asked for, requests/s
  std::int64_t batch = 1;                         ///< documents a request: embeddings, reranking
  std::int64_t turns = 1;                         ///< of a conversation
  std::map<std::string, std::string> parameters;  ///< all others that make a load what it is: "think_time": "2s", ...
  std::string started;                            ///< UTC
  double wall_s = 0;                              ///< from the first request due to the last answer
  double window_s = 0;                            ///< of the rates
  double window_begin_s = 0;                      ///< after the start
  bool whole_load = false;  ///< the window is all of it, from the first request due to the last answer
  std::int64_t sent = 0, completed = 0, failed = 0, censored = 0, never_sent = 0, warmup = 0, retried = 0,
               without_done = 0, buffered = 0;
  double oldest_censored_s = 0;
  std::map<std::string, std::int64_t> errors;  ///< by class: "http_503", "timeout", ...
  std::string first_error;                     ///< what the first of them said
  std::string stopped_because;
  bool interrupted = false, too_many_errors = false;
  std::string problem;  ///< as LoadOutcome; also `interrupted`
  std::vector<LoadMetric> metrics;
  TokenCheck tokens;
  PromptCheck prompts;
  ClientReport client;
  std::vector<SloOutcome> slo;
  std::optional<MlperfVerdict> mlperf;
  std::optional<QualityFacts> quality;
  RequestRecords records;
  std::int64_t began_ns = 0;  ///< of the records' clock
};

struct LoadReport {
  std::string id;
  std::string started;  ///< UTC
  std::string command;
  std::map<std::string, std::vector<std::string>> options;  ///< of the command, by name; a flag has one empty value
  std::string version;
  std::string host;
  bool complete = true;
  std::vector<std::pair<std::string, std::string>> target;  ///< "base", "model", "api", "engine", ...
  std::map<std::string, double> settings;  ///< "max_time_per_run_s", "max_requests_per_run"; 0 without limit
  std::string dataset;                     ///< its file
  std::vector<ScenarioResult> earlier;     ///< of the report that this one goes on with, without records
  std::vector<ScenarioResult> scenarios;
  std::vector<std::string> notes;
  double first_s = 0, warm_s = 0, repeated_s = 0;  ///< requests before the load (FirstProbe); 0 where not asked
  std::int64_t cached_tokens = -1;
  std::optional<std::string> search;  ///< what a search for the highest load found, a sentence
  bool search_met = false;            ///< a load that meets the objectives was found
};

/// Data error naming what is missing. Without records; the scenarios of an earlier report are among the others.
[[nodiscard]] Result<LoadReport> load_report_from_json(const Json& json);

[[nodiscard]] const LoadMetric* metric_of(const ScenarioResult& result, std::string_view id);
[[nodiscard]] const Percentile* percentile_of(const LoadMetric& metric, double p);

extern const RecordOf<LoadReport> kLoadReport;
/// Without the records.
[[nodiscard]] Json to_json(const LoadReport& report);
[[nodiscard]] Json to_json(const ScenarioResult& result);
/// "p99.9" of 0.999.
[[nodiscard]] std::string percentile_name(double p);

}  // namespace warpmark::serving
