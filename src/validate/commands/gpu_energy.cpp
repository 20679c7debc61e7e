#include "validate/commands/gpu_energy.h"

#include "device/nvml/nvml.h"

namespace warpmark::validate {
namespace {

std::optional<double> energy_of(const std::string& uuid) {
  const auto now = device::nvml::conditions_of(uuid);
  if (!now.ok()) return std::nullopt;
  for (const auto& sensor : now->sensors) {
    if (sensor.id == "energy") return sensor.value;
  }
  return std::nullopt;
}

}  // namespace

GpuEnergy::GpuEnergy() {
  if (!device::nvml::available().available) return;
  const auto gpus = device::nvml::gpu_list();
  if (!gpus.ok()) return;
  for (const auto& gpu : *gpus) {
    if (energy_of(gpu.uuid)) gpus_.push_back(gpu.uuid);
  }
}

std::optional<double> GpuEnergy::joules(std::size_t count) const {
  if (gpus_.empty()) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < gpus_.size() && i < count; ++i) {
    const auto& uuid = gpus_[i];
    const auto energy = energy_of(uuid);
    if (!energy) return std::nullopt;
    sum += *energy;
  }
  return sum;
}

}  // namespace warpmark::validate
