#include "warpmark/ab/bisect_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/clock.h"
#include "base/text.h"
#include "device/machine.h"
#include "warpmark/ab/bisect_project.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/sessions/build_info.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/progress.h"

namespace warpmark::apps {
namespace {

/// What decides whether an interrupted search is this one. Budgets may change.
std::string project_identity(const validate::CommandSpec& spec, const validate::BisectRequest& request,
                             const Machine& machine) {
  return fmt::format(
      "bisect {} {} build {} run {} effect {} confidence {} alpha {} rounds {} warmup {} seed {} machine {}",
      request.commits.front().sha, request.commits.back().sha, command_line(spec.build), identity_of(spec),
      request.effect, request.confidence, request.alpha, request.rounds, request.warmup_runs, request.seed,
      machine.fingerprint);
}

}  // namespace

Result<Bisection> search_culprit(Context& context, const ParsedOptions& options, validate::CommandSpec spec,
                                 validate::BisectRequest& request, bool fresh) {
  const Machine machine = device::machine_facts();
  const std::string wanted = project_identity(spec, request, machine);
  WM_ASSIGN(const auto state, state_folder(context, options));
  const auto folder = state / ("bisect-" + hash_of(wanted));
  WM_ASSIGN(const auto log, FolderLog::open(folder, wanted, fresh));
  WM_ASSIGN(const auto history, history_of(context, options, spec, request.commits, machine));
  request.prior = validate::prior_from_history(request.commits.size() - 1, history);
  request.interrupted = &context.interrupted;
  StepBar bar(context);
  const std::int64_t began_ns = monotonic_ns();
  request.progress = [&](const std::string& step, std::int64_t runs) {
    // How many runs a search takes is not known before it ends; how much of a budget is used up is.
    const auto used_ms = static_cast<std::int64_t>((monotonic_ns() - began_ns) / 1'000'000);
    const auto budget_ms = static_cast<std::int64_t>(request.budget_s * 1e3);
    bar.update(std::min(used_ms, budget_ms), budget_ms, fmt::format("run {}  {}", runs, step.substr(0, 18)));
  };
  set_grace(60);
  set_last_words("\nwarpmark: interrupted; run the same command again to resume\n", "");
  ProjectRevisions revisions(context, std::move(spec), request.commits, folder);
  auto found = validate::run_bisect(request, revisions, *log);
  bar.clear();
  if (!found.ok()) return found.error();
  found->machine = machine;
  found->history_points = request.prior.empty() ? 0 : static_cast<std::int64_t>(history.size());
  found->build = build_info();
  // With more builds, rounds or time an undecided search goes on where it was.
  if (found->outcome != BisectOutcome::inconclusive) log->remove();
  return found;
}

}  // namespace warpmark::apps
