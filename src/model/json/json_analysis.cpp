#include "model/json/json_analysis.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "model/json/json_fields.h"

namespace warpmark {
namespace {

const char* name_of_advice(AdviceKind kind) {
  switch (kind) {
    case AdviceKind::code: return "code";
    case AdviceKind::config: return "config";
    case AdviceKind::environment: return "environment";
    case AdviceKind::command: return "command";
    case AdviceKind::measure: return "measure";
  }
  return "code";
}

std::optional<AdviceKind> parse_advice_kind(std::string_view name) {
  for (const auto kind :
       {AdviceKind::code, AdviceKind::config, AdviceKind::environment, AdviceKind::command, AdviceKind::measure}) {
    if (name == name_of_advice(kind)) return kind;
  }
  return std::nullopt;
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }
double milliseconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-6; }

Json gain_to_json(const Gain& gain) {
  Json json{{"low", finite_number(gain.low)}, {"high", finite_number(gain.high)}};
  put_text(json, "method", gain.method);
  if (gain.per_sample) json["per"] = "sample";
  if (gain.unknown) json["unknown"] = true;
  return json;
}

Json fact_to_json(const Fact& fact) {
  Json json{{"id", fact.id}, {"text", fact.text}};
  put_optional(json, "value", fact.value);
  if (fact.value) json["unit"] = fact.unit;
  return json;
}

Json event_to_json(const EventReference& event) {
  return {{"rank", event.rank},
          {"event", event.event},
          {"name", event.name},
          {"start_ns", event.start_ns},
          {"duration_ns", event.duration_ns}};
}

Json recommendation_to_json(const Recommendation& recommendation) {
  Json json{{"kind", name_of_advice(recommendation.kind)}, {"text", recommendation.text}};
  put_text(json, "snippet", recommendation.snippet);
  put_text(json, "id", recommendation.id);
  if (recommendation.gain) json["gain"] = gain_to_json(*recommendation.gain);
  return json;
}

Json breakdown_to_json(const std::vector<BreakdownPart>& parts) {
  Json json = Json::object();
  for (const BreakdownPart& part : parts) {
    json[part.id] = {{"group", part.group}, {"total_ns", part.total_ns}, {"share", finite_number(part.share)}};
  }
  return json;
}

Json rank_to_json(const RankAnalysis& rank) {
  Json json{{"rank", rank.rank}};
  put_text(json, "gpu", rank.gpu);
  json["step_ms"] = milliseconds(rank.median_step_ns);
  json["steps"] = Json::array();
  for (const StepSpan& span : rank.steps)
    json["steps"].push_back({{"start_ns", span.start_ns}, {"end_ns", span.end_ns}});
  for (const StepPause& pause : rank.pauses) {
    json["pauses"].push_back({{"start_ns", pause.start_ns}, {"end_ns", pause.end_ns}});
    put_text(json["pauses"].back(), "name", pause.name);
  }
  json["breakdown"] = breakdown_to_json(rank.breakdown);
  return json;
}

Json value_to_json(const TableValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  return finite_number(std::get<double>(value));
}

Gain gain_from(JsonFields& fields) {
  Gain gain;
  fields.required("low", gain.low);
  fields.required("high", gain.high);
  fields.maybe("method", gain.method);
  std::string per;
  fields.maybe("per", per);
  gain.per_sample = per == "sample";
  fields.maybe("unknown", gain.unknown);
  return gain;
}

Fact fact_from(JsonFields& fields) {
  Fact fact;
  fields.required("text", fact.text);
  fields.maybe("id", fact.id);
  fields.maybe("value", fact.value);
  fields.maybe("unit", fact.unit);
  return fact;
}

Recommendation recommendation_from(JsonFields& fields) {
  Recommendation recommendation;
  fields.required_name("kind", parse_advice_kind, recommendation.kind);
  fields.required("text", recommendation.text);
  fields.maybe("snippet", recommendation.snippet);
  fields.maybe("id", recommendation.id);
  fields.object("gain", false, [&](JsonFields& gain) { recommendation.gain = gain_from(gain); });
  return recommendation;
}

Finding finding_from(JsonFields& fields) {
  Finding finding;
  double lost_s = 0;
  fields.required("rule", finding.rule);
  fields.required("kind", finding.kind);
  fields.required("severity", finding.severity);
  fields.required("title", finding.title);
  fields.maybe("lost_s", lost_s);
  finding.lost_ns = static_cast<std::int64_t>(lost_s * 1e9);
  fields.each("evidence", [&](JsonFields& fact) { finding.evidence.push_back(fact_from(fact)); });
  fields.each("recommendations", [&](JsonFields& one) { finding.recommendations.push_back(recommendation_from(one)); });
  fields.object("gain", true, [&](JsonFields& gain) { finding.gain = gain_from(gain); });
  return finding;
}

Json session_to_json(const Analysis& analysis) {
  std::size_t steps = 0;
  for (const RankAnalysis& rank : analysis.ranks) steps = std::max(steps, rank.steps.size());
  Json json{{"ranks", analysis.rank_count},
            {"gpus", analysis.gpus},
            {"steps", steps},
            {"step_ms", milliseconds(analysis.median_step_ns)}};
  if (analysis.undisturbed_step_ns > 0) json["undisturbed_step_ms"] = analysis.undisturbed_step_ns * 1e-6;
  put_text(json, "steps_found_by", analysis.steps_found_by);
  json["sources"] = analysis.sources;
  return json;
}

Json quality_to_json(const std::vector<DataQualityIssue>& issues) {
  Json json = Json::object();
  for (const DataQualityIssue& issue : issues) {
    json[issue.id] = {{"count", issue.count}, {"text", issue.text}};
    put_text(json[issue.id], "example", issue.example);
  }
  return json;
}

template <typename Item, typename Convert>
Json list_to_json(const std::vector<Item>& items, Convert convert) {
  Json json = Json::array();
  for (const Item& item : items) json.push_back(convert(item));
  return json;
}

}  // namespace

