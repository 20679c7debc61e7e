#include "monitor/sampler.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
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

GpuState state_of(const device::nvml::GpuFacts& facts, const device::nvml::GpuActivity& now) {
  GpuState gpu;
  gpu.index = facts.index;
  gpu.name = facts.name;
  if (facts.memory_bytes > 0) gpu.memory_bytes = facts.memory_bytes;
  gpu.power_limit_w = facts.power_limit_w;
  gpu.utilization = now.utilization;
  gpu.memory_utilization = now.memory_utilization;
  gpu.memory_used_bytes = now.memory_used_bytes;
  gpu.sm_clock_hz = now.sm_clock_hz;
  gpu.memory_clock_hz = now.memory_clock_hz;
  gpu.power_w = now.power_w;
  gpu.temperature_c = now.temperature_c;
  for (const auto& reason : now.clock_event_reasons) {
    if (device::nvml::clock_event_reason_slows(reason)) gpu.slowed_by.push_back(reason);
  }
  return gpu;
}

}  // namespace

GpuSource nvml_source() {
  return {[] { return device::nvml::gpu_list(); },
          [](const std::string& uuid) { return device::nvml::activity_of(uuid); },
          [](const std::string& uuid) { return device::nvml::pcie_bytes_of(uuid); }};
}

Sampler::Sampler(SamplerOptions options, GpuSource gpus)
    : options_(std::move(options)), source_(std::move(gpus)), proc_(options_.root) {
  const auto list = source_.list();
  if (!list.ok()) {
    gpu_problem_ = list.error().what;
    return;
  }
  for (const auto& facts : *list) {
    gpus_.emplace_back();
    gpus_.back().facts = facts;
  }
  if (gpus_.empty()) gpu_problem_ = "the driver lists no GPU";
}

MachineState Sampler::sample(const Moment& now) {
  MachineState state;
  state.time_ns = now.unix_ns;
  state.gpu_problem = gpu_problem_;
  state.host.name = options_.host;
  begin_traffic();
  look_at_host(state.host);
  std::map<std::int64_t, std::vector<GpuUse>> users;
  const double elapsed_s = last_ns_ == 0 ? 0 : static_cast<double>(now.monotonic_ns - last_ns_) * 1e-9;
  if (options_.processes > 0) look_at_processes(now.monotonic_ns);
  look_at_gpus(state, elapsed_s, users);
  last_ns_ = now.monotonic_ns;
  if (options_.processes > 0) state.processes = shown(std::move(users));
  return state;
}

void Sampler::begin_traffic() {
  for (auto& gpu : gpus_) {
    gpu.pcie.reset();
    if (!source_.pcie) continue;
    const auto bytes = source_.pcie(gpu.facts.uuid);
    if (bytes.ok()) gpu.pcie = *bytes;
    gpu.pcie_ns = monotonic_ns();
  }
}

std::optional<device::nvml::PcieTraffic> Sampler::traffic_of(const Gpu& gpu) const {
  if (!gpu.pcie) return std::nullopt;
  constexpr std::int64_t kBetweenNs = 20'000'000;
  const std::int64_t left_ns = gpu.pcie_ns + kBetweenNs - monotonic_ns();
  if (left_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left_ns));
  const auto now = source_.pcie(gpu.facts.uuid);
  if (!now.ok()) return std::nullopt;
  return device::nvml::pcie_traffic(*gpu.pcie, *now, static_cast<double>(monotonic_ns() - gpu.pcie_ns) * 1e-9);
}

void Sampler::look_at_host(HostState& host) {
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

void Sampler::look_at_gpus(MachineState& state, double elapsed_s, std::map<std::int64_t, std::vector<GpuUse>>& users) {
  for (auto& gpu : gpus_) {
    auto now = source_.activity(gpu.facts.uuid);
    if (!now.ok()) {  // a GPU that fell off the bus: it is listed, and nothing is known of it
      gpu.seen = false;
      state.gpus.push_back(state_of(gpu.facts, {}));
      continue;
    }
    auto row = state_of(gpu.facts, *now);
    if (const auto traffic = traffic_of(gpu)) {
      row.pcie_sent = traffic->sent;
      row.pcie_received = traffic->received;
    }
    if (gpu.seen) {
      row.nvlink_sent = rate(gpu.last.nvlink_sent_bytes, now->nvlink_sent_bytes, elapsed_s);
      row.nvlink_received = rate(gpu.last.nvlink_received_bytes, now->nvlink_received_bytes, elapsed_s);
    }
    for (const auto& process : now->processes) {
      users[process.id].push_back({gpu.facts.index, process.memory_bytes});
    }
    gpu.last = std::move(*now);
    gpu.seen = true;
    state.gpus.push_back(std::move(row));
  }
}

void Sampler::look_at_processes(std::int64_t monotonic_ns) {
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

}  // namespace warpmark::monitor
