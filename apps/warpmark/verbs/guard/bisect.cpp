#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
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
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using validate::BisectRequest;

constexpr double kMostCounted = 100'000;  // of whatever is counted

struct BisectVerb {
  std::string good, bad = "HEAD", metric, format = "text";
  std::optional<std::int64_t> builds;
  bool fresh = false;
};

constexpr OptionSpec kBisectOptions[] = {
    {"--good", "REV", "a revision that has the old speed", to<&BisectVerb::good>},
    {"--bad", "REV", "a later one that has the new speed", to<&BisectVerb::bad>},
    {"--metric", "NAME", "which metric of the project changed (default: its first)", to<&BisectVerb::metric>},
    {"--name", "NAME", "narrow the search by stored results of `run --name NAME` instead of the command's"},
    {"--project", "FILE", "how to build, run and measure (default warpmark.yaml)"},
    {"--effect", "RATIO", "smallest difference that matters", to<&BisectRequest::effect>},
    {"--threshold", "RATIO", "another name of --effect, as in check", to<&BisectRequest::effect>},
    {"--confidence", "P", "how certain the culprit must be",
     to<&BisectRequest::confidence>.within({0.5, 1, false, true})},
    {"--alpha", "P", "chance that one decision is wrong", to<&BisectRequest::alpha>},
    {"--builds", "N", "maximum revisions to build (default: log2 of the range, plus 6)",
     to<&BisectVerb::builds>.within({2, kMostCounted})},
    {"--rounds", "N", "maximum rounds for one decision", to<&BisectRequest::rounds>.within({7, kMostCounted})},
    {"--budget", "TIME", "maximum time for this invocation, such as 30m; repeat the command to resume",
     to<&BisectRequest::budget_s>},
    {"--warmup", "N", "runs of a revision before it is measured, discarded",
     to<&BisectRequest::warmup_runs>.within({0, kMostCounted})},
    {"--timeout", "TIME", "maximum time for one run (default 10m, or as the project says)"},
    {"--shell", "", "run the command with /bin/sh -c"},
    {"--seed", "N", "seed of the order", to<&BisectRequest::seed>.within({0, kMostCounted})},
    {"--fresh", "", "start over instead of resuming an interrupted search", to<&BisectVerb::fresh>},
    {"--json", "[FILE]", "write the result as JSON (warpmark.bisect/1)"},
    kHtmlOption,
    {"--format", "FORMAT", "format of what is printed: text, md, html, json", to<&BisectVerb::format>.chosen(),
     "text md html json"},
    {"--db", "FILE|URL", "database of stored results; the search's state is next to it"},
};

Result<BisectRequest> bisect_request_of(const ParsedOptions& options, const BisectVerb& verb) {
  WM_ASSIGN(auto request, read_options<BisectRequest>(options));
  if (verb.good.empty()) {
    return usage_error("--good is missing", "warpmark bisect --good v1.2 --bad HEAD; more in --help");
  }
  WM_ASSIGN(request.commits, first_parent_range(verb.good, verb.bad));
  if (options.has("--effect") && options.has("--threshold")) {
    return usage_error("--effect and --threshold are the same", "give one");
  }
  request.builds = verb.builds.value_or(validate::default_builds(request.commits.size() - 1));
  return request;
}

/// The project's command, or the one given, with the one metric that is searched for.
Result<validate::CommandSpec> bisect_spec_of(const Context& context, const ParsedOptions& options,
                                             const BisectVerb& verb) {
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
  const std::string& wanted = verb.metric.empty() ? names.front() : verb.metric;
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
  WM_ASSIGN(const auto verb, read_options<BisectVerb>(options));
  WM_ASSIGN(auto request, bisect_request_of(options, verb));
  WM_TRY(check_outputs(options));
  const std::string started = format_utc(wall_clock_s());
  WM_ASSIGN(auto spec, bisect_spec_of(context, options, verb));
  auto found = search_culprit(context, options, std::move(spec), request, verb.fresh);
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
  WM_TRY(show(context, shown, verb.format));
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