Json to_json(const Finding& finding) {
  return {{"rule", finding.rule},
          {"kind", finding.kind},
          {"severity", finite_number(finding.severity)},
          {"level", severity_name(finding.severity)},
          {"title", finding.title},
          {"lost_s", seconds(finding.lost_ns)},
          {"evidence", list_to_json(finding.evidence, fact_to_json)},
          {"events", list_to_json(finding.events, event_to_json)},
          {"recommendations", list_to_json(finding.recommendations, recommendation_to_json)},
          {"gain", gain_to_json(finding.gain)}};
}

Json to_json(const AnalysisTable& table) {
  Json json{{"id", table.id}, {"title", table.title}};
  put_text(json, "note", table.note);
  json["columns"] = list_to_json(table.columns, [](const AnalysisColumn& column) {
    return Json{{"id", column.id}, {"title", column.title}, {"unit", column.unit}};
  });
  json["rows"] = list_to_json(table.rows, [](const auto& row) { return list_to_json(row, value_to_json); });
  return json;
}

Result<std::vector<Finding>> findings_from_json(const Json& json) {
  std::optional<Error> error;
  std::vector<Finding> findings;
  JsonFields fields(json, "", error);
  std::string schema;
  if (!error) fields.required("schema", schema);
  if (!error && schema != kAnalysisSchema) fields.fail("schema", "is not " + std::string(kAnalysisSchema));
  if (!error) fields.each("findings", [&](JsonFields& one) { findings.push_back(finding_from(one)); });
  if (error) return *error;
  return findings;
}

Json difference_to_json(const std::vector<AnalysisTable>& tables) {
  return {{"schema", kProfileDiffSchema},
          {"tables", list_to_json(tables, [](const AnalysisTable& table) { return to_json(table); })}};
}

Json to_json(const Analysis& analysis) {
  return {{"schema", kAnalysisSchema},
          {"session", session_to_json(analysis)},
          {"verdict", analysis.verdict},
          {"cautions", analysis.cautions},
          {"breakdown", breakdown_to_json(analysis.breakdown)},
          {"findings", list_to_json(analysis.findings, [](const Finding& finding) { return to_json(finding); })},
          {"combined_gain", gain_to_json(analysis.combined)},
          {"ranks", list_to_json(analysis.ranks, rank_to_json)},
          {"tables", list_to_json(analysis.tables, [](const AnalysisTable& table) { return to_json(table); })},
          {"missing", list_to_json(analysis.missing,
                                   [](const MissingData& data) {
                                     return Json{{"what", data.what}, {"how", data.how}};
                                   })},
          {"data_quality", quality_to_json(analysis.quality)}};
}

}  // namespace warpmark
