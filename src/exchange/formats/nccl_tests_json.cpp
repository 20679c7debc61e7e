#include "exchange/formats/nccl_tests_json.h"

#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "exchange/imported.h"

namespace warpmark::exchange {
namespace {

using profile::NcclLog;
using profile::NcclSweep;

void read_device(JsonFields& fields, NcclSweep& sweep) {
  std::int64_t rank = 0;
  profile::NcclDevice device;
  fields.required("rank", rank);
  fields.maybe("hostname", device.host);
  fields.maybe("device_info", device.name);
  if (rank < 0 || rank > 1'000'000) return fields.fail("rank", "is no rank");
  device.rank = static_cast<int>(rank);
  sweep.several_rank_zeros = sweep.several_rank_zeros || (rank == 0 && !sweep.devices.empty());
  sweep.devices.push_back(std::move(device));
}

void read_iterations(JsonFields& fields, CollectiveResult& result) {
  constexpr std::pair<const char*, const char*> kColumns[] = {
      {"min_us", "i_min"}, {"max_us", "i_max"}, {"p99_us", "i_p99"}, {"cv_pct", "i_cv%"}};
  for (const auto& [key, column] : kColumns) {
    std::optional<double> value;
    fields.maybe(key, value);
    if (value) result.others.emplace_back(column, *value);
  }
  fields.maybe("times_us", result.iteration_seconds);
  for (double& time : result.iteration_seconds) time /= 1e6;
}

void read_half(JsonFields& row, const char* key, const CollectiveResult& common, NcclSweep& sweep) {
  if (!row.has(key) || row.json()[key].is_null()) return;
  row.object(key, false, [&](JsonFields& fields) {
    CollectiveResult result = common;
    result.in_place = std::string_view(key) == "in_place";
    double time_us = 0, algorithm = 0, bus = 0;
    std::optional<double> wrong;
    fields.required(fields.has("cpu_time") ? "cpu_time" : "time", time_us);
    fields.required("alg_bw", algorithm);
    fields.required("bus_bw", bus);
    fields.maybe("nwrong", wrong);
    result.seconds = time_us / 1e6;
    result.algorithm_bandwidth = algorithm * 1e9;
    result.bus_bandwidth = bus * 1e9;
    if (wrong && std::fabs(*wrong) < 9e18) result.wrong = std::llround(*wrong);
    row.object((std::string(key) + "_per_iter").c_str(), false,
               [&](JsonFields& iterations) { read_iterations(iterations, result); });
    sweep.results.push_back(std::move(result));
  });
}

void read_row(JsonFields& row, NcclSweep& sweep) {
  CollectiveResult common;
  std::string root = "-1";
  row.required("size", common.bytes);
  row.maybe("type", common.data_type);
  row.maybe("redop", common.operation);
  row.maybe("root", root);
  if (common.operation == "none") common.operation.clear();
  const auto number = parse_integer(trim(root));
  common.root = number.ok() && *number >= 0 && *number < 1'000'000 ? static_cast<int>(*number) : -1;
  read_half(row, "out_of_place", common, sweep);
  read_half(row, "in_place", common, sweep);
}

}  // namespace

bool is_nccl_tests_json(const Json& json) {
  return json.is_object() && json.contains("nccl_version") && json.contains("results") && json["results"].is_array();
}

Result<NcclLog> nccl_log_from_json(const Json& json) {
  if (!is_nccl_tests_json(json)) return data_error("it has no 'nccl_version' and 'results'");
  std::optional<Error> error;
  NcclLog log;
  NcclSweep sweep;
  JsonFields fields(json, "", error);
  std::int64_t version = 0, graph = 0;
  fields.maybe("nccl_version", version);
  if (version > 0) log.library_version = profile::nccl_version_of(version);
  std::vector<std::string> arguments;
  fields.maybe("args", arguments);
  for (const auto& argument : arguments) {
    if (sweep.collective.empty()) sweep.collective = profile::nccl_collective_in(argument);
  }
  fields.object("config", false, [&](JsonFields& config) { config.maybe("graph", graph); });
  if (graph != 0) sweep.settings["graph"] = std::to_string(graph);
  fields.each("devices", [&](JsonFields& device) { read_device(device, sweep); });
  fields.each("results", [&](JsonFields& row) { read_row(row, sweep); });
  fields.object("out_of_bounds", false, [&](JsonFields& bounds) {
    std::int64_t count = 0;
    bounds.maybe("count", count);
    sweep.out_of_bounds = count;
  });
  if (error) return *error;
  for (auto& result : sweep.results) result.ranks = sweep.ranks();
  profile::infer_collective(sweep);
  if (!sweep.results.empty()) log.sweeps.push_back(std::move(sweep));
  return log;
}

}  // namespace warpmark::exchange
