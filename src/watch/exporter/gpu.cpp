#include "watch/exporter/gpu.h"

#include <chrono>
#include <optional>
#include <thread>

#include "base/clock.h"

namespace warpmark::watch {
namespace {

using device::nvml::GpuActivity;
using device::nvml::GpuFacts;

constexpr double kMiB = 1024.0 * 1024.0;

/// What NVML's clock event reasons are as bits of DCGM_FI_DEV_CLOCK_THROTTLE_REASONS (nvml.h, nvmlClocksEventReason*).
double reason_bits(const std::vector<std::string>& reasons) {
  static const std::map<std::string, unsigned> kBits = {{"gpu_idle", 0x1},
                                                        {"applications_clocks_setting", 0x2},
                                                        {"sw_power_cap", 0x4},
                                                        {"hw_slowdown", 0x8},
                                                        {"sync_boost", 0x10},
                                                        {"sw_thermal_slowdown", 0x20},
                                                        {"hw_thermal_slowdown", 0x40},
                                                        {"hw_power_brake_slowdown", 0x80},
                                                        {"display_clock_setting", 0x100}};
  unsigned bits = 0;
  for (const auto& reason : reasons) {
    if (const auto known = kBits.find(reason); known != kBits.end()) bits |= known->second;
  }
  return bits;
}

std::optional<double> nvlink_rate(std::optional<std::uint64_t> before, std::optional<std::uint64_t> now, double s) {
  if (!before || !now || *now < *before || s <= 0) return std::nullopt;
  return static_cast<double>(*now - *before) / s;
}

std::optional<double> times(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

/// Families by the order in which they were first named.
class Collected {
 public:
  void add(const char* name, const char* help, const Labels& labels, std::optional<double> value,
           FamilyType type = FamilyType::gauge) {
    if (!value) return;
    for (auto& family : families_) {
      if (family.name == name) return family.samples.push_back({labels, *value});
    }
    families_.push_back({name, help, type, {{labels, *value}}});
  }
  [[nodiscard]] std::vector<Family> take() { return std::move(families_); }

 private:
  std::vector<Family> families_;
};

void add_activity(Collected& out, const GpuFacts& facts, const GpuActivity& now, const Labels& labels) {
  out.add("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", labels, times(now.sm_clock_hz, 1e-6));
  out.add("DCGM_FI_DEV_MEM_CLOCK", "Memory clock frequency (in MHz).", labels, times(now.memory_clock_hz, 1e-6));
  out.add("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", labels, now.temperature_c);
  out.add("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", labels, now.power_w);
  out.add("DCGM_FI_DEV_POWER_MGMT_LIMIT", "Power limit that is enforced (in W).", labels, facts.power_limit_w);
  out.add("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "Total energy consumption since the driver was loaded (in mJ).",
          labels, times(now.energy_j, 1e3), FamilyType::counter);
  out.add("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", labels, times(now.utilization, 100));
  out.add("DCGM_FI_DEV_MEM_COPY_UTIL", "Memory utilization (in %).", labels, times(now.memory_utilization, 100));
  if (now.memory_used_bytes) {
    const double used = static_cast<double>(*now.memory_used_bytes), all = static_cast<double>(facts.memory_bytes);
    out.add("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", labels, used / kMiB);
    if (all > 0) {
      out.add("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", labels, (all - used) / kMiB);
      out.add("DCGM_FI_DEV_FB_TOTAL", "Framebuffer memory in all (in MiB).", labels, all / kMiB);
    }
  }
  out.add("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "Why the clock is where it is (bits of NVML).", labels,
          reason_bits(now.clock_event_reasons));
  out.add("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "Total number of single-bit volatile ECC errors.", labels, now.ecc_corrected,
          FamilyType::counter);
  out.add("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "Total number of double-bit volatile ECC errors.", labels,
          now.ecc_uncorrected, FamilyType::counter);
  out.add("warpmark_gpu_processes", "Processes with a compute context on the GPU.", labels,
          static_cast<double>(now.processes.size()));
  for (const auto& reason : now.clock_event_reasons) {
    if (!device::nvml::clock_event_reason_slows(reason)) continue;
    Labels with_reason = labels;
    with_reason.emplace_back("reason", reason);
    out.add("warpmark_gpu_slowed", "1 while this holds the clock down.", with_reason, 1);
  }
}

}  // namespace

GpuLook::GpuLook(monitor::GpuSource source, std::string host) : source_(std::move(source)), host_(std::move(host)) {
  auto list = source_.list();
  if (list.ok()) gpus_ = std::move(*list);
}

std::vector<Family> GpuLook::families(std::int64_t monotonic_ns) {
  Collected out;
  for (const auto& gpu : gpus_) {
    const std::string index = std::to_string(gpu.index);
    const Labels labels = {
        {"gpu", index},          {"UUID", gpu.uuid}, {"pci_bus_id", gpu.pci_bus_id}, {"device", "nvidia" + index},
        {"modelName", gpu.name}, {"Hostname", host_}};
    auto now = source_.activity(gpu.uuid);
    out.add("warpmark_gpu_up", "0 for a GPU that was there at the start and does not answer now.", labels, now.ok());
    if (!now.ok()) {
      before_.erase(gpu.uuid);
      continue;
    }
    add_activity(out, gpu, *now, labels);
    if (const auto pcie = traffic(gpu.uuid)) {
      out.add("DCGM_FI_PROF_PCIE_TX_BYTES", "Bytes sent over PCIe (per second).", labels, pcie->sent);
      out.add("DCGM_FI_PROF_PCIE_RX_BYTES", "Bytes received over PCIe (per second).", labels, pcie->received);
    }
    if (const auto last = before_.find(gpu.uuid); last != before_.end()) {
      const double s = static_cast<double>(monotonic_ns - last->second.monotonic_ns) * 1e-9;
      const auto& was = last->second.activity;
      out.add("DCGM_FI_PROF_NVLINK_TX_BYTES", "Bytes sent over NVLink (per second).", labels,
              nvlink_rate(was.nvlink_sent_bytes, now->nvlink_sent_bytes, s));
      out.add("DCGM_FI_PROF_NVLINK_RX_BYTES", "Bytes received over NVLink (per second).", labels,
              nvlink_rate(was.nvlink_received_bytes, now->nvlink_received_bytes, s));
    }
    before_[gpu.uuid] = {std::move(*now), monotonic_ns};
  }
  return out.take();
}

std::optional<device::nvml::PcieTraffic> GpuLook::traffic(const std::string& uuid) const {
  if (!source_.pcie) return std::nullopt;
  const auto before = source_.pcie(uuid);
  if (!before.ok()) return std::nullopt;
  const std::int64_t began_ns = monotonic_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the counters wrap in 50 ms at full speed
  const auto now = source_.pcie(uuid);
  if (!now.ok()) return std::nullopt;
  return device::nvml::pcie_traffic(*before, *now, static_cast<double>(monotonic_ns() - began_ns) * 1e-9);
}

}  // namespace warpmark::watch
