// side_by_side WARPMARK.json BENCHMARK.json...: the rates of warpmark's results beside those of Google Benchmark
// programs that measured the same. Several files of one program are pooled, so that runs before and after warpmark's
// even out a drift of the machine. Exits 1 if warpmark is more than 5 % below or no pair was found.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "model/json/json.h"

namespace {

using namespace warpmark;  // a program of one file

constexpr double kTolerance = 0.05;

Result<Json> read_json(const char* path) {
  WM_ASSIGN(const auto text, read_file(path, std::int64_t{1} << 28));
  return parse_json(text, path);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// What one benchmark measured, over all its repetitions, and which metric of ours is the same quantity.
struct Rates {
  std::string metric;
  std::vector<double> values;  ///< B/s or FLOP/s
};

/// By name: "copy/size:268435456/streaming:1/real_time".
Status add_rates(const char* path, std::map<std::string, Rates>& rates) {
  WM_ASSIGN(const auto json, read_json(path));
  if (!json.contains("benchmarks")) return data_error(std::string(path) + " is not Google Benchmark's JSON");
  for (const auto& row : json["benchmarks"]) {
    if (row.value("run_type", "") != "iteration") continue;  // aggregates are made here
    const bool moves_bytes = row.contains("bytes_per_second");
    auto& found = rates[row.value("run_name", row.value("name", ""))];
    found.metric = moves_bytes ? "bandwidth" : "flop_rate";
    found.values.push_back(row.value(moves_bytes ? "bytes_per_second" : "items_per_second", 0.0));
  }
  return {};
}

/// Whether "copy/size:268435456/streaming:1/real_time" names what this run measured. How the peer stores is its own
/// affair.
bool is_same(const std::string& name, const Run& run) {
  const auto parts = split(name, '/');
  if (parts.empty() || parts[0] != run.workload) return false;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto colon = parts[i].find(':');
    if (colon == std::string::npos) continue;
    const auto key = parts[i].substr(0, colon);
    if (key == "streaming") continue;
    if (!run.params.has(key) || std::to_string(run.params.integer(key)) != parts[i].substr(colon + 1)) return false;
  }
  return true;
}

std::optional<double> rate_of(const Run& run, const std::string& metric_id) {
  for (const auto& metric : run.metrics) {
    if (metric.id == metric_id) return metric.summary.median;
  }
  return std::nullopt;
}

/// True if no pair differs for the worse.
Result<bool> compare(int count, char** paths) {
  WM_ASSIGN(const auto json, read_json(paths[0]));
  WM_ASSIGN(const auto session, session_from_json(json));
  std::map<std::string, Rates> rates;
  for (int i = 1; i < count; ++i) WM_TRY(add_rates(paths[i], rates));
  std::size_t pairs = 0;
  bool good = true;
  for (const auto& [name, theirs_of] : rates) {
    for (const auto& run : session.runs) {
      const auto ours = rate_of(run, theirs_of.metric);
      if (!ours || !is_same(name, run)) continue;
      const double theirs = median(theirs_of.values);
      const double ratio = *ours / theirs;
      fmt::print("{:50} {:10.2f} G/s   warpmark {:10.2f} G/s   {:+6.1f} %\n", name, theirs * 1e-9, *ours * 1e-9,
                 (ratio - 1) * 100);
      good = good && ratio > 1 - kTolerance;
      ++pairs;
    }
  }
  if (pairs == 0) return data_error("no benchmark has a result of warpmark beside it");
  return good;
}

}  // namespace

int main(int count, char** arguments) {
  const char* usage = "side_by_side WARPMARK.json BENCHMARK.json...";
  if (const auto code = warpmark::bench::end_with_usage(count, arguments, usage, 2, 100)) return *code;
  const auto good = compare(count - 1, arguments + 1);
  if (!good) {
    fmt::print(stderr, "side_by_side: {}\n", good.error().what);
    return 2;
  }
  return *good ? 0 : 1;
}
