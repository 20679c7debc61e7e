// Files of Criterion.rs in target/criterion/<benchmark>/new: sample.json with all samples, estimates.json with
// statistics alone; and the lines that cargo-criterion --message-format=json prints. Nanoseconds. The name of a
// benchmark is in benchmark.json beside the first two, else in the folders' names.
#include "base/files.h"
#include "exchange/import.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

constexpr std::size_t kMostBytes = 16 << 20;
constexpr double kNanoseconds = 1e9;

bool is_sample(const Json& json) { return json.is_object() && json.contains("iters") && json.contains("times"); }

bool is_estimate(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_object() && json[key].contains("point_estimate");
}

bool is_message(const Json& json) {
  return json.is_object() && json.contains("reason") && json.contains("id") && json.contains("typical");
}

bool detect_criterion(const Document& document) {
  if (!document.json) return false;
  const Json& json = *document.json;
  if (is_sample(json) || is_estimate(json, "median") || is_estimate(json, "mean") || is_message(json)) return true;
  return json.is_array() && !json.empty() && std::any_of(json.begin(), json.end(), is_message);
}

std::string benchmark_name(const Document& document) {
  if (document.folder.empty()) return "benchmark";
  if (const auto text = read_file(document.folder / "benchmark.json", kMostBytes); text.ok()) {
    const auto json = parse_results(*text, "benchmark.json");
    if (json.ok() && json->is_object() && json->contains("full_id") && (*json)["full_id"].is_string()) {
      return (*json)["full_id"].get<std::string>();
    }
  }
  const auto name = document.folder.parent_path().filename().string();  // .../<benchmark>/new
  return name.empty() ? "benchmark" : name;
}

/// Each sample is the time of several iterations.
Status add_samples(Run& run, const std::vector<double>& iterations, const std::vector<double>& times) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < times.size() && i < iterations.size(); ++i) {
    if (iterations[i] > 0) samples.push_back(times[i] / iterations[i] / kNanoseconds);
  }
  return add_metric(run, kTime, std::move(samples), Grouping::one_process);
}

Status read_estimates(JsonFields& fields, Run& run) {
  const char* key = is_estimate(fields.json(), "median") ? "median" : "mean";
  double estimate = 0;
  fields.object(key, true, [&](JsonFields& one) { one.required("point_estimate", estimate); });
  return add_summary_metric(run, kTime, estimate / kNanoseconds,
                            std::string("the file has the ") + key + " of the samples alone");
}

/// What one iteration handles: {"per_iteration": 1024, "unit": "bytes"}.
Status add_throughputs(JsonFields& fields, Run& run) {
  if (run.metrics.empty()) return {};
  const std::vector<double> times = run.metrics[0].samples;
  Status added;
  fields.each("throughput", [&](JsonFields& one) {
    double amount = 0;
    std::string unit;
    one.required("per_iteration", amount);
    one.maybe("unit", unit);
    const bool bytes = unit.starts_with("bytes") || unit == "B";
    std::vector<double> rates;
    for (const double time : times) {
      if (time > 0) rates.push_back(amount / time);
    }
    const Quantity quantity =
        bytes ? Quantity{"bandwidth", "B/s", Better::higher} : Quantity{"item_rate", "1/s", Better::higher};
    if (added.ok()) added = add_metric(run, quantity, std::move(rates));
  });
  return added;
}

Status read_message(JsonFields& fields, Session& session) {
  std::string id, unit = "ns";
  std::vector<double> iterations, times;
  double typical = 0;
  fields.required("id", id);
  fields.maybe("iteration_count", iterations);
  fields.maybe("measured_values", times);
  fields.object("typical", true, [&](JsonFields& one) {
    one.required("estimate", typical);
    one.maybe("unit", unit);
  });
  Run& run = add_run(session, id, "cpu");
  keep_name(run);
  run.timing.method = "Criterion.rs";
  if (!times.empty() && unit == "ns") {
    WM_TRY(add_samples(run, iterations, times));
    return add_throughputs(fields, run);
  }
  const Unit si = unit_of(unit);
  return add_summary_metric(run, {metric_for(si.si), si.si.c_str(), direction_of_unit(si.si)}, si.to_si(typical),
                            "the file has the typical value alone");
}

Result<std::vector<Session>> read_criterion(const Document& document) {
  if (!detect_criterion(document)) return data_error("it is neither sample.json nor estimates.json of Criterion.rs");
  Session session = foreign_session("Criterion.rs");
  ResultLimit limit(document.text);
  std::optional<Error> error;
  const Json& json = *document.json;
  if (json.is_array() || is_message(json)) {
    const Json lines = json.is_array() ? json : Json::array({json});
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!is_message(lines[i])) continue;
      JsonFields fields(lines[i], "[" + std::to_string(i) + "]", error);
      if (!error) WM_TRY(read_message(fields, session));
      if (error) return *error;
      WM_TRY(limit.add(session.runs.back()));
    }
    return std::vector<Session>{std::move(session)};
  }
  Run& run = add_run(session, benchmark_name(document), "cpu");
  keep_name(run);
  run.timing.method = "Criterion.rs";
  JsonFields fields(json, "", error);
  std::vector<double> iterations, times;
  if (is_sample(json)) {
    fields.maybe("iters", iterations);
    fields.maybe("times", times);
    if (!error) WM_TRY(add_samples(run, iterations, times));
  } else if (!error) {
    WM_TRY(read_estimates(fields, run));
  }
  if (error) return *error;
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kCriterion{"criterion", "sample.json, estimates.json, messages of Criterion.rs", detect_criterion,
                               read_criterion};

}  // namespace warpmark::exchange
