#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "model/bisection.h"
#include "report/build/bisection.h"
#include "validate/commands/command_experiment.h"
#include "validate/guard/bisect_run.h"
#include "warpmark/ab/bisect_search.h"
#include "warpmark/ab/git_revisions.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/command.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kBisectOptions[] = {
    {"--good", "REV", "a revision that has the old speed"},
    {"--bad", "REV", "a later one that has the new speed (default HEAD)"},
    {"--metric", "NAME", "which metric of the project changed (default: its first)"},
    {"--name", "NAME", "narrow the search by stored results of `run --name NAME` instead of the command's"},
    {"--project", "FILE", "how to build, run and measure (default warpmark.yaml)", false, "<files>"},
    {"--effect", "RATIO", "smallest difference that matters (default 1%)"},
    {"--threshold", "RATIO", "another name of --effect, as in check"},
    {"--confidence", "P", "how certain the culprit must be (default 95%)"},
    {"--alpha", "P", "chance that one decision is wrong (default 2%)"},
    {"--builds", "N", "maximum revisions to build (default: log2 of the range, plus 6)"},
    {"--rounds", "N", "maximum rounds for one decision (default 200)"},
    {"--budget", "TIME", "maximum time for this invocation, such as 30m; repeat the command to resume"},
    {"--warmup", "N", "runs of a revision before it is measured, discarded (default 1)"},
    {"--timeout", "TIME", "maximum time for one run (default 10m, or as the project says)"},
    {"--shell", "", "run the command with /bin/sh -c"},
    {"--seed", "N", "seed of the order (default 1)"},
    {"--fresh", "", "start over instead of resuming an interrupted search"},
    {"--json", "[FILE]", "write the result as JSON (warpmark.bisect/1)", false, "<files>"},
    kHtmlOption,
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json", false, "text md html json"},
    {"--db", "FILE|URL", "database of stored results; the search's state is next to it", false, "<files>"},
};

constexpr std::int64_t kMostCounted = 100'000;  // of whatever is counted

Result<validate::BisectRequest> bisect_request_of(const ParsedOptions& options) {
  validate::BisectRequest request;
  if (!options.has("--good")) {
    return usage_error("--good is missing", "warpmark bisect --good v1.2 --bad HEAD; more in --help");
  }
  WM_ASSIGN(request.commits, first_parent_range(options.get("--good"), options.get("--bad", "HEAD")));
  if (options.has("--effect") && options.has("--threshold")) {
    return usage_error("--effect and --threshold are the same", "give one");
  }
  WM_ASSIGN(request.effect, ratio_of(options, options.has("--threshold") ? "--threshold" : "--effect", 0.01));
  WM_ASSIGN(request.confidence, ratio_of(options, "--confidence", 0.95));
  WM_ASSIGN(request.alpha, ratio_of(options, "--alpha", 0.02));
  if (request.confidence < 0.5) return usage_error("--confidence must be at least 50%");
  WM_ASSIGN(request.rounds, count_of(options, "--rounds", 200, 7, kMostCounted));
  WM_ASSIGN(request.builds,
            count_of(options, "--builds", validate::default_builds(request.commits.size() - 1), 2, kMostCounted));
  WM_ASSIGN(request.warmup_runs, count_of(options, "--warmup", 1, 0, kMostCounted));
  WM_ASSIGN(const auto seed, count_of(options, "--seed", 1, 0, kMostCounted));
  request.seed = static_cast<std::uint64_t>(seed);
  if (options.has("--budget")) {
    WM_ASSIGN(request.budget_s, parse_duration_s(options.get("--budget")));
  }
  WM_TRY(format_of(options));
  return request;
}

