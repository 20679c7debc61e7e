#include "watch/exporter/exporter.h"

#include <sys/resource.h>

#include <algorithm>
#include <iterator>

#include "base/clock.h"

namespace warpmark::watch {

Exporter::Exporter(const ExporterOptions& options)
    : host_name_(options.host),
      version_(options.version),
      revision_(options.revision),
      gpus_(options.gpus, options.host, options.poll),
      host_(options.root, options.rates),
      peers_({.rates = options.rates}),
      running_folder_(options.running_folder),
      open_store_(options.open_store),
      store_stamp_(options.store_stamp) {}

/// Reading the store is more than half of what a scrape costs, and it seldom changes.
const std::vector<Family>& Exporter::stored() {
  std::string stamp = store_stamp_ ? store_stamp_() : std::string();
  if (!stamp.empty() && stamp == stored_stamp_) return stored_;
  const auto judged = verdicts_.judged();
  stored_ = stored_families(open_store_, &verdicts_);
  const bool more_to_judge = verdicts_.judged() != judged;
  stored_stamp_ = more_to_judge ? std::string() : std::move(stamp);
  return stored_;
}

/// Also what client libraries of Prometheus tell of the process that they are in.
std::vector<Family> Exporter::of_itself(std::int64_t began_ns) {
  std::vector<Family> all;
  if (!version_.empty()) {
    all.push_back({"warpmark_build_info",
                   "1; the labels say which warpmark this is.",
                   FamilyType::gauge,
                   {{{{"version", version_}, {"revision", revision_}, {"Hostname", host_name_}}, 1}}});
  }
  const auto add = [&](const char* name, const char* help, FamilyType type, double value) {
    all.push_back({name, help, type, {{{}, value}}});
  };
  add("warpmark_exporter_scrapes_total", "Scrapes since the exporter started.", FamilyType::counter,
      static_cast<double>(++polls_));
  add("warpmark_exporter_scrape_duration_seconds", "Time that this scrape took.", FamilyType::gauge,
      static_cast<double>(monotonic_ns() - began_ns) * 1e-9);
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    add("process_cpu_seconds_total", "User and system time of the exporter.", FamilyType::counter,
        seconds(used.ru_utime) + seconds(used.ru_stime));
  }
  return all;
}

std::vector<Family> Exporter::families() {
  const std::lock_guard guard(searching_);
  const std::int64_t now_ns = monotonic_ns();
  std::vector<Family> all = gpus_.families();
  std::ranges::move(host_.families(now_ns), std::back_inserter(all));
  std::ranges::move(peers_.families(now_ns), std::back_inserter(all));
  if (open_store_) std::ranges::copy(stored(), std::back_inserter(all));
  if (!running_folder_.empty()) {
    std::ranges::move(running_families(store::running_sessions(running_folder_)), std::back_inserter(all));
    std::ranges::move(heartbeat_families(running_folder_), std::back_inserter(all));
  }
  std::ranges::move(of_itself(now_ns), std::back_inserter(all));
  return all;
}

std::string Exporter::text(TextFormat format) { return render_families(families(), format); }

Answer Exporter::answer(const Asked& asked) {
  if (asked.path == "/healthz") return {.body = "ok\n"};
  if (asked.path == "/") return {.body = "warpmark exporter: the metrics are at /metrics\n"};
  if (asked.path != "/metrics") return {.status = 404, .body = "nothing is here; the metrics are at /metrics\n"};
  const bool open = asked.accept.find("application/openmetrics-text") != std::string::npos;
  const auto format = open ? TextFormat::open_metrics : TextFormat::prometheus;
  return {.type = content_type_of(format), .body = text(format)};
}

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

std::optional<double> times(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

}  // namespace

/// Families by the order in which they were first named, also those without a value.
class Collected {
 public:
  void add(const char* name, const char* help, const Labels& labels, std::optional<double> value,
           FamilyType type = FamilyType::gauge) {
    auto family = std::ranges::find_if(families_, [&](const Family& one) { return one.name == name; });
    if (family == families_.end()) family = families_.insert(family, {name, help, type, {}});
    if (value) family->samples.push_back({labels, *value});
  }
  [[nodiscard]] std::vector<Family> take() { return std::move(families_); }

 private:
  std::vector<Family> families_;
};

