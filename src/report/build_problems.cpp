// What needs attention, grouped: one cause often hits many benchmarks.
#include <algorithm>
#include <functional>
#include <tuple>

#include "model/names.h"
#include "report/build_parts.h"
#include "report/format.h"

namespace warpmark::report {
namespace {

struct Problem {
  std::string title;
  Tone tone;
  std::vector<std::string> benchmarks;
  std::string what;
  std::string fix;
};

/// Adds to the group with the same text, or begins one.
void add(std::vector<Problem>& problems, Problem problem) {
  for (auto& known : problems) {
    if (std::tie(known.title, known.what, known.fix) == std::tie(problem.title, problem.what, problem.fix)) {
      known.benchmarks.push_back(problem.benchmarks.front());
      return;
    }
  }
  problems.push_back(std::move(problem));
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kMost) text += " and " + format_count(static_cast<std::int64_t>(names.size() - kMost)) + " more";
  return text;
}

std::string wrong_result(const Run& run) {
  if (!run.reason.empty() || !run.error) return run.reason;
  return run.error->norm + " is " + format_scientific(run.error->value) + ", tolerance " +
         format_scientific(run.error->tolerance);
}

std::string mistrust(const Run& run) {
  if (!run.reason.empty()) return run.reason;
  std::string text;
  for (const auto& event : run.environment.disturbances) {
    if (event.invalidates) text += (text.empty() ? "" : "; ") + event.cause;
  }
  return text;
}

bool not_converged(const Run& run) { return run.outcome == Outcome::passed && shows_speed(run) && !run.converged; }

/// A block of lines a group, as sentences do not fit into narrow columns.
Section section_of(const char* heading, const std::vector<Problem>& problems) {
  Table table{{{""}, {""}}, {}};
  for (const auto& problem : problems) {
    table.rows.push_back({{problem.title, problem.tone}, {listed(problem.benchmarks)}});
    if (!problem.what.empty()) table.rows.push_back({{}, {problem.what}});
    if (!problem.fix.empty()) table.rows.push_back({{}, {"→ " + problem.fix, Tone::quiet}});
  }
  return {heading, {std::move(table)}};
}

}  // namespace

std::optional<Section> problems_section(const Session& session, const RunLabels& labels) {
  std::vector<Problem> problems;
  const auto collect = [&](const std::function<bool(const Run&)>& wanted, const char* title, Tone tone,
                           const std::function<std::string(const Run&)>& what) {
    for (const auto& run : session.runs) {
      if (wanted(run)) add(problems, {title, tone, {labels.full(run)}, what(run), run.hint});
    }
  };
  const auto with = [](Outcome outcome) { return [outcome](const Run& run) { return run.outcome == outcome; }; };
  collect(with(Outcome::failed), "wrong result", Tone::bad, wrong_result);
  collect(with(Outcome::error), "error", Tone::bad, [](const Run& run) { return run.reason; });
  collect(with(Outcome::mistrusted), "mistrusted", Tone::warning, mistrust);
  collect(not_converged, "not converged", Tone::warning, [](const Run& run) { return run.stopped_because; });
  if (problems.empty()) return std::nullopt;
  return section_of("Problems", problems);
}

std::optional<Section> unmeasured_section(const Session& session, const RunLabels& labels) {
  std::vector<Problem> groups;
  for (const auto& run : session.runs) {
    if (run.outcome != Outcome::unsupported && run.outcome != Outcome::skipped) continue;
    add(groups, {name_of(run.outcome), Tone::quiet, {labels.full(run)}, run.reason, run.hint});
  }
  if (groups.empty()) return std::nullopt;
  return section_of("Not measured", groups);
}

}  // namespace warpmark::report
