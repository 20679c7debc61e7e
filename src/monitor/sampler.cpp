#include "monitor/sampler.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/csv.h"
#include "base/text.h"
#include "device/cpu/memory.h"
#include "device/cpu/proc.h"

namespace warpmark::monitor {
namespace {

double thread_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::optional<double> share(const CpuTicks& before, const CpuTicks& now) {
  if (now.all <= before.all) return std::nullopt;
  const double busy = static_cast<double>(now.busy - before.busy) / static_cast<double>(now.all - before.all);
  return std::clamp(busy, 0.0, 1.0);
}

/// Bytes a second between two readings of a counter; nothing if it wrapped or was reset.
std::optional<double> rate(std::optional<std::uint64_t> before, std::optional<std::uint64_t> now, double elapsed_s) {
  if (!before || !now || *now < *before || elapsed_s <= 0) return std::nullopt;
  return static_cast<double>(*now - *before) / elapsed_s;
}

GpuState state_of(const GpuReading& reading) {
  const auto& [facts, now, pcie, monotonic] = reading;
  GpuState gpu;
  gpu.index = facts.index;
  gpu.name = facts.name;
  if (!now.up) gpu.problem = now.fault ? now.fault->text : "";
  if (facts.memory_bytes > 0) gpu.memory_bytes = facts.memory_bytes;
  gpu.power_limit_w = facts.power_limit_w;
  gpu.utilization = now.utilization;
  gpu.memory_utilization = now.memory_utilization;
  gpu.memory_used_bytes = now.memory_used_bytes;
  gpu.sm_clock_hz = now.sm_clock_hz;
  gpu.memory_clock_hz = now.memory_clock_hz;
  gpu.power_w = now.power_w;
  gpu.temperature_c = now.temperature_c;
  if (pcie) {
    gpu.pcie_sent = pcie->sent;
    gpu.pcie_received = pcie->received;
  }
  for (const auto& reason : now.clock_event_reasons.value_or(std::vector<std::string>())) {
    if (device::nvml::clock_event_reason_slows(reason)) gpu.slowed_by.push_back(reason);
  }
  return gpu;
}

template <typename Value>
std::string text_of(const std::optional<Value>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

std::string line(const std::vector<std::string>& fields) { return join(fields, ",") + "\n"; }

template <typename Number>
void add_known(Extent& extent, const std::optional<Number>& value) {
  if (value) extent.add(static_cast<double>(*value));
}

}  // namespace

Sampler::Sampler(SamplerOptions options, GpuSource gpus)
    : options_(std::move(options)), gpus_(std::move(gpus), options_.gpus), proc_(options_.root) {}

MachineState Sampler::sample(const Moment& now) {
  MachineState state;
  state.time_ns = now.unix_ns;
  state.host.name = options_.host;
  inspect_host(state.host);
  std::map<std::int64_t, std::vector<GpuUse>> users;
  if (options_.processes > 0) inspect_processes(now.monotonic_ns);
  inspect_gpus(state, now.monotonic_ns, users);
  if (options_.processes > 0) state.processes = shown(std::move(users));
  return state;
}

void Sampler::inspect_host(HostState& host) {
  const auto cpus = parse_cpu_ticks(proc_.read("stat"));
  host.cpus = std::max(0, static_cast<int>(cpus.size()) - 1);
  if (cpus.size() == last_cpus_.size() && !cpus.empty()) {
    host.utilization = share(last_cpus_[0], cpus[0]);
    for (std::size_t i = 1; i < cpus.size(); ++i) {
      host.cpu_utilization.push_back(share(last_cpus_[i], cpus[i]).value_or(0));
    }
  }
  last_cpus_ = cpus;
  host.load_average = device::parse_load_average(proc_.read("loadavg"));
  const auto memory = device::parse_meminfo(proc_.read("meminfo"));
  host.memory_bytes = memory.total_bytes;
  if (memory.total_bytes && memory.available_bytes) {
    host.memory_used_bytes = *memory.total_bytes - *memory.available_bytes;
  }
}

void Sampler::inspect_gpus(MachineState& state, std::int64_t monotonic,
                           std::map<std::int64_t, std::vector<GpuUse>>& users) {
  auto readings = gpus_.probe();
  state.gpu_problem = std::move(readings.problem);
  std::map<std::string, Before> seen;
  for (const auto& reading : readings.gpus) {
    auto row = state_of(reading);
    if (reading.now.up) {
      const Before now{reading.now.nvlink_sent_bytes, reading.now.nvlink_received_bytes, monotonic};
      if (const auto at = before_.find(reading.facts.uuid); at != before_.end()) {
        const auto& before = at->second;
        const double elapsed_s = static_cast<double>(monotonic - before.monotonic_ns) * 1e-9;
        row.nvlink_sent = rate(before.nvlink_sent_bytes, now.nvlink_sent_bytes, elapsed_s);
        row.nvlink_received = rate(before.nvlink_received_bytes, now.nvlink_received_bytes, elapsed_s);
      }
      seen[reading.facts.uuid] = now;
    }
    for (const auto& process : reading.now.processes) {
      users[process.id].push_back({reading.facts.index, process.memory_bytes});
    }
    state.gpus.push_back(std::move(row));
  }
  before_ = std::move(seen);
}

void Sampler::inspect_processes(std::int64_t monotonic_ns) {
  const double elapsed_s = static_cast<double>(monotonic_ns - last_processes_ns_) * 1e-9;
  const bool first = last_processes_ns_ == 0;
  if (!first && elapsed_s * options_.process_share < process_cost_s_) return;
  last_processes_ns_ = monotonic_ns;
  const double began_s = thread_cpu_s();
  const double ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto page_bytes = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  std::map<std::int64_t, KnownProcess> known;
  processes_.clear();
  for (auto& process : proc_.processes()) {
    KnownProcess entry{process.ticks, process.started, std::move(process.name), {}};
    ProcessState row;
    row.id = process.id;
    row.memory_bytes = process.resident_pages * page_bytes;
    row.threads = process.threads;
    if (const auto before = known_.find(process.id);
        before != known_.end() && before->second.started == process.started) {
      entry.command = std::move(before->second.command);
      if (!first && elapsed_s > 0) {
        row.cores = static_cast<double>(std::max<std::int64_t>(0, process.ticks - before->second.ticks)) / ticks_per_s /
                    elapsed_s;
      }
    }
    known.emplace(process.id, std::move(entry));
    processes_.push_back(std::move(row));
  }
  known_ = std::move(known);
  process_cost_s_ = thread_cpu_s() - began_s;
}

std::vector<ProcessState> Sampler::shown(std::map<std::int64_t, std::vector<GpuUse>> users) {
  std::vector<ProcessState> rows = processes_;
  for (auto& row : rows) {
    if (auto user = users.extract(row.id)) row.gpus = std::move(user.mapped());
  }
  for (auto& [id, gpus] : users) {  // not seen from here: in another container, or just ended
    ProcessState row;
    row.id = id;
    row.gpus = std::move(gpus);
    rows.push_back(std::move(row));
  }
  const auto order = [](const ProcessState& a, const ProcessState& b) {
    if (a.gpus.empty() != b.gpus.empty()) return b.gpus.empty();
    if (a.cores.value_or(0) != b.cores.value_or(0)) return a.cores.value_or(0) > b.cores.value_or(0);
    if (a.memory_bytes != b.memory_bytes) return a.memory_bytes > b.memory_bytes;
    return a.id < b.id;
  };
  std::sort(rows.begin(), rows.end(), order);
  const auto users_end = std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.gpus.empty(); });
  const auto keep = static_cast<std::size_t>(users_end - rows.begin()) + options_.processes;
  if (rows.size() > keep) rows.resize(keep);
  for (auto& row : rows) {
    const auto known = known_.find(row.id);
    if (known == known_.end()) continue;
    auto& [ticks, started, name, command] = known->second;
    if (command.empty()) command = proc_.command(row.id, name);
    row.command = command;
  }
  return rows;
}

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

void Summarizer::add(const MachineState& state) {
  if (summary_.polls++ == 0) first_ns_ = state.time_ns;
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
      ++known->lost_polls;
      known->problem = gpu.problem;
    }
    known->slowed_polls += gpu.slowed_by.empty() ? 0 : 1;
  }
}

}  // namespace warpmark::monitor