namespace {

Labels with(Labels labels, const char* name, const std::string& value) {
  labels.emplace_back(name, value);
  return labels;
}

void add_activity(Collected& out, const GpuFacts& facts, const GpuActivity& now, const Labels& labels) {
  out.add("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", labels, times(now.sm_clock_hz, 1e-6));
  out.add("DCGM_FI_DEV_MEM_CLOCK", "Memory clock frequency (in MHz).", labels, times(now.memory_clock_hz, 1e-6));
  out.add("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", labels, now.temperature_c);
  out.add("DCGM_FI_DEV_MEMORY_TEMP", "Memory temperature (in C).", labels, now.memory_temperature_c);
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
  if (now.clock_event_reasons) {
    out.add("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "Why the clock is where it is (bits of NVML).", labels,
            reason_bits(*now.clock_event_reasons));
  }
  out.add("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "Total number of single-bit volatile ECC errors.", labels, now.ecc_corrected,
          FamilyType::counter);
  out.add("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "Total number of double-bit volatile ECC errors.", labels,
          now.ecc_uncorrected, FamilyType::counter);
  out.add("warpmark_gpu_processes", "Processes with a compute context on the GPU.", labels,
          static_cast<double>(now.processes.size()));
  for (const auto& reason : now.clock_event_reasons.value_or(std::vector<std::string>())) {
    if (!device::nvml::clock_event_reason_slows(reason)) continue;
    out.add("warpmark_gpu_slowed", "1 while this holds the clock down.", with(labels, "reason", reason), 1);
  }
}

void add_errors(Collected& out, const GpuActivity& now, const Labels& labels) {
  out.add("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "Total number of PCIe retries.", labels, now.pcie_replays,
          FamilyType::counter);
  if (const auto& rows = now.remapped_rows) {
    out.add("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "Number of remapped rows for uncorrectable errors.", labels,
            rows->uncorrectable, FamilyType::counter);
    out.add("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "Number of remapped rows for correctable errors.", labels,
            rows->correctable, FamilyType::counter);
    out.add("DCGM_FI_DEV_ROW_REMAP_FAILURE", "Whether remapping of rows has failed.", labels, rows->failed);
    out.add("DCGM_FI_DEV_ROW_REMAP_PENDING", "Whether a reset of the GPU remaps rows.", labels, rows->pending);
  }
}

void add_xids(Collected& out, const GpuActivity& now, const Labels& labels) {
  if (const auto& xids = now.xid_errors) {
    out.add("DCGM_FI_DEV_XID_ERRORS", "Value of the last XID error encountered; 0: none.", labels, xids->last);
    constexpr const char* kCounts = "warpmark_gpu_xid_errors_total";
    constexpr const char* kHelp = "XID errors since the exporter started.";
    out.add(kCounts, kHelp, labels, std::nullopt, FamilyType::counter);
    for (const auto& [xid, count] : xids->counts) {
      out.add(kCounts, kHelp, with(labels, "xid", std::to_string(xid)), static_cast<double>(count),
              FamilyType::counter);
    }
  }
}

void add_units(Collected& out, const GpuActivity& now, const Labels& labels) {
  using device::nvml::GpuUnit;
  static const std::map<GpuUnit, std::pair<const char*, const char*>> kNames = {
      {GpuUnit::graphics, {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "Ratio of time the graphics engine is active."}},
      {GpuUnit::sm, {"DCGM_FI_PROF_SM_ACTIVE", "Ratio of cycles an SM has at least 1 warp assigned."}},
      {GpuUnit::sm_occupancy, {"DCGM_FI_PROF_SM_OCCUPANCY", "Ratio of warps resident on an SM."}},
      {GpuUnit::tensor, {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "Ratio of cycles the tensor pipe is active."}},
      {GpuUnit::dram, {"DCGM_FI_PROF_DRAM_ACTIVE", "Ratio of cycles the memory interface is active."}},
      {GpuUnit::fp64, {"DCGM_FI_PROF_PIPE_FP64_ACTIVE", "Ratio of cycles the fp64 pipes are active."}},
      {GpuUnit::fp32, {"DCGM_FI_PROF_PIPE_FP32_ACTIVE", "Ratio of cycles the fp32 pipes are active."}},
      {GpuUnit::fp16, {"DCGM_FI_PROF_PIPE_FP16_ACTIVE", "Ratio of cycles the fp16 pipes are active."}}};
  for (const auto& [unit, ratio] : now.unit_activity) {
    out.add(kNames.at(unit).first, kNames.at(unit).second, labels, ratio);
  }
}

std::optional<double> as_double(std::optional<std::uint64_t> value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

void add_traffic(Collected& out, const monitor::GpuReading& gpu, const Labels& labels) {
  if (gpu.pcie) {
    out.add("DCGM_FI_PROF_PCIE_TX_BYTES", "Bytes sent over PCIe (per second).", labels, gpu.pcie->sent);
    out.add("DCGM_FI_PROF_PCIE_RX_BYTES", "Bytes received over PCIe (per second).", labels, gpu.pcie->received);
  }
  out.add("warpmark_gpu_nvlink_sent_bytes_total", "Bytes sent over NVLink since the driver was loaded.", labels,
          as_double(gpu.now.nvlink_sent_bytes), FamilyType::counter);
  out.add("warpmark_gpu_nvlink_received_bytes_total", "Bytes received over NVLink since the driver was loaded.", labels,
          as_double(gpu.now.nvlink_received_bytes), FamilyType::counter);
}

}  // namespace

/// Means over a second or more: a second Prometheus that asks at the same time gets the same.
void GpuSample::add_nvlink_rates(Collected& out, const monitor::GpuReading& gpu, const Labels& labels) {
  auto& last = nvlink_[gpu.facts.uuid];
  const double elapsed_s = static_cast<double>(gpu.monotonic_ns - last.monotonic_ns) * 1e-9;
  const auto rate = [&](std::optional<std::uint64_t> before,
                        std::optional<std::uint64_t> now) -> std::optional<double> {
    if (!before || !now || *now < *before) return std::nullopt;
    return static_cast<double>(*now - *before) / elapsed_s;
  };
  if (elapsed_s >= 1) {
    const auto& now = gpu.now;
    last = {now.nvlink_sent_bytes, now.nvlink_received_bytes, rate(last.sent, now.nvlink_sent_bytes),
            rate(last.received, now.nvlink_received_bytes), gpu.monotonic_ns};
  }
  out.add("DCGM_FI_PROF_NVLINK_TX_BYTES", "Bytes sent over NVLink (per second).", labels, last.sent_rate);
  out.add("DCGM_FI_PROF_NVLINK_RX_BYTES", "Bytes received over NVLink (per second).", labels, last.received_rate);
}

std::vector<Family> GpuSample::families() {
  Collected out;
  const auto readings = poll_.probe();
  constexpr const char* kUp = "warpmark_gpu_up";
  constexpr const char* kUpHelp =
      "1 for a GPU that answers, 0 for one that did and does not; without a GPU: the driver does not answer.";
  if (readings.silent) out.add(kUp, kUpHelp, {{"Hostname", host_}}, 0);
  for (const auto& gpu : readings.gpus) {
    const auto& facts = gpu.facts;
    const std::string index = std::to_string(facts.index);
    const Labels labels = {{"gpu", index},
                           {"UUID", facts.uuid},
                           {"pci_bus_id", facts.pci_bus_id},
                           {"device", "nvidia" + index},
                           {"modelName", facts.name},
                           {"Hostname", host_}};
    out.add(kUp, kUpHelp, labels, gpu.now.up);
    if (const auto& fault = gpu.now.fault) {
      auto with_error = with(labels, "code", std::to_string(fault->code));
      out.add("warpmark_gpu_error", "1 while NVML answers with this error; code 0: it does not answer.",
              with(std::move(with_error), "error", fault->code == 0 ? "no answer" : fault->text), 1);
    }
    add_xids(out, gpu.now, labels);  // also of a lost GPU: one of them may be the reason
    if (!gpu.now.up) {
      nvlink_.erase(facts.uuid);
      continue;
    }
    add_activity(out, facts, gpu.now, labels);
    add_errors(out, gpu.now, labels);
    add_units(out, gpu.now, labels);
    add_traffic(out, gpu, labels);
    add_nvlink_rates(out, gpu, labels);
  }
  return out.take();
}

}  // namespace warpmark::watch
