#include "measure/energy.h"

#include "base/clock.h"

namespace warpmark::measure {
namespace {

constexpr int kLaunchesBetweenLooks = 16;  // bounds the queue, and how far the end can overshoot

Result<std::optional<double>> counter_joules(device::Device& device) {
  WM_ASSIGN(const auto conditions, device.conditions());
  for (const auto& sensor : conditions.sensors) {
    if (sensor.id == "energy") return sensor.value;
  }
  return std::optional<double>{};
}

}  // namespace

Result<std::optional<double>> energy_per_launch(device::Device& device, Prepared& prepared, std::size_t sets,
                                                double seconds) {
  WM_ASSIGN(const auto before, counter_joules(device));
  if (!before) return std::optional<double>{};
  std::size_t launches = 0;
  const std::int64_t begin = monotonic_ns();
  while (static_cast<double>(monotonic_ns() - begin) * 1e-9 < seconds) {
    for (int i = 0; i < kLaunchesBetweenLooks; ++i) WM_TRY(prepared.launch(device.stream(), launches++ % sets));
    WM_TRY(device.synchronize());
  }
  WM_ASSIGN(const auto after, counter_joules(device));
  if (!after || *after <= *before) return std::optional<double>{};
  return std::optional<double>((*after - *before) / static_cast<double>(launches));
}

}  // namespace warpmark::measure
