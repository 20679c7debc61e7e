#include "warpmark/compare_stored.h"

#include <algorithm>
#include <filesystem>

#include "base/units.h"
#include "exchange/import.h"
#include "report/labels.h"
#include "stats/compare.h"
#include "validate/verdict.h"
#include "warpmark/store_access.h"

namespace warpmark::apps {
namespace {

const Run* case_like(const Session& session, const Run& run) {
  const auto found = std::find_if(session.runs.begin(), session.runs.end(), [&](const Run& other) {
    return other.workload == run.workload && other.device == run.device && other.mode == run.mode &&
           other.params == run.params;
  });
  return found == session.runs.end() || found->metrics.empty() ? nullptr : &*found;
}

/// Why the numbers of a case say nothing about the program.
std::string distrust(const Run& a, const Run& b) {
  const bool of_a = a.outcome == Outcome::mistrusted, of_b = b.outcome == Outcome::mistrusted;
  if (!of_a && !of_b) return {};
  const std::string who = of_a && of_b ? "both were disturbed: " : of_a ? "A was disturbed: " : "B was disturbed: ";
  return who + (of_a ? a.reason : b.reason);
}

/// A session or a file, or of a session the one run that "<session>.<index>" names.
Result<Session> results_of(const Context& context, const ParsedOptions& options, const std::string& word) {
  const auto dot = word.rfind('.');
  const auto index =
      dot == std::string::npos ? Result<std::int64_t>(usage_error("no index")) : parse_integer(word.substr(dot + 1));
  std::error_code missing;
  if (!index.ok() || std::filesystem::exists(word, missing)) return load_results(context, options, word);
  WM_ASSIGN(auto session, load_results(context, options, word.substr(0, dot)));
  std::erase_if(session.runs, [&](const Run& run) { return run.index != *index; });
  if (session.runs.empty()) return usage_error("session " + session.id + " has no run " + word.substr(dot + 1));
  return session;
}

/// Two single runs are compared whatever their settings are: whoever names them means just these.
bool two_runs(const Session& a, const Session& b) {
  return a.runs.size() == 1 && b.runs.size() == 1 && !a.runs[0].metrics.empty() && !b.runs[0].metrics.empty() &&
         a.runs[0].metrics[0].id == b.runs[0].metrics[0].id;
}

}  // namespace

Result<Comparison> compare_stored(const Context& context, const ParsedOptions& options, const StoredOptions& stored) {
  const auto& words = options.positionals();
  WM_ASSIGN(const auto a, results_of(context, options, words[0]));
  WM_ASSIGN(const auto b, results_of(context, options, words[1]));
  if (a.machine.fingerprint != b.machine.fingerprint) {
    return environment_error("the results come from different machines or drivers", "compare results of one machine");
  }
  if (a.machine.fingerprint == exchange::kUnknownMachine) {
    context.err << "The files do not say on which machine they were measured: the comparison takes it\n"
                   "for one and the same.\n";
  }
  Comparison comparison{.name_a = words[0] + " (" + a.id + ")",
                        .name_b = words[1] + " (" + b.id + ")",
                        .effect = stored.effect,
                        .alpha = stored.alpha,
                        .paired = false,
                        .sequential = false,
                        .interleave = Interleave::none};
  const report::RunLabels labels(a);
  std::vector<std::string> distrusts;
  for (const Run& before : a.runs) {
    const Run* after = two_runs(a, b) ? &b.runs.front() : case_like(b, before);
    if (before.metrics.empty() || after == nullptr) continue;
    const Metric& metric = before.metrics.front();
    comparison.metrics.push_back(
        {.id = labels.full(before),
         .unit = metric.unit,
         .better = metric.better,
         .a = stats::round_medians({metric.samples, metric.round_sizes}),
         .b = stats::round_medians({after->metrics.front().samples, after->metrics.front().round_sizes})});
    distrusts.push_back(distrust(before, *after));
  }
  if (comparison.metrics.empty()) return usage_error("the results have no case in common");
  validate::judge(comparison.metrics,
                  {.effect = stored.effect, .alpha = stored.alpha, .paired = false, .sequential = false});
  for (std::size_t i = 0; i < distrusts.size(); ++i) {
    if (distrusts[i].empty()) continue;
    comparison.metrics[i].verdict = Verdict::mistrusted;
    comparison.metrics[i].reason = distrusts[i];
  }
  comparison.machine = b.machine;
  comparison.build = b.build;
  return comparison;
}

}  // namespace warpmark::apps
