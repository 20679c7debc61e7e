// Bencher Metric Format: {"benchmark": {"measure": {"value": 1, "lower_value": 1, "upper_value": 1}}}, the "json"
// adapter of github.com/bencherdev/bencher (lib/bencher_adapter). Its built-in measures have units; the format has none
// and no direction, so that any other measure is read as neither better high nor low.
#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/units.h"
#include "exchange/import.h"
#include "exchange/imported.h"
#include "model/run_query.h"
#include "report/results/build_parts.h"
#include "report/results/labels.h"

namespace warpmark::exchange {
namespace {

struct Measure {
  const char* slug;
  Quantity quantity;
  double scale;  ///< of the SI unit
};

constexpr std::array kMeasures{Measure{"latency", kTime, 1e-9},
                               Measure{"throughput", {"item_rate", "1/s", Better::higher}, 1},
                               Measure{"build-time", {"build_time", "s", Better::lower}, 1},
                               Measure{"file-size", {"size", "B", Better::lower}, 1}};

bool is_measure(const Json& measure) {
  return measure.is_object() && measure.contains("value") && measure["value"].is_number();
}

bool detect_bencher(const Document& document) {
  if (!document.json || !document.json->is_object() || document.json->empty()) return false;
  return std::all_of(document.json->begin(), document.json->end(), [](const Json& benchmark) {
    return benchmark.is_object() && !benchmark.empty() && std::all_of(benchmark.begin(), benchmark.end(), is_measure);
  });
}

Status read_measure(JsonFields& fields, const std::string& slug, Run& run) {
  double value = 0;
  fields.required("value", value);
  const auto found = std::find_if(kMeasures.begin(), kMeasures.end(), [&](const Measure& m) { return slug == m.slug; });
  for (const char* key : {"lower_value", "upper_value"}) {
    std::optional<double> bound;
    fields.maybe(key, bound);
    if (bound) run.notes.emplace_back(slug + " " + key, Json(*bound).dump());
  }
  if (found == kMeasures.end()) return add_metric(run, {slug.c_str(), "", Better::neither}, {value});
  return add_metric(run, found->quantity, {value * found->scale});
}

Result<std::vector<Session>> read_bencher(const Document& document) {
  if (!document.json || !document.json->is_object()) return data_error("it is no JSON object of benchmarks");
  Session session = foreign_session("Bencher Metric Format");
  ResultLimit limit(document.text);
  std::optional<Error> error;
  for (const auto& [name, measures] : document.json->items()) {
    JsonFields benchmark(measures, clean_text(name), error);
    if (error) return *error;
    Run& run = add_run(session, name, kUnknownDevice);
    keep_name(run);
    for (const auto& [slug, measure] : measures.items()) {
      JsonFields fields(measure, clean_text(name) + "." + clean_text(slug), error);
      if (!error) WM_TRY(read_measure(fields, clean_text(slug), run));
      if (error) return *error;
    }
    WM_TRY(limit.add(run));
  }
  return std::vector<Session>{std::move(session)};
}

/// `key` is a name or a slug: Bencher takes either.
Json measure_json(const Run& run, const std::string& key, const Metric& metric, double scale) {
  const Summary& summary = metric.summary;
  Json json{{"value", summary.median / scale}};
  if (summary.median_interval) {
    json["lower_value"] = summary.median_interval->low / scale;
    json["upper_value"] = summary.median_interval->high / scale;
  }
  for (const char* bound : {"lower_value", "upper_value"}) {
    const auto number = parse_number(note_text(run, key + " " + bound));
    if (number.ok()) json[bound] = *number;
  }
  return json;
}

Result<Exported> write_bencher(const Session& session) {
  Json json = Json::object();
  std::size_t left_out = 0;
  for (const Run& run : session.runs) {
    if (!report::shows_speed(run)) {
      ++left_out;
      continue;
    }
    Json& benchmark = json[report::case_name(run)];
    for (const Metric& metric : run.metrics) {
      if (metric.summary.n == 0) continue;
      const auto found = std::find_if(kMeasures.begin(), kMeasures.end(),
                                      [&](const Measure& m) { return metric.id == m.quantity.id; });
      const bool known = found != kMeasures.end();
      const std::string key = known ? found->slug : metric.id;
      benchmark[key] = measure_json(run, key, metric, known ? found->scale : 1);
    }
  }
  return exported_json(json, json.size(), left_out, "a result");
}

}  // namespace

extern const Format kBencher{"bencher", "Bencher Metric Format", detect_bencher, read_bencher, write_bencher};

}  // namespace warpmark::exchange
