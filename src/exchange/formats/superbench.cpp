// results-summary.json and .jsonl of SuperBench (microsoft.github.io/superbenchmark): an object for each node, whose
// keys are "benchmark/metric:rank". Every node is a session of its own. Units are those of its documentation's tables.
#include <array>

#include "base/text.h"
#include "base/units.h"
#include "exchange/format.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

bool is_node(const Json& json) {
  if (!json.is_object() || !json.contains("node") || !json["node"].is_string()) return false;
  for (const auto& [key, value] : json.items()) {
    if (value.is_number() && key.find('/') != std::string::npos) return true;
  }
  return false;
}

bool detect_superbench(const Document& document) {
  if (!document.json) return false;
  const Json& json = *document.json;
  return is_node(json) || (json.is_array() && !json.empty() && is_node(json[0]));
}

struct Known {
  std::string_view word;
  Unit unit;
};

/// Metrics have no units in their names.
Unit unit_in(const std::string& benchmark, const std::vector<std::string>& words) {
  const bool collective = benchmark.find("nccl") != std::string::npos || benchmark.find("rccl") != std::string::npos;
  const std::array kKnown{Known{"flops", {"FLOP/s", 1e9}},
                          Known{"busbw", {"B/s", 1e9}},
                          Known{"algbw", {"B/s", 1e9}},
                          Known{"bw", {"B/s", 1e9}},
                          Known{"throughput", {"1/s"}},
                          Known{"lat", {"s", 1, 1e6}},
                          Known{"time", {"s", 1, collective ? 1e6 : 1e3}}};
  for (const auto& known : kKnown) {
    if (std::find(words.begin(), words.end(), known.word) != words.end()) return known.unit;
  }
  return {};
}

Status read_value(const std::string& key, double value, Session& session) {
  const auto slash = key.rfind('/'), colon = key.rfind(':');
  const std::string name = key.substr(0, colon);
  const std::string metric = slash == std::string::npos ? name : name.substr(slash + 1);
  if (metric == "return_code") {
    if (value != 0) session.remarks.push_back(clean_text(key) + " is " + Json(value).dump() + ": the benchmark failed");
    return {};
  }
  const auto words = words_of_name(metric);
  Described what = described(metric);
  if (what.unit.si.empty()) what.unit = unit_in(name, words);
  if (what.better == Better::neither) what.better = direction_of_unit(what.unit.si);
  what.id = metric_for(what.unit.si);
  Run& run = add_run(session, name, "cuda");
  run.timing.method = "SuperBench";
  if (colon != std::string::npos) WM_TRY(set_param(run, "rank", param_value(key.substr(colon + 1))));
  return add_described(run, what, {value});
}

Result<std::vector<Session>> read_superbench(const Document& document) {
  if (!detect_superbench(document)) return data_error("it has no 'node' with keys like 'benchmark/metric:0'");
  const Json nodes = document.json->is_array() ? *document.json : Json::array({*document.json});
  std::vector<Session> sessions;
  ResultLimit limit(document.text);
  for (const Json& node : nodes) {
    if (!is_node(node)) continue;
    Session session = foreign_session("SuperBench");
    session.machine.hostname = clean_text(node["node"].get<std::string>());
    for (const auto& [key, value] : node.items()) {
      if (!value.is_number()) continue;
      const std::size_t before = session.runs.size();
      WM_TRY(read_value(key, value.get<double>(), session));
      if (session.runs.size() > before) WM_TRY(limit.add(session.runs.back()));
    }
    sessions.push_back(std::move(session));
  }
  return sessions;
}

}  // namespace

extern const Format kSuperbench{"superbench", "results-summary.jsonl of SuperBench", detect_superbench,
                                read_superbench};

}  // namespace warpmark::exchange
