// JSON of the Java Microbenchmark Harness (-rf json). Every fork is a virtual machine of its own, and so a round.
#include "exchange/import.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

bool detect_jmh(const Document& document) {
  return document.json && document.json->is_array() && !document.json->empty() && (*document.json)[0].is_object() &&
         (*document.json)[0].contains("primaryMetric") && (*document.json)[0].contains("benchmark");
}

/// Where every call was timed (mode "sample") the percentiles are what was measured.
Status read_percentiles(JsonFields& fields, const std::string& id, const Unit& unit, Run& run) {
  if (!fields.has("scorePercentiles") || !fields.json()["scorePercentiles"].is_object()) return {};
  for (const char* percentile : {"50.0", "90.0", "95.0", "99.0", "99.9", "100.0"}) {
    const Json& all = fields.json()["scorePercentiles"];
    if (!all.contains(percentile) || !all[percentile].is_number()) continue;
    const std::string_view digits = percentile;
    const std::string name =
        id + "_p" + std::string(digits.ends_with(".0") ? digits.substr(0, digits.size() - 2) : digits);
    WM_TRY(
        add_metric(run, {name.c_str(), unit.si.c_str(), Better::lower}, {unit.to_si(all[percentile].get<double>())}));
  }
  return {};
}

Status read_metric(JsonFields& fields, const std::string& name, Run& run) {
  double score = 0;
  std::string unit_text;
  if (fields.has("score") && fields.json()["score"].is_string()) {  // "NaN"
    run.notes.emplace_back(name.empty() ? "score" : clean_text(name), "is not a number");
    return {};
  }
  fields.required("score", score);
  fields.maybe("scoreUnit", unit_text);
  const Unit unit = unit_of(unit_text);
  std::vector<std::vector<double>> rounds;
  if (fields.has("rawData") && fields.json()["rawData"].is_array()) {
    for (const Json& fork : fields.json()["rawData"]) {
      auto& round = rounds.emplace_back();
      for (const Json& value : fork.is_array() ? fork : Json::array()) {
        if (value.is_number()) round.push_back(unit.to_si(value.get<double>()));
      }
    }
  }
  bool any = false;
  for (const auto& round : rounds) any = any || !round.empty();
  if (!any) rounds = {{unit.to_si(score)}};
  const std::string id = name.empty() ? metric_for(unit.si) : clean_text(name);
  return add_rounds(run, {id.c_str(), unit.si.c_str(), direction_of_unit(unit.si)}, rounds);
}

Status read_jmh_benchmark(JsonFields& fields, Session& session) {
  std::string name, mode;
  std::int64_t threads = 1;
  fields.required("benchmark", name);
  fields.maybe("mode", mode);
  fields.maybe("threads", threads);
  Run& run = add_run(session, name, "cpu");
  run.timing.method = "JMH";
  if (fields.has("params") && fields.json()["params"].is_object()) {
    for (const auto& [key, value] : fields.json()["params"].items()) {
      WM_TRY(set_param(run, clean_text(key), param_value(value.is_string() ? value.get<std::string>() : value.dump())));
    }
  }
  WM_TRY(set_param(run, "mode", clean_text(mode)));
  if (threads > 1) WM_TRY(set_param(run, "threads", threads));
  Status added;
  fields.object("primaryMetric", true, [&](JsonFields& metric) {
    added = read_metric(metric, "", run);
    if (!added.ok() || mode != "sample" || run.metrics.empty()) return;
    std::string unit;
    metric.maybe("scoreUnit", unit);
    const std::string id = run.metrics[0].id;  // metrics are added
    added = read_percentiles(metric, id, unit_of(unit), run);
  });
  if (run.metrics.empty()) {
    run.outcome = Outcome::error;
    run.fault = ErrorKind::data;
    run.reason = "its score is not a number";
  }
  fields.object("secondaryMetrics", false, [&](JsonFields& metrics) {
    for (const auto& [key, value] : metrics.json().items()) {
      metrics.object(key.c_str(), false, [&](JsonFields& metric) {
        if (added.ok()) added = read_metric(metric, key, run);
      });
    }
  });
  return added;
}

Result<std::vector<Session>> read_jmh(const Document& document) {
  if (!detect_jmh(document)) return data_error("it is no array of benchmarks with a 'primaryMetric'");
  const Json& first = (*document.json)[0];
  const auto text_of = [&](const char* key) {
    return first.contains(key) && first[key].is_string() ? clean_text(first[key].get<std::string>()) : std::string();
  };
  Session session = foreign_session("JMH", text_of("jmhVersion"));
  if (const auto version = text_of("vmVersion"); !version.empty()) {
    session.machine.software.emplace_back(text_of("vmName").empty() ? "JVM" : text_of("vmName"), version);
  }
  ResultLimit limit(document.text);
  std::optional<Error> error;
  for (std::size_t i = 0; i < document.json->size(); ++i) {
    JsonFields fields((*document.json)[i], "[" + std::to_string(i) + "]", error);
    if (!error) WM_TRY(read_jmh_benchmark(fields, session));
    if (error) return *error;
    WM_TRY(limit.add(session.runs.back()));
  }
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kJmh{"jmh",  "JSON of the Java Microbenchmark Harness", detect_jmh, read_jmh, nullptr, false,
                         "-f 10"};

}  // namespace warpmark::exchange
