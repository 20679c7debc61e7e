#include "validate/accept/criteria.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "model/names.h"

namespace warpmark::validate {
namespace {

constexpr FactKind kKinds[] = {
    {"driver_version", FactType::version, "", false, "NVIDIA driver"},
    {"cuda_version", FactType::version, "", false, "newest CUDA that the driver supports"},
    {"kernel_version", FactType::version, "", false, "Linux kernel"},
    {"cpu_threads", FactType::number, "1", false, "hardware threads that this process may use"},
    {"host_memory", FactType::number, "B", false, "memory of the host"},
    {"virtualization", FactType::state, "", false, "none, or the hypervisor and container"},
    {"gpu_count", FactType::number, "1", false, "GPUs that can be used"},
    {"nvlink_pairs", FactType::number, "ratio", false, "share of the pairs of GPUs that are joined by NVLink"},
    {"gpu_name", FactType::state, "", true, "name of the GPU"},
    {"gpu_memory", FactType::number, "B", true, "memory of the GPU"},
    {"ecc", FactType::state, "", true, "memory error correction: on, off"},
    {"ecc_uncorrected", FactType::number, "1", true, "uncorrected memory errors since the driver was loaded"},
    {"ecc_corrected", FactType::number, "1", true, "corrected memory errors since the driver was loaded"},
    {"persistence", FactType::state, "", true, "persistence mode: on, off"},
    {"mig", FactType::state, "", true, "multi-instance GPU: on, off"},
    {"power_limit", FactType::number, "W", true, "enforced power limit"},
    {"default_power_limit", FactType::number, "W", true, "power limit as delivered"},
    {"pcie_width", FactType::number, "1", true, "lanes of the PCIe link now"},
    {"pcie_max_generation", FactType::number, "1", true, "PCIe generation that GPU and slot support together"},
    {"pcie_max_width", FactType::number, "1", true, "lanes that GPU and slot support together"},
    {"nvlinks", FactType::number, "1", true, "NVLinks that the GPU has"},
    {"nvlinks_active", FactType::number, "1", true, "NVLinks that are up"},
    {"max_sm_clock", FactType::number, "Hz", true, "highest clock of the multiprocessors"},
    {"max_memory_clock", FactType::number, "Hz", true, "highest clock of the memory"},
    {"gpu_temperature", FactType::number, "degC", true, "temperature now"},
};

class Collector {
 public:
  explicit Collector(std::string device) : device_(std::move(device)) {}

  void number(const char* id, std::optional<double> value) {
    facts_.push_back({.id = id, .device = device_, .number = value, .text = {}, .reason = value ? "" : kUntold});
  }
  void number(const char* id, std::optional<int> value) {
    number(id, value ? std::optional(static_cast<double>(*value)) : std::nullopt);
  }
  void text(const std::string& id, const std::string& value, const char* otherwise = kUntold) {
    facts_.push_back(
        {.id = id, .device = device_, .number = {}, .text = value, .reason = value.empty() ? otherwise : ""});
  }
  void on_off(const char* id, std::optional<bool> value) { text(id, value ? *value ? "on" : "off" : ""); }

  std::vector<Fact> take() { return std::move(facts_); }

