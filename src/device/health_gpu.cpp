// Judgement on the GPUs: what is missing to use them, and what holds each of them down.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "device/health.h"

namespace warpmark::device {
namespace {

HealthCheck check_driver(const HealthFacts& facts) {
  HealthCheck check{.id = "gpu_driver", .title = "NVIDIA driver", .why = "Without it no GPU can be used or watched."};
  if (facts.nvml.available) {
    check.state = HealthState::good;
    check.found = fmt::format("{}, CUDA up to {}", facts.versions.driver, facts.versions.cuda);
  } else if (facts.nvml_hangs) {
    check.state = HealthState::bad;
    check.found = facts.nvml.reason;
    check.fix = facts.nvml.hint;
  } else if (facts.settings.nvidia_pci_device) {
    check.state = HealthState::bad;
    check.found = "there is an NVIDIA GPU, but: " + facts.nvml.reason;
    check.fix = "install NVIDIA's driver; start a container with --gpus all";
  } else {
    check.state = HealthState::info;
    check.found = "no NVIDIA GPU here, only the CPU is measured: " + facts.nvml.reason;
  }
  return check;
}

HealthCheck check_module(const HealthFacts& facts) {
  HealthCheck check{.id = "cuda_module", .title = "CUDA module", .why = "GPU workloads live in libwarpmark_cuda.so."};
  const bool needed = facts.nvml.available || facts.nvml_hangs || facts.settings.nvidia_pci_device;
  if (facts.cuda_module.available) {
    check.state = HealthState::good;
    check.found = "loaded";
  } else if (needed) {
    check.state = HealthState::bad;
    check.found = facts.cuda_module.reason;
    check.fix = facts.cuda_module.hint;
  } else {
    check.state = HealthState::info;
    check.found = "not there and not needed: no NVIDIA GPU here";
  }
  return check;
}

HealthCheck check_use(const HealthFacts& facts) {
  HealthCheck check{.id = "cuda", .title = "CUDA device", .why = "GPU workloads are skipped without one."};
  check.state = facts.cuda.available ? HealthState::good : HealthState::bad;
  check.found = facts.cuda.available ? "can be used" : facts.cuda.reason;
  if (!facts.cuda.available) check.fix = facts.cuda.hint;
  return check;
}

std::vector<HealthCheck> check_libraries(const HealthFacts& facts) {
  std::vector<HealthCheck> checks;
  for (const auto& [name, version] : facts.cuda_libraries) {
    const bool missing = version.starts_with("not found");
    checks.push_back(
        {.id = "library_" + ascii_lower(name),
         .title = name,
         .state = missing ? HealthState::warning : HealthState::good,
         .found = version,
         .why = "Workloads that need " + name + " are skipped without it.",
         .fix = missing ? "install " + name + " where the loader finds it (ldconfig, LD_LIBRARY_PATH)" : ""});
  }
  return checks;
}

/// The checks of one GPU. `id_` and `title_` start each check's.
class GpuJudge {
 public:
  explicit GpuJudge(const GpuHealth& gpu)
      : gpu_(gpu), id_(fmt::format("gpu{}_", gpu.facts.index)), title_(fmt::format("GPU {}: ", gpu.facts.index)) {}

  std::vector<HealthCheck> checks() const {
    if (!gpu_.fault.empty()) return {lost()};
    std::vector<HealthCheck> all{persistence(), ecc(), mig(), power(), temperature(), throttle(), pcie(), processes()};
    if (gpu_.facts.nvlinks.value_or(0) > 0) all.push_back(nvlink());
    return all;
  }

 private:
  HealthCheck make(const char* id, const char* title, const char* why) const {
    return {.id = id_ + id, .title = title_ + title, .found = "not reported by this GPU or driver", .why = why};
  }
  std::optional<double> sensor(std::string_view id) const {
    for (const auto& sensor : gpu_.now.sensors) {
      if (sensor.id == id) return sensor.value;
    }
    return std::nullopt;
  }

  HealthCheck lost() const {
    HealthCheck check = make("answer", "answer", "A GPU that does not answer takes its programs down.");
    check.state = HealthState::bad;
    check.found = gpu_.fault;
    check.fix = "sudo dmesg | grep -E 'NVRM|Xid' shows why; reset the GPU or reboot";
    return check;
  }

  HealthCheck persistence() const {
    HealthCheck check = make("persistence", "persistence mode",
                             "Without it the driver unloads between programs: slow starts, and clocks begin cold.");
    if (const auto& on = gpu_.facts.persistence_enabled) {
      check.state = *on ? HealthState::good : HealthState::warning;
      check.found = *on ? "on" : "off";
      if (!*on) check.fix = fmt::format("sudo nvidia-smi -i {} -pm 1", gpu_.facts.index);
    }
    return check;
  }

