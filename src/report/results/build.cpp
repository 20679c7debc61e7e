#include "report/results/build.h"

#include <algorithm>

#include "report/draw/format.h"
#include "report/results/build_parts.h"
#include "report/results/device_groups.h"

namespace warpmark::report {

Report build_report(const Session& session) {
  const RunLabels labels(session);
  Report report;
  const bool benchmarks = std::ranges::any_of(session.runs, [](const Run& run) { return !shown_by_metrics(run); });
  const std::string& host = session.machine.hostname;
  report.title = (benchmarks ? "Benchmarks of " : "Results of ") + (host.empty()        ? "this machine"
                                                                    : host == "unknown" ? "an unknown machine"
                                                                                        : host);
  report.subtitle = session.command;
  const auto add = [&](std::optional<Section> section) {
    if (section) report.sections.push_back(std::move(*section));
  };
  const auto add_all = [&](std::vector<Section> sections) {
    for (auto& section : sections) report.sections.push_back(std::move(section));
  };
  add(summary_section(session, labels));
  add(problems_section(session, labels));
  add(metrics_section(session, labels));
  add_all(results_sections(session, labels));
  add(targets_section(session, labels));
  add(models_section(session, labels));
  add(speedups_section(session, labels));
  add_all(stages_sections(session, labels));
  add(unmeasured_section(session, labels));
  add(ceilings_section(session));
  add(machine_section(session));
  add_all(plot_sections(session, labels));
  add_all(detail_sections(session, labels));
  return report;
}

namespace {

void append(std::string& text, const std::string& part, const char* separator = ", ") {
  if (part.empty()) return;
  text += (text.empty() ? "" : separator) + part;
}

std::string device_facts(const DeviceInfo& device) {
  std::string text = device.name;
  if (device.compute_units > 0) {
    append(text, format_plural(static_cast<std::size_t>(device.compute_units), device.backend == "cuda" ? "SM" : "core",
                               device.backend == "cuda" ? "SMs" : "cores"));
  }
  if (device.max_clock_hz > 0) append(text, "up to " + format_si(device.max_clock_hz, "Hz"));
  if (device.memory_bytes > 0) append(text, format_bytes(static_cast<double>(device.memory_bytes)));
  if (device.last_level_cache_bytes > 0) {
    append(text, format_bytes(static_cast<double>(device.last_level_cache_bytes)) + " last-level cache");
  }
  append(text, device.architecture);
  return text;
}

std::string started_text(const std::string& started) {
  std::string text = started;
  if (text.size() >= 20 && text[10] == 'T' && text.back() == 'Z') {
    text[10] = ' ';
    text.pop_back();
    text += " UTC";
  }
  return text;
}

void add_fact(Table& table, const std::string& name, const std::string& text) {
  if (!text.empty()) table.rows.push_back({{name}, {text}});
}

Table session_table(const Session& session) {
  Table table = machine_table(session.machine);
  const Build& build = session.build;
  std::string made = build.version;
  if (!build.git_sha.empty()) append(made, build.git_sha + (build.git_dirty ? " with local changes" : ""));
  append(made, build.type);
  append(made, build.compiler);
  for (const auto& feature : build.features) append(made, feature);
  add_fact(table, "warpmark", made);
  add_fact(table, "started", started_text(session.started));
  std::string commit = session.commit;
  if (!session.branch.empty()) append(commit, "branch " + session.branch);
  if (session.dirty) append(commit, "with local changes");
  add_fact(table, "repository", commit);
  add_fact(table, "session", session.id);
  return table;
}

/// Position of the device in the machine.
std::size_t rank_of(const Session& session, const std::string& device) {
  const auto& devices = session.machine.devices;
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const auto& info) { return info.id == device; });
  return static_cast<std::size_t>(found - devices.begin());
}

}  // namespace

