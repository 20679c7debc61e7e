// A flat object of numbers, {"latency_p50_ms": 12.3, "throughput": [448.1, 451.7]}: what scripts write by json.dump. A
// list holds samples; texts and truth values are notes of each run. Units are those of the name's ending, and whether
// more is better is what the name says; where it says nothing, `--better NAME=higher` of `warpmark history import`
// does. Objects within give dotted names: {"train": {"latency": {"p99_ms": 3}}} is train.latency.p99_ms.
#include <algorithm>
#include <ranges>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "exchange/import.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

bool is_numbers(const Json& value) {
  if (value.is_number()) return true;
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_number(); });
}

/// By the last part of a dotted name, else by all of it: "latency_ms.p99".
Described described_leaf(const std::string& name) {
  const auto dot = name.rfind('.');
  if (dot != std::string::npos) {
    Described leaf = described(name.substr(dot + 1));
    if (!leaf.unit.si.empty() || leaf.better != Better::neither) return leaf;
  }
  return described(name);
}

struct Leaf {
  std::string name;
  const Json* value = nullptr;
};

bool is_text(const Json& value) {
  return value.is_string() || value.is_boolean() ||
         (value.is_array() && std::ranges::all_of(value, [](const Json& item) { return item.is_string(); }));
}

/// Numbers, texts, truth values, lists of numbers or texts, and nulls by their dotted names; false where there is
/// anything else.
bool collect(const Json& json, const std::string& above, std::vector<Leaf>& leaves) {
  for (const auto& [key, value] : json.items()) {
    std::string name = above.empty() ? key : above + "." + key;
    if (value.is_object()) {
      if (!collect(value, name, leaves)) return false;
    } else if (is_numbers(value) || is_text(value) || value.is_null()) {
      leaves.push_back({std::move(name), &value});
    } else {
      return false;
    }
  }
  return true;
}

/// Empty where it is no such object. An object with objects in it may be any settings: one of its names must say that
/// it is a measurement.
std::vector<Leaf> leaves_of(const Document& document) {
  std::vector<Leaf> leaves;
  if (!document.json || !document.json->is_object() || document.json->contains("schema")) return {};
  if (!collect(*document.json, "", leaves)) return {};
  const bool nested = std::ranges::any_of(*document.json, [](const Json& item) { return item.is_object(); });
  const bool speaks = std::ranges::any_of(leaves, [&](const Leaf& leaf) {
    if (!is_numbers(*leaf.value)) return false;
    const Described what = described_leaf(leaf.name);
    return !nested || !what.unit.si.empty() || what.better != Better::neither;
  });
  return speaks && !document.json->contains("full_id") ? leaves : std::vector<Leaf>{};  // Criterion's benchmark.json
}

bool detect_flat(const Document& document) { return !leaves_of(document).empty(); }

using Facts = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kMostFacts = 32;  // each run has them

Facts facts_of(const std::vector<Leaf>& leaves) {
  Facts facts;
  for (const auto& [name, value] : leaves) {
    if (facts.size() == kMostFacts || !is_text(*value)) continue;
    facts.emplace_back(clean_text(name), clean_text(value->is_string() ? value->get<std::string>() : value->dump()));
  }
  return facts;
}

Status read_flat_metric(const Leaf& leaf, const Facts& facts, Session& session) {
  const Described what = described_leaf(leaf.name);
  std::vector<double> samples;
  if (leaf.value->is_number()) {
    samples.push_back(what.unit.to_si(leaf.value->get<double>()));
  } else {
    for (const auto& item : *leaf.value) samples.push_back(what.unit.to_si(item.get<double>()));
  }
  Run& run = add_run(session, leaf.name, kUnknownDevice);
  keep_name(run);
  run.notes.insert(run.notes.end(), facts.begin(), facts.end());
  // One after another in one run of the script, or one a run: nobody knows, so they are not taken for rounds.
  return add_metric(run, {metric_for(what.unit.si), what.unit.si.c_str(), what.better}, std::move(samples));
}

Result<std::vector<Session>> read_flat(const Document& document) {
  const auto leaves = leaves_of(document);
  if (leaves.empty()) {
    return data_error("it is no JSON object of numbers", "such as {\"latency_ms\": 12.3, \"throughput\": 450}");
  }
  Session session = foreign_session("flat JSON");
  ResultLimit limit(document.text);
  const Facts facts = facts_of(leaves);
  for (const auto& leaf : leaves) {
    if (leaf.value->is_null()) session.remarks.push_back(clean_text(leaf.name) + " is not a number: left out");
    if (!is_numbers(*leaf.value)) continue;
    WM_TRY(read_flat_metric(leaf, facts, session));
    WM_TRY(limit.add(session.runs.back()));
  }
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kFlatMetrics{
    "flat", "a JSON object of numbers, {\"metric\": value}", detect_flat, read_flat, nullptr, true};

}  // namespace warpmark::exchange