  HealthCheck ecc() const {
    HealthCheck check = make("ecc", "memory error correction",
                             "Without it wrong results go unseen; errors that could not be corrected spoil results.");
    const auto& on = gpu_.facts.ecc_enabled;
    if (!on) return check;
    const double uncorrected = sensor("ecc_uncorrected").value_or(0);
    const double corrected = sensor("ecc_corrected").value_or(0);
    check.found =
        *on ? fmt::format("on, {:.0f} corrected and {:.0f} uncorrected errors", corrected, uncorrected) : "off";
    check.state = uncorrected > 0 ? HealthState::bad : *on ? HealthState::good : HealthState::warning;
    if (!*on) check.fix = fmt::format("sudo nvidia-smi -i {} -e 1, then reboot", gpu_.facts.index);
    if (uncorrected > 0) check.fix = "reset the GPU or reboot; if errors come back, have it replaced";
    return check;
  }

  HealthCheck mig() const {
    HealthCheck check = make("mig", "MIG", "A slice of a GPU has a part of its units and bandwidth, and neighbours.");
    if (const auto& on = gpu_.facts.mig_enabled) {
      check.state = *on ? HealthState::warning : HealthState::good;
      check.found = *on ? "on" : "off";
      if (*on) check.fix = "measure on a GPU without MIG, or read results as those of the slice";
    }
    return check;
  }

  HealthCheck power() const {
    HealthCheck check = make("power_cap", "power cap", "Below the default, long work runs at lower clocks.");
    const auto& limit = gpu_.facts.power_limit_w;
    const auto& standard = gpu_.facts.default_power_limit_w;
    if (!limit) return check;
    check.state = HealthState::good;
    check.found = fmt::format("{:.0f} W", *limit);
    if (!standard) return check;
    check.found += fmt::format(", default {:.0f} W", *standard);
    if (*limit > *standard - 1) return check;
    check.state = HealthState::warning;
    check.fix = fmt::format("sudo nvidia-smi -i {} -pl {:.0f}", gpu_.facts.index, *standard);
    return check;
  }

  HealthCheck temperature() const {
    HealthCheck check = make("temperature", "temperature", "A hot GPU lowers its clocks.");
    if (const auto celsius = sensor("temperature")) {
      check.state = *celsius < 80 ? HealthState::good : *celsius < 87 ? HealthState::warning : HealthState::bad;
      check.found = fmt::format("{:.0f} degrees C", *celsius);
      if (check.state != HealthState::good) check.fix = "check cooling and what else runs";
    }
    return check;
  }

  HealthCheck throttle() const {
    HealthCheck check = make("clocks", "clocks", "Reasons that are active now hold the clocks down.");
    const auto clock = sensor("sm_clock");
    if (!clock) return check;
    const auto& reasons = gpu_.now.throttle_reasons;
    const bool slowed = std::any_of(reasons.begin(), reasons.end(), nvml::clock_event_reason_slows);
    const bool fixed = std::any_of(reasons.begin(), reasons.end(), [](const std::string& reason) {
      return reason == "applications_clocks_setting" || reason == "display_clock_setting" || reason == "sync_boost";
    });
    check.found = fmt::format("SM at {:.0f} MHz", *clock / 1e6);
    if (const auto& most = gpu_.facts.max_sm_clock_hz) check.found += fmt::format(" of {:.0f}", *most / 1e6);
    if (!reasons.empty()) check.found += ", held by " + join(reasons, ", ");
    check.state = slowed || fixed ? HealthState::warning : HealthState::good;
    if (fixed)
      check.fix = fmt::format("if it is not meant so: sudo nvidia-smi -i {0} -rgc; sudo nvidia-smi -i {0} -rac",
                              gpu_.facts.index);
    if (slowed) check.fix = "check power cap, power supply, cooling, and what else runs";
    return check;
  }

  HealthCheck pcie() const {
    HealthCheck check =
        make("pcie", "PCIe link", "A narrow link slows every transfer. An idle link lowers its generation.");
    const auto& now = gpu_.facts;
    if (!now.pcie_generation || !now.pcie_width) return check;
    check.state = HealthState::good;
    check.found = fmt::format("generation {} x{}", *now.pcie_generation, *now.pcie_width);
    if (!now.pcie_max_generation || !now.pcie_max_width) return check;
    check.found += fmt::format(", at most generation {} x{}", *now.pcie_max_generation, *now.pcie_max_width);
    if (*now.pcie_width < *now.pcie_max_width) {
      check.state = HealthState::bad;
      check.fix = "seat the card in a slot with all lanes; check risers and the firmware's bifurcation";
    } else if (*now.pcie_generation < *now.pcie_max_generation) {
      check.state = HealthState::warning;
      check.fix = "look again under load (warpmark run transfer): if it stays low, check slot and firmware";
    }
    return check;
  }

