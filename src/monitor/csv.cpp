#include "monitor/csv.h"

#include <fmt/format.h>

#include <vector>

#include "base/csv.h"
#include "base/text.h"

namespace warpmark::monitor {
namespace {

template <typename Value>
std::string text_of(const std::optional<Value>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

std::string line(const std::vector<std::string>& fields) { return join(fields, ",") + "\n"; }

}  // namespace

std::string csv_header() {
  return "time_s,device,name,utilization,memory_utilization,memory_used_bytes,memory_bytes,sm_clock_hz,memory_clock_hz,"
         "power_w,power_limit_w,temperature_c,pcie_sent,pcie_received,nvlink_sent,nvlink_received,slowed_by,"
         "load_average\n";
}

std::string csv_rows(const MachineState& state) {
  const std::string time = fmt::format("{:.3f}", static_cast<double>(state.time_ns) * 1e-9);
  const HostState& host = state.host;
  std::vector<std::string> fields{time, "host", csv_field(host.name), text_of(host.utilization), ""};
  fields.push_back(text_of(host.memory_used_bytes));
  fields.push_back(text_of(host.memory_bytes));
  fields.insert(fields.end(), 10, "");
  fields.push_back(text_of(host.load_average));
  std::string rows = line(fields);
  for (const auto& gpu : state.gpus) {
    rows +=
        line({time, fmt::format("gpu{}", gpu.index), csv_field(gpu.name), text_of(gpu.utilization),
              text_of(gpu.memory_utilization), text_of(gpu.memory_used_bytes), text_of(gpu.memory_bytes),
              text_of(gpu.sm_clock_hz), text_of(gpu.memory_clock_hz), text_of(gpu.power_w), text_of(gpu.power_limit_w),
              text_of(gpu.temperature_c), text_of(gpu.pcie_sent), text_of(gpu.pcie_received), text_of(gpu.nvlink_sent),
              text_of(gpu.nvlink_received), join(gpu.slowed_by, " "), ""});
  }
  return rows;
}

}  // namespace warpmark::monitor