 private:
  static constexpr const char* kUntold = "not reported by this GPU or driver";
  std::string device_;
  std::vector<Fact> facts_;
};

void append(std::vector<Fact>& all, std::vector<Fact> more) {
  for (auto& fact : more) all.push_back(std::move(fact));
}

std::string software_version(const Machine& machine, std::string_view name) {
  for (const auto& [known, version] : machine.software) {
    if (known == name) return version;
  }
  return "";
}

std::string device_of(const Machine& machine, const device::nvml::GpuFacts& gpu) {
  for (const auto& device : machine.devices) {
    if (!gpu.uuid.empty() && device.uuid == gpu.uuid) return device.id;
  }
  return "gpu" + std::to_string(gpu.index);  // a GPU that CUDA cannot use, or with MIG
}

std::vector<Fact> gpu_facts(const device::GpuHealth& gpu, const Machine& machine) {
  const auto sensor = [&](std::string_view id) -> std::optional<double> {
    for (const auto& item : gpu.now.sensors) {
      if (item.id == id) return item.value;
    }
    return std::nullopt;
  };
  const auto& facts = gpu.facts;
  Collector of(device_of(machine, facts));
  of.on_off("ecc", facts.ecc_enabled);
  of.number("ecc_uncorrected", sensor("ecc_uncorrected"));
  of.number("ecc_corrected", sensor("ecc_corrected"));
  of.on_off("persistence", facts.persistence_enabled);
  of.on_off("mig", facts.mig_enabled);
  of.number("power_limit", facts.power_limit_w);
  of.number("default_power_limit", facts.default_power_limit_w);
  of.number("pcie_width", facts.pcie_width);
  of.number("pcie_max_generation", facts.pcie_max_generation);
  of.number("pcie_max_width", facts.pcie_max_width);
  of.number("nvlinks", facts.nvlinks);
  of.number("nvlinks_active", facts.nvlinks_active);
  of.number("max_sm_clock", facts.max_sm_clock_hz);
  of.number("max_memory_clock", facts.max_memory_clock_hz);
  of.number("gpu_temperature", sensor("temperature"));
  return of.take();
}

std::optional<double> nvlink_pairs(const device::HealthFacts& health) {
  if (health.gpu_links.empty()) return std::nullopt;
  const auto joined =
      std::count_if(health.gpu_links.begin(), health.gpu_links.end(), [](const auto& link) { return link.nvlink; });
  return static_cast<double>(joined) / static_cast<double>(health.gpu_links.size());
}

/// The number that the text begins with, and what follows the dot after it.
std::int64_t next_part(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto used = static_cast<std::size_t>(end - text.data());
  text = status == std::errc{} && used < text.size() && text[used] == '.' ? text.substr(used + 1) : "";
  return value;
}

}  // namespace

std::span<const FactKind> fact_kinds() { return kKinds; }

const FactKind* find_fact_kind(std::string_view id) {
  static constexpr FactKind kDoctor{"doctor", FactType::state, "", false, "a check of `warpmark doctor`"};
  if (id.starts_with(kDoctorFact)) return &kDoctor;
  for (const auto& kind : kKinds) {
    if (id == kind.id) return &kind;
  }
  return nullptr;
}

std::vector<Fact> facts_of(const Machine& machine) {
  constexpr const char* kNoGpu = "no NVIDIA GPU can be used there";
  std::vector<Fact> all;
  Collector host{""};
  host.text("driver_version", software_version(machine, "NVIDIA driver"), kNoGpu);
  host.text("cuda_version", software_version(machine, "CUDA driver"), kNoGpu);
  host.text("kernel_version", machine.kernel, "not in the results");
  host.text("virtualization", machine.virtualization, "not in the results");
  host.number("host_memory",
              machine.memory_bytes > 0 ? std::optional(static_cast<double>(machine.memory_bytes)) : std::nullopt);
  int gpus = 0;
  for (const auto& device : machine.devices) {
    if (device.backend == "cpu") host.number("cpu_threads", std::optional(device.compute_units));
    if (device.backend != "cuda") continue;
    ++gpus;
    Collector gpu(device.id);
    gpu.text("gpu_name", device.name);
    gpu.number("gpu_memory", std::optional(static_cast<double>(device.memory_bytes)));
    append(all, gpu.take());
  }
  host.number("gpu_count", std::optional(gpus));
  append(all, host.take());
  return all;
}

std::vector<Fact> facts_of(const device::HealthFacts& health, const Machine& machine) {
  std::vector<Fact> all;
  Collector host{""};
  host.number("nvlink_pairs", nvlink_pairs(health));
  for (const auto& check : device::health_checks(health)) {
    host.text(std::string(kDoctorFact) + check.id, name_of(check.state));
  }
  append(all, host.take());
  for (const auto& gpu : health.gpus) append(all, gpu_facts(gpu, machine));
  return all;
}

int compare_versions(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const auto left = next_part(a), right = next_part(b);
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

}  // namespace warpmark::validate