std::string ceiling_name(const Ceiling& ceiling) {
  if (ceiling.id == "bandwidth") return ceiling.scope + " bandwidth";
  if (ceiling.id == "flop_rate") return ceiling.scope + " compute";
  if (ceiling.id == "link") return ceiling.scope + " link";
  if (ceiling.id == "launch") return "launch";
  return ceiling.scope.empty() ? ceiling.id : ceiling.id + " " + ceiling.scope;
}

MeasuredPeak measured_peak(const std::vector<Ceiling>& ceilings, const Ceiling& wanted, const DeviceGroup& group) {
  MeasuredPeak peak;
  double low = wanted.value, high = wanted.value;
  for (const Ceiling& ceiling : ceilings) {
    if (ceiling.id != wanted.id || ceiling.scope != wanted.scope || !group.contains(ceiling.device)) continue;
    ++peak.devices;
    low = std::min(low, ceiling.value);
    high = std::max(high, ceiling.value);
    peak.unreliable = peak.unreliable || ceiling.unreliable;
  }
  peak.text = format_quantity(low, wanted.unit);
  if (low < high) peak.text += " to " + format_quantity(high, wanted.unit);
  return peak;
}

Section machine_section(const Session& session) { return {"Machine and build", {session_table(session)}}; }

Table machine_table(const Machine& machine) {
  Table table{{{""}, {""}}, {}};
  std::string system = machine.os;
  append(system, machine.kernel);
  if (!machine.virtualization.empty() && machine.virtualization != "none")
    append(system, "in " + machine.virtualization);
  add_fact(table, "system", system);
  for (const auto& group : device_groups(machine)) {
    const auto first = std::find_if(machine.devices.begin(), machine.devices.end(),
                                    [&](const auto& device) { return device.id == group.ids.front(); });
    const auto count = group.ids.size() > 1 ? std::to_string(group.ids.size()) + " x " : std::string();
    add_fact(table, group.label(), count + device_facts(*first));
  }
  if (machine.devices.empty()) add_fact(table, "cpu", machine.cpu);
  std::string software;
  for (const auto& [name, text] : machine.software) append(software, name + " " + text);
  add_fact(table, "software", software);
  return table;
}

Table device_table(const DeviceInfo& device) {
  Table table{{{""}, {""}}, {}};
  for (const auto& cache : device.caches) {
    const auto shared = cache.shared_by > 1 && device.backend == "cpu"
                            ? " shared by " + format_count(cache.shared_by) + " hardware threads"
                            : std::string();
    add_fact(table, "L" + std::to_string(cache.level) + " " + cache.kind,
             format_bytes(static_cast<double>(cache.bytes)) + shared);
  }
  for (const auto& [name, text] : device.details) add_fact(table, name, text);
  return table;
}

std::optional<Section> ceilings_section(const Session& session) {
  if (session.ceilings.empty()) return std::nullopt;
  Table table{{{"device"}, {"peak"}, {"measured", Align::right}, {"measured by", Align::left, 1}}, {}};
  auto ceilings = session.ceilings;
  std::stable_sort(ceilings.begin(), ceilings.end(), [&](const Ceiling& a, const Ceiling& b) {
    return std::pair(rank_of(session, a.device), a.id) < std::pair(rank_of(session, b.device), b.id);
  });
  const auto groups = device_groups(session);
  for (const auto& ceiling : ceilings) {
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const DeviceGroup& each) { return each.contains(ceiling.device); });
    const auto peak = measured_peak(ceilings, ceiling, group == groups.end() ? DeviceGroup{} : *group);
    // Once for all GPUs of one make, by the first of them.
    if (peak.devices > 1 && group->ids.front() != ceiling.device) continue;
    table.rows.push_back({{peak.devices > 1 ? group->label() : ceiling.device},
                          {ceiling_name(ceiling)},
                          {peak.text},
                          {ceiling.source + (ceiling.unreliable ? " (unreliable: the machine was disturbed)" : ""),
                           ceiling.unreliable ? Tone::warning : Tone::quiet}});
  }
  return Section{"Measured peaks", {std::move(table)}};
}

}  // namespace warpmark::report
