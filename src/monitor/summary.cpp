#include "monitor/summary.h"

#include <algorithm>
#include <optional>

namespace warpmark::monitor {
namespace {

template <typename Number>
void add_known(Extent& extent, const std::optional<Number>& value) {
  if (value) extent.add(static_cast<double>(*value));
}

}  // namespace

void Summarizer::add(const MachineState& state) {
  if (summary_.looks++ == 0) first_ns_ = state.time_ns;
  summary_.seconds = static_cast<double>(state.time_ns - first_ns_) * 1e-9;
  add_known(summary_.host_utilization, state.host.utilization);
  add_known(summary_.host_memory_used, state.host.memory_used_bytes);
  summary_.gpu_problem = state.gpu_problem;
  for (const GpuState& gpu : state.gpus) {
    auto known = std::find_if(summary_.gpus.begin(), summary_.gpus.end(),
                              [&](const GpuSummary& one) { return one.index == gpu.index; });
    if (known == summary_.gpus.end()) {
      known = summary_.gpus.insert(known, GpuSummary{.index = gpu.index, .name = gpu.name});
    }
    if (gpu.memory_bytes) known->memory_bytes = static_cast<double>(*gpu.memory_bytes);
    add_known(known->utilization, gpu.utilization);
    add_known(known->memory_used, gpu.memory_used_bytes);
    add_known(known->power, gpu.power_w);
    add_known(known->sm_clock, gpu.sm_clock_hz);
    add_known(known->temperature, gpu.temperature_c);
    if (!gpu.problem.empty()) {
      ++known->lost_looks;
      known->problem = gpu.problem;
    }
    known->slowed_looks += gpu.slowed_by.empty() ? 0 : 1;
  }
}

}  // namespace warpmark::monitor
