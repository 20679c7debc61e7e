// MachineSummary as JSON, "warpmark.monitor_summary/1". Written only.
#include "base/json.h"
#include "model/json/json_fields.h"
#include "model/machine_summary.h"

namespace warpmark {
namespace {

void put_extent(Json& json, const char* key, const Extent& extent) {
  if (extent.looks == 0) return;
  json[key] = {{"min", finite_number(extent.least)},
               {"mean", finite_number(extent.mean)},
               {"max", finite_number(extent.most)},
               {"looks", extent.looks}};
}

Json gpu_summary_json(const GpuSummary& gpu) {
  Json json{{"index", gpu.index}, {"name", gpu.name}};
  if (gpu.memory_bytes > 0) json["memory"] = finite_number(gpu.memory_bytes);
  put_extent(json, "utilization", gpu.utilization);
  put_extent(json, "memory_used", gpu.memory_used);
  put_extent(json, "power", gpu.power);
  put_extent(json, "sm_clock", gpu.sm_clock);
  put_extent(json, "temperature", gpu.temperature);
  if (gpu.lost_looks > 0) {
    json["lost_looks"] = gpu.lost_looks;
    json["problem"] = gpu.problem;
  }
  json["slowed_looks"] = gpu.slowed_looks;
  return json;
}

}  // namespace

Json to_json(const MachineSummary& summary) {
  Json json{{"schema", kMonitorSummarySchema}, {"looks", summary.looks}, {"seconds", finite_number(summary.seconds)}};
  put_extent(json, "host_utilization", summary.host_utilization);
  put_extent(json, "host_memory_used", summary.host_memory_used);
  json["gpus"] = Json::array();
  for (const auto& gpu : summary.gpus) json["gpus"].push_back(gpu_summary_json(gpu));
  if (!summary.gpu_problem.empty()) json["gpu_problem"] = summary.gpu_problem;
  return json;
}

}  // namespace warpmark
