#include "report/build/doctor.h"

#include <algorithm>

#include "model/names.h"
#include "report/draw/format.h"
#include "report/results/build_parts.h"

namespace warpmark::report {
namespace {

Tone tone_of_health(HealthState state) {
  switch (state) {
    case HealthState::good: return Tone::good;
    case HealthState::info: return Tone::plain;
    case HealthState::warning: return Tone::warning;
    case HealthState::bad: return Tone::bad;
    case HealthState::unknown: return Tone::quiet;
  }
  return Tone::plain;
}

bool needs_a_hand(const HealthCheck& check) {
  return check.state == HealthState::bad || check.state == HealthState::warning;
}

std::size_t count_of(std::span<const HealthCheck> checks, HealthState state) {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(), [&](const auto& check) { return check.state == state; }));
}

Paragraph verdict(std::span<const HealthCheck> checks) {
  const auto bad = count_of(checks, HealthState::bad);
  const auto warnings = count_of(checks, HealthState::warning);
  if (bad + warnings == 0) {
    return {
        "Nothing was found that would disturb measurements (" + format_plural(checks.size(), "check", "checks") + ").",
        Tone::good};
  }
  std::string text = bad > 0 ? format_plural(bad, "problem", "problems") : "";
  if (warnings > 0) text += (bad > 0 ? " and " : "") + format_plural(warnings, "warning", "warnings");
  return {text + " in " + format_plural(checks.size(), "check", "checks") + ".", bad > 0 ? Tone::bad : Tone::warning};
}

/// One block a finding: a table would squeeze its sentences.
Section findings_section(std::span<const HealthCheck> checks) {
  Section section{"What will disturb measurements", {}};
  for (const HealthState state : {HealthState::bad, HealthState::warning}) {
    for (const auto& check : checks) {
      if (check.state != state) continue;
      Table table{{{""}, {""}}, {{{name_of(state), tone_of_health(state)}, {check.title + ": " + check.found}}}};
      if (!check.why.empty()) table.rows.push_back({{"why"}, {check.why}});
      if (!check.fix.empty()) table.rows.push_back({{"fix"}, {check.fix}});
      section.blocks.push_back(std::move(table));
    }
  }
  return section;
}

Section all_section(std::span<const HealthCheck> checks) {
  Table table{{{"check"}, {"state"}, {"found"}}, {}};
  for (const auto& check : checks) {
    table.rows.push_back({{check.title}, {name_of(check.state), tone_of_health(check.state)}, {check.found}});
  }
  return {"All checks", {std::move(table)}};
}

}  // namespace

Report doctor_report(const Machine& machine, std::span<const HealthCheck> checks) {
  Report report;
  report.title = "Health of " + (machine.hostname.empty() ? std::string("this machine") : machine.hostname);
  report.sections.push_back({"Summary", {verdict(checks), machine_table(machine)}});
  if (std::any_of(checks.begin(), checks.end(), needs_a_hand)) report.sections.push_back(findings_section(checks));
  for (const auto& device : machine.devices) {
    if (device.caches.empty() && device.details.empty()) continue;
    report.sections.push_back({device.id + ", " + device.name, {device_table(device)}});
  }
  if (!checks.empty()) report.sections.push_back(all_section(checks));
  return report;
}

}  // namespace warpmark::report