  HealthCheck processes() const {
    HealthCheck check = make("processes", "other programs", "They take turns with ours and fill caches and memory.");
    const auto& others = gpu_.now.other_processes;
    check.state = others.empty() ? HealthState::good : HealthState::bad;
    check.found = others.empty() ? "none" : join(others, ", ");
    if (!others.empty()) check.fix = "stop them, or measure on another GPU";
    return check;
  }

  HealthCheck nvlink() const {
    HealthCheck check = make("nvlink", "NVLink", "Traffic between GPUs is slower with each link that is down.");
    const int links = gpu_.facts.nvlinks.value_or(0);
    const int active = gpu_.facts.nvlinks_active.value_or(0);
    check.found = fmt::format("{} of {} links active", active, links);
    check.state = active == links ? HealthState::good : active == 0 ? HealthState::warning : HealthState::bad;
    if (active < links) check.fix = "nvidia-smi nvlink -s and -e; without a bridge or switch all links are down";
    return check;
  }

  const GpuHealth& gpu_;
  std::string id_;
  std::string title_;
};

/// On machines with NVSwitch the links work only while NVIDIA's Fabric Manager runs.
HealthCheck check_fabric(const HealthFacts& facts) {
  const auto connected = std::count_if(facts.gpu_links.begin(), facts.gpu_links.end(),
                                       [](const nvml::GpuLink& link) { return link.nvlink; });
  const auto pairs = static_cast<std::ptrdiff_t>(facts.gpu_links.size());
  HealthCheck check{.id = "gpu_fabric",
                    .title = "Links between GPUs",
                    .state = HealthState::good,
                    .found = fmt::format("{} of {} pairs over NVLink", connected, pairs),
                    .why = "Pairs without NVLink talk over PCIe, which is several times slower."};
  const bool has_links = std::any_of(facts.gpus.begin(), facts.gpus.end(),
                                     [](const GpuHealth& gpu) { return gpu.facts.nvlinks.value_or(0) > 0; });
  if (!has_links || connected == pairs) return check;
  check.state = HealthState::warning;
  check.fix = facts.gpus.size() >= 4
                  ? "with NVSwitch (HGX, DGX): systemctl status nvidia-fabricmanager, of the driver's very version"
                  : "connect the pairs by an NVLink bridge if the boards have one";
  return check;
}

}  // namespace

std::vector<HealthCheck> gpu_checks(const HealthFacts& facts) {
  std::vector<HealthCheck> checks{check_driver(facts), check_module(facts)};
  const auto add = [&](std::vector<HealthCheck> more) {
    for (auto& check : more) checks.push_back(std::move(check));
  };
  if (facts.nvml.available) {
    if (facts.cuda_module.available) checks.push_back(check_use(facts));
    add(check_libraries(facts));
  }
  for (const auto& gpu : facts.gpus) add(GpuJudge(gpu).checks());
  if (facts.gpus.size() > 1) checks.push_back(check_fabric(facts));
  return checks;
}

Table gpu_topology(const HealthFacts& facts) {
  Table table;
  table.columns.push_back({"GPU"});
  for (const auto& gpu : facts.gpus) table.columns.push_back({std::to_string(gpu.facts.index)});
  table.columns.push_back({"NUMA node"});
  table.columns.push_back({"PCI bus"});
  for (std::size_t row = 0; row < facts.gpus.size(); ++row) {
    std::vector<Cell> cells{{std::to_string(row) + " " + facts.gpus[row].facts.name}};
    for (std::size_t column = 0; column < facts.gpus.size(); ++column) {
      std::string text = row == column ? "-" : "unknown";
      for (const auto& link : facts.gpu_links) {
        const auto low = static_cast<int>(std::min(row, column));
        const auto high = static_cast<int>(std::max(row, column));
        if (link.a == low && link.b == high) text = link.path;
      }
      cells.push_back({text});
    }
    const int node = row < facts.gpu_numa_nodes.size() ? facts.gpu_numa_nodes[row] : -1;
    cells.push_back({node < 0 ? "-" : std::to_string(node)});
    cells.push_back({facts.gpus[row].facts.pci_bus_id});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace warpmark::device
