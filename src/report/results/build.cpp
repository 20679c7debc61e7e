#include "report/results/build.h"

#include "report/results/build_parts.h"

namespace warpmark::report {

Report build_report(const Session& session) {
  const RunLabels labels(session);
  Report report;
  report.title = "Benchmarks of " + (session.machine.hostname.empty() ? "this machine" : session.machine.hostname);
  report.subtitle = session.command;
  const auto add = [&](std::optional<Section> section) {
    if (section) report.sections.push_back(std::move(*section));
  };
  const auto add_all = [&](std::vector<Section> sections) {
    for (auto& section : sections) report.sections.push_back(std::move(section));
  };
  add(summary_section(session));
  add(problems_section(session, labels));
  add(ceilings_section(session));
  add_all(results_sections(session, labels));
  add(targets_section(session, labels));
  add(models_section(session, labels));
  add(speedups_section(session, labels));
  add(commands_section(session, labels));
  add_all(stages_sections(session, labels));
  add(unmeasured_section(session, labels));
  add_all(plot_sections(session, labels));
  add_all(detail_sections(session, labels));
  return report;
}

}  // namespace warpmark::report
