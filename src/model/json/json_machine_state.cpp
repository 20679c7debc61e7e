#include "model/machine_state.h"

#include "base/json.h"

namespace warpmark {
namespace {

template <typename Value>
void put(Json& json, const char* key, const std::optional<Value>& value) {
  if (value) json[key] = *value;
}

Json host_json(const HostState& host) {
  Json json{{"name", host.name}, {"cpus", host.cpus}};
  put(json, "utilization", host.utilization);
  if (!host.cpu_utilization.empty()) json["cpu_utilization"] = host.cpu_utilization;
  put(json, "load_average", host.load_average);
  put(json, "memory_bytes", host.memory_bytes);
  put(json, "memory_used_bytes", host.memory_used_bytes);
  return json;
}

Json gpu_json(const GpuState& gpu) {
  Json json{{"index", gpu.index}, {"name", gpu.name}};
  put(json, "utilization", gpu.utilization);
  put(json, "memory_utilization", gpu.memory_utilization);
  put(json, "memory_bytes", gpu.memory_bytes);
  put(json, "memory_used_bytes", gpu.memory_used_bytes);
  put(json, "sm_clock_hz", gpu.sm_clock_hz);
  put(json, "memory_clock_hz", gpu.memory_clock_hz);
  put(json, "power_w", gpu.power_w);
  put(json, "power_limit_w", gpu.power_limit_w);
  put(json, "temperature_c", gpu.temperature_c);
  put(json, "pcie_sent", gpu.pcie_sent);
  put(json, "pcie_received", gpu.pcie_received);
  put(json, "nvlink_sent", gpu.nvlink_sent);
  put(json, "nvlink_received", gpu.nvlink_received);
  if (!gpu.problem.empty()) json["problem"] = gpu.problem;
  json["slowed_by"] = gpu.slowed_by;
  return json;
}

Json process_json(const ProcessState& process) {
  Json json{{"id", process.id}};
  if (!process.command.empty()) json["command"] = process.command;
  put(json, "cores", process.cores);
  if (process.threads > 0) {
    json["memory_bytes"] = process.memory_bytes;
    json["threads"] = process.threads;
  }
  json["gpus"] = Json::array();
  for (const auto& use : process.gpus) {
    Json row{{"gpu", use.gpu}};
    put(row, "memory_bytes", use.memory_bytes);
    json["gpus"].push_back(std::move(row));
  }
  return json;
}

}  // namespace

Json to_json(const MachineState& state) {
  Json json{{"schema", kMonitorSchema}, {"time_s", static_cast<double>(state.time_ns) * 1e-9}};
  json["host"] = host_json(state.host);
  json["gpus"] = Json::array();
  for (const auto& gpu : state.gpus) json["gpus"].push_back(gpu_json(gpu));
  if (!state.gpu_problem.empty()) json["gpu_problem"] = state.gpu_problem;
  json["processes"] = Json::array();
  for (const auto& process : state.processes) json["processes"].push_back(process_json(process));
  return json;
}

}  // namespace warpmark
