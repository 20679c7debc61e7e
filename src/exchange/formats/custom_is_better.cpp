// customSmallerIsBetter and customBiggerIsBetter of github-action-benchmark: src/extract.ts of
// github.com/benchmark-action/github-action-benchmark. The two look alike; which it is stands in the workflow and not
// in the file.
#include <algorithm>

#include "base/json.h"
#include "exchange/import.h"
#include "exchange/quantities.h"
#include "model/run_query.h"
#include "report/results/build_parts.h"
#include "report/results/labels.h"

namespace warpmark::exchange {
namespace {

bool detect_custom_is_better(const Document& document) {
  if (!document.json || !document.json->is_array() || document.json->empty()) return false;
  return std::all_of(document.json->begin(), document.json->end(), [](const Json& item) {
    return item.is_object() && item.contains("name") && item.contains("value") && item.contains("unit");
  });
}

Result<std::vector<Session>> read_custom_is_better(const Document& document, Better better) {
  if (!document.json || !document.json->is_array()) return data_error("it is no JSON array of names and values");
  Session session = foreign_session("github-action-benchmark");
  ResultLimit limit(document.text);
  std::optional<Error> error;
  std::size_t at = 0;
  for (const auto& item : *document.json) {
    JsonFields fields(item, "[" + std::to_string(at++) + "]", error);
    if (!error) WM_TRY(read_named_value(fields, better, session));
    if (error) return *error;
    WM_TRY(limit.add(session.runs.back()));
  }
  return std::vector<Session>{std::move(session)};
}

/// The primary metric of every run, and the others where they have this direction, too.
Result<Exported> write_custom_is_better(const Session& session, Better better) {
  Json json = Json::array();
  std::size_t left_out = 0;
  for (const Run& run : session.runs) {
    bool any = false;
    for (const Metric& metric : run.metrics) {
      if (!report::shows_speed(run) || metric.better != better || metric.summary.n == 0) continue;
      const std::string name = report::case_name(run);
      Json item{{"name", any ? name + " " + metric.id : name}, {"unit", metric.unit}, {"value", metric.summary.median}};
      if (metric.summary.n > 1) item["range"] = "\xC2\xB1 " + Json(metric.summary.stdev).dump();
      for (const char* key : {"range", "extra"}) {
        if (const auto text = note_text(run, key); !text.empty() && metric.summary.n == 1) item[key] = text;
      }
      json.push_back(std::move(item));
      any = true;
    }
    if (!any) ++left_out;
  }
  const std::size_t written = session.runs.size() - left_out;
  return exported_json(
      json, written, left_out,
      better == Better::lower ? "a metric of which less is better" : "a metric of which more is better");
}

}  // namespace

extern const Format kCustomSmallerIsBetter{
    "customSmallerIsBetter", "github-action-benchmark's own JSON: small values are better", detect_custom_is_better,
    [](const Document& document) { return read_custom_is_better(document, Better::lower); },
    [](const Session& session) { return write_custom_is_better(session, Better::lower); }};

extern const Format kCustomBiggerIsBetter{
    "customBiggerIsBetter", "github-action-benchmark's own JSON: big values are better", detect_custom_is_better,
    [](const Document& document) { return read_custom_is_better(document, Better::higher); },
    [](const Session& session) { return write_custom_is_better(session, Better::higher); }};

}  // namespace warpmark::exchange