/// The project's command, or the one given, with the one metric that is searched for.
Result<validate::CommandSpec> bisect_spec_of(const Context& context, const ParsedOptions& options) {
  const auto commands = commands_after_dashes(context.words);
  if (commands.size() > 1) return usage_error("more than one command is given", "warpmark bisect ... -- COMMAND");
  std::error_code missing;
  const bool project = options.has("--project") || std::filesystem::exists("warpmark.yaml", missing);
  if (commands.empty() && !project) {
    return usage_error("nothing says what to run",
                       "write a warpmark.yaml (docs/validate.md), or give the command behind --");
  }
  validate::CommandSpec spec;
  if (project) {
    WM_ASSIGN(spec, project_spec(options));
  }
  if (!commands.empty()) {
    WM_ASSIGN(auto given, given_command(options, commands.front()));
    if (!project)
      spec = std::move(given);
    else
      spec.run = std::move(given.run);
  }
  std::vector<std::string> names;
  for (const auto& metric : spec.metrics) names.push_back(metric.name);
  const std::string wanted = options.get("--metric", names.front());
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end()) {
    const auto meant = nearest(wanted, names);
    return usage_error("there is no metric '" + wanted + "'",
                       meant.empty() ? "metrics: " + join(names, ", ") : "did you mean '" + meant + "'?");
  }
  spec.metrics = {spec.metrics[static_cast<std::size_t>(found - names.begin())]};
  spec.accuracy.clear();  // a wrong result has a speed all the same, and the speed is what is searched for
  return spec;
}

int bisect_exit_code(const Bisection& bisection) {
  switch (bisection.outcome) {
    case BisectOutcome::found:
    case BisectOutcome::range:
    case BisectOutcome::no_difference: return kSuccess;
    case BisectOutcome::inconclusive: return kInconclusive;
  }
  return kInconclusive;
}

void remember_bisection(const Context& context, const ParsedOptions& options, const Bisection& bisection) {
  const bool one = bisection.outcome == BisectOutcome::found && !bisection.candidates.empty();
  const auto title = one ? bisection.candidates.front().sha.substr(0, 10) + " " + bisection.candidates.front().subject
                         : std::string(name_of(bisection.outcome));
  remember_verdict(context, options, {.sessions = {}, .commit = bisection.bad.sha}, to_json(bisection), title);
}

Result<int> run_bisect(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(auto request, bisect_request_of(options));
  WM_TRY(check_outputs(options));
  const std::string started = format_utc(wall_clock_s());
  WM_ASSIGN(auto spec, bisect_spec_of(context, options));
  auto found = search_culprit(context, options, std::move(spec), request, options.has("--fresh"));
  if (!found.ok()) {
    if (!context.interrupted) return found.error();
    context.err << "interrupted; run the same command again to resume\n";
    return kInterrupted;
  }
  found->started = started;
  found->command = command_line_of(context);
  if (context.interrupted) {
    context.err << fmt::format("interrupted after {} runs; run the same command again to resume\n", found->runs);
    return kInterrupted;
  }
  const auto shown = shown_as([&] { return to_json(*found); }, report::build_report(*found));
  WM_TRY(show(context, shown, options.get("--format", "text")));
  context.out.flush();
  WM_TRY(write_named_files(options, shown));
  remember_bisection(context, options, *found);
  context.why = "inconclusive: " + found->stopped_because;
  return bisect_exit_code(*found);
}

}  // namespace

extern const Command bisect_command{
    .id = "bisect",
    .summary = "find the commit that made a program slower or faster",
    .details =
        "Searches the commits between a good and a bad revision (first parents: a merged branch is one step) for the "
        "one that changed a metric. It first tests that the two differ. Then it builds one commit after another in a "
        "worktree and runs it interleaved with the good and the bad revision, until a sequential test classifies it "
        "as good or bad. The search is Bayesian: one wrong classification does not lose the culprit. Finally the "
        "culprit is compared with its parent. docs/validate.md describes the method.\n"
        "\n"
        "A commit that does not build, crashes, hangs or stays flaky is skipped; if the culprit is among such "
        "commits, all candidates are reported. Stored results of this machine select where to start. The repository "
        "is not changed, and worktrees are removed at the end. Run the same command again to continue an interrupted "
        "search.\n"
        "\n"
        "Exit code 0: found, or there is no difference; 3: not certain.",
    .options = kBisectOptions,
    .positional = {"-- CMD", "what to run instead of the project's command", true, ""},
    .examples =
        "warpmark bisect --good v1.2 --bad HEAD\n"
        "warpmark bisect --good HEAD~60 --metric latency --effect 2%\n"
        "warpmark bisect --good v1.2 --builds 20 -- ./bench --size 64",
    .run = run_bisect,
};

}  // namespace warpmark::apps
