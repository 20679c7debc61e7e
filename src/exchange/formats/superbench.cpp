// results-summary.json and .jsonl of SuperBench (microsoft.github.io/superbenchmark): an object for each node, whose
// keys are "benchmark/metric:rank". Every node is a session of its own. Units are those of its documentation's tables.
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "exchange/import.h"
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
  std::string_view benchmark;  ///< a part of its name; empty: any
  std::string_view word;
  Unit unit;
};

/// Metrics have no units in their names: they are those of its tables of metrics, the first line that fits.
Unit unit_in(std::string_view benchmark, const std::vector<std::string>& words) {
  const std::array kKnown{Known{"", "mkps", {"1/s", 1e6}},
                          Known{"cpu-memory-bw-latency", "lat", {"s", 1, 1e9}},
                          Known{"cpu-memory-bw-latency", "bw", {"B/s", 1e6}},
                          Known{"cpu-stream", "throughput", {"B/s", 1e6}},
                          Known{"cpu-stream", "time", {"s"}},
                          Known{"cpu-hpl", "throughput", {"FLOP/s", 1e9}},
                          Known{"cpu-hpl", "time", {"s"}},
                          Known{"gpu-burn", "time", {"s"}},
                          Known{"gpu-hpcg", "time", {"s"}},
                          Known{"gpu-stream", "time", {"s"}},
                          Known{"gpcnet", "bw", {"B/s", 1 << 20}},
                          Known{"blaslt-gemm", "flops", {"FLOP/s", 1e12}},
                          Known{"cublas-function", "time", {"s", 1, 1e6}},
                          Known{"cudnn-function", "time", {"s", 1, 1e6}},
                          Known{"nccl", "time", {"s", 1, 1e6}},
                          Known{"rccl", "time", {"s", 1, 1e6}},
                          Known{"", "flops", {"FLOP/s", 1e9}},
                          Known{"", "busbw", {"B/s", 1e9}},
                          Known{"", "algbw", {"B/s", 1e9}},
                          Known{"", "bw", {"B/s", 1e9}},
                          Known{"", "bandwidth", {"B/s", 1e9}},
                          Known{"", "throughput", {"1/s"}},
                          Known{"", "lat", {"s", 1, 1e6}},
                          Known{"", "time", {"s", 1, 1e3}}};
  for (const auto& known : kKnown) {
    if (benchmark.find(known.benchmark) == std::string_view::npos) continue;
    if (std::find(words.begin(), words.end(), known.word) != words.end()) return known.unit;
  }
  return {};
}

Status read_value(const std::string& key, double value, Session& session) {
  const auto slash = key.rfind('/');
  auto colon = key.rfind(':');  // before the rank; "nccl-bw:nvlink" is a benchmark
  if (slash != std::string::npos && colon != std::string::npos && colon < slash) colon = std::string::npos;
  const std::string name = key.substr(0, colon);
  const std::string metric = slash == std::string::npos ? name : name.substr(slash + 1);
  if (metric == "return_code") {
    if (value == 0) return {};
    const std::string code = fmt::format("return code {:g}", value);
    Run& failed = add_run(session, name.substr(0, slash), "cuda");
    failed.outcome = Outcome::error;
    failed.reason = code;
    session.remarks.push_back(failed.workload + " failed: " + code);
    return {};
  }
  const auto words = words_of_name(metric);
  Described what = described(metric);
  if (what.unit.si.empty()) what.unit = unit_in(std::string_view(name).substr(0, slash), words);
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
