#include "report/results/build.h"

#include <algorithm>

#include "report/results/build_parts.h"

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

}  // namespace warpmark::report
