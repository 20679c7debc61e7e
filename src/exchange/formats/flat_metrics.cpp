// A flat object of numbers, {"latency_p50_ms": 12.3, "throughput": [448.1, 451.7]}: what scripts write by json.dump. A
// list holds samples; texts and truth values are notes of each run. Units are those of the name's ending, and whether
// more is better is what the name says; where it says nothing, `--better NAME=higher` of `warpmark history import`
// does.
#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "exchange/format.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

bool is_numbers(const Json& value) {
  if (value.is_number()) return true;
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_number(); });
}

bool detect_flat(const Document& document) {
  if (!document.json || !document.json->is_object() || document.json->contains("schema")) return false;
  bool any = false;
  for (const auto& item : *document.json) {
    if (is_numbers(item)) {
      any = true;
    } else if (!item.is_string() && !item.is_boolean() && !item.is_null()) {
      return false;
    }
  }
  return any;
}

using Facts = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kMostFacts = 32;  // each run has them

/// Texts and truth values.
Facts facts_of(const Json& json) {
  Facts facts;
  for (const auto& [name, value] : json.items()) {
    if (facts.size() == kMostFacts || (!value.is_string() && !value.is_boolean())) continue;
    facts.emplace_back(clean_text(name), clean_text(value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return facts;
}

Status read_flat_metric(const std::string& name, const Json& value, const Facts& facts, Session& session) {
  const Described what = described(name);
  std::vector<double> samples;
  if (value.is_number()) {
    samples.push_back(what.unit.to_si(value.get<double>()));
  } else {
    for (const auto& item : value) samples.push_back(what.unit.to_si(item.get<double>()));
  }
  Run& run = add_run(session, name, kUnknownDevice);
  keep_name(run);
  run.notes.insert(run.notes.end(), facts.begin(), facts.end());
  // One after another in one run of the script, or one a run: nobody knows, so they are not taken for rounds.
  return add_metric(run, {metric_for(what.unit.si), what.unit.si.c_str(), what.better}, std::move(samples));
}

Result<std::vector<Session>> read_flat(const Document& document) {
  if (!detect_flat(document)) {
    return data_error("it is no flat JSON object of numbers", "such as {\"latency_ms\": 12.3, \"throughput\": 450}");
  }
  Session session = foreign_session("flat JSON");
  ResultLimit limit(document.text);
  const Facts facts = facts_of(*document.json);
  for (const auto& [name, value] : document.json->items()) {
    if (value.is_null()) session.remarks.push_back(clean_text(name) + " is not a number: left out");
    if (!is_numbers(value)) continue;
    WM_TRY(read_flat_metric(name, value, facts, session));
    WM_TRY(limit.add(session.runs.back()));
  }
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kFlatMetrics{
    "flat", "a flat JSON object of numbers, {\"metric\": value}", detect_flat, read_flat, nullptr, true};

}  // namespace warpmark::exchange
