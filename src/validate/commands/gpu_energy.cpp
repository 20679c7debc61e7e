#include "validate/commands/gpu_energy.h"

#include <utility>

namespace warpmark::validate {

GpuEnergy::GpuEnergy() : probe_(measure::nvml_probe()) {
  for (auto& uuid : probe_.list()) {
    if (probe_.energy_j(uuid)) gpus_.push_back(std::move(uuid));
  }
}

std::optional<double> GpuEnergy::joules(std::size_t count) const {
  if (gpus_.empty()) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < gpus_.size() && i < count; ++i) {
    const auto energy = probe_.energy_j(gpus_[i]);
    if (!energy) return std::nullopt;
    sum += *energy;
  }
  return sum;
}

}  // namespace warpmark::validate
