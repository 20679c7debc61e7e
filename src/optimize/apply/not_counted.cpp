#include "optimize/apply/not_counted.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace warpmark::optimize {
namespace {

constexpr double kMemoryLeft = 0.10;  // of the GPU must stay free: sizes vary after the few steps that were seen

/// A knob that was not in force the whole time, in words; empty if all were.
std::string not_in_force(const Settings& settings, const std::vector<const workers::ProgramReport*>& main) {
  for (const auto* report : main) {
    for (const auto& knob : report->knobs) {
      if (!knob.in_force) return fmt::format("{} was not in force: {}", knob.id, knob.said);
    }
  }
  for (const auto& setting : settings) {
    const Knob* knob = find_in(knobs(), setting.knob);
    if (knob == nullptr || *knob->variable != '\0' || *knob->launcher != '\0') continue;
    const bool told = std::ranges::any_of(main, [&](const auto* report) {
      return std::ranges::any_of(report->knobs, [&](const auto& one) { return one.id == setting.knob; });
    });
    if (!told) return setting.knob + " was not in force: the hook did not report it";
  }
  return {};
}

std::string too_little_memory_left(const workers::ProgramReport& report) {
  if (report.total_bytes == 0) return {};
  const auto total = static_cast<double>(report.total_bytes);
  if (static_cast<double>(report.reserved_bytes) <= (1 - kMemoryLeft) * total) return {};
  return fmt::format("leaves less than {:.0f} % of the GPU's memory: {} of {} are reserved", kMemoryLeft * 100,
                     format_bytes(static_cast<double>(report.reserved_bytes)), format_bytes(total));
}

}  // namespace

std::string why_not_counted(const Settings& settings, const std::vector<const workers::ProgramReport*>& main) {
  if (settings.empty()) return {};
  auto reason = not_in_force(settings, main);
  return reason.empty() && !main.empty() ? too_little_memory_left(*main.front()) : reason;
}

}  // namespace warpmark::optimize
