// One call for an optimization that is claimed: measured, tested, stored, set against the history, reported.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <tuple>

#include "base/clock.h"
#include "base/json.h"
#include "model/check.h"
#include "model/fields/fields.h"
#include "report/build/of_document.h"
#include "validate/guard/check_history.h"
#include "warpmark/ab/compare_measure.h"
#include "warpmark/ab/git_revisions.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/command.h"
#include "warpmark/eval/eval_gate.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using report::Validation;
using validate::CheckRequest;

constexpr OptionSpec kValidateOptions[] = {
    {"--project", "FILE", "how to build, run and measure (default warpmark.yaml)"},
    {"--baseline", "BRANCH", "branch whose history must not be better than OPTIMIZED", to<&CheckRequest::branch>},
    {"--threshold", "RATIO", "smallest change for the worse against the history that counts",
     to<&CheckRequest::threshold>},
    {"--effect", "RATIO", "smallest gain that matters", to<&validate::AbOptions::effect>},
    {"--accuracy", "METRIC=MARGIN", "reject OPTIMIZED where the metric is worse by more: 1%, or an absolute number",
     true},
    {"--accuracy-command", "CMD", "run after each run; OPTIMIZED is rejected where it does not exit with 0", true},
    kEvalGate,
    kEvalGateAnswers,
    kEvalGateReference,
    kEvalGateModel,
    {"--alpha", "P", "chance of calling equal programs different", to<&CheckRequest::alpha>},
    {"--rounds", "N", "maximum rounds", to<&validate::Schedule::rounds>.within({1, 10'000})},
    {"--budget", "TIME", "maximum time for the A/B test", to<&validate::AbOptions::budget_s>},
    {"--warmup", "N", "runs of each before the first round, discarded",
     to<&validate::AbOptions::warmup_runs>.within({0, 1000})},
    {"--timeout", "TIME", "maximum time for one run (default 10m, or as the project says)"},
    {"--shell", "", "run the commands with /bin/sh -c"},
    {"--seed", "N", "seed of the order", to<&validate::Schedule::seed>.within(kNonNegative)},
    {"--fresh", "", "start over instead of resuming an interrupted validation"},
    {"--json", "[FILE]", "write the result as JSON (warpmark.validate/1)"},
    kHtmlOption,
    {"--out", "DIR", "write validate.json, report.md and report.html"},
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json", false, "text md html json"},
    {"--no-store", "", "do not keep what was measured; then there is no history to set it against"},
    {"--db", "FILE|URL", "database of stored sessions; the journal is next to it"},
};

/// Commands are measured by the metrics of --project, or of the warpmark.yaml in this folder.
ParsedOptions with_project(const Context& context, ParsedOptions options) {
  constexpr const char* kProject = "warpmark.yaml";
  std::error_code unknown;
  if (options.has("--project") || !std::filesystem::exists(kProject, unknown)) return options;
  context.err << "using the metrics in " << kProject << '\n';
  options.add("--project", kProject);
  return options;
}

/// "revisions" of the project or "commands", as compare takes them: --rev-a and --rev-b, or words behind dashes.
Result<ParsedOptions> variants_of(Context& context, const ParsedOptions& options) {
  const auto& words = options.positionals();
  if (!commands_after_dashes(context.words).empty()) return with_project(context, options);
  if (words.size() != 2) {
    return usage_error(fmt::format("{} of BASE and OPTIMIZED are given", words.size()),
                       "warpmark validate 'COMMAND' 'OPTIMIZED COMMAND', or two git revisions");
  }
  const auto is_command = [](const std::string& word) {
    std::error_code unknown;
    return word.find(' ') != std::string::npos || std::filesystem::is_regular_file(word, unknown);
  };
  ParsedOptions given = options;
  const bool revisions =
      !is_command(words[0]) && !is_command(words[1]) && find_commit(words[0]).ok() && find_commit(words[1]).ok();
  if (revisions) {
    given.add("--rev-a", words[0]);
    given.add("--rev-b", words[1]);
    return given;
  }
  for (const auto& word : words) {
    context.words.erase(std::find(context.words.begin(), context.words.end(), word));
  }
  for (const auto& word : words) context.words.insert(context.words.end(), {"--", word});
  return with_project(context, given);
}

/// What was stored of OPTIMIZED against the branch. No history is no failure: it is told.
Status check_history(Context& context, const ParsedOptions& options, Validation& validation) {
  const std::string& stored = validation.comparison.session_b;
  if (stored.empty()) {
    validation.no_check =
        options.has("--no-store") ? "nothing was stored (--no-store)" : "no complete round was stored";
    return {};
  }
  WM_ASSIGN(auto check, read_options<CheckRequest>(options));
  WM_ASSIGN(const auto store, open_to_read(context, options));
  WM_ASSIGN(auto session, load_session(*store, stored));
  check.ancestors = ancestry_of(session.commit);
  auto checked = validate::check(check, *store, {std::move(session)});
  if (!checked.ok()) {
    validation.no_check = checked.error().what;
    return {};
  }
  const bool any = std::any_of(checked->metrics.begin(), checked->metrics.end(),
                               [](const MetricCheck& metric) { return !metric.baseline.empty(); });
  if (!any) {
    validation.no_check = "the store has no history of this program on " + check.branch;
    return {};
  }
  validation.check = std::move(*checked);
  return {};
}

/// Verdict, why, and exit code. `gate` is that of --eval: 4 and 3.
std::tuple<std::string, std::string, int> judge(const Validation& validation, int gate) {
  const auto& comparison = validation.comparison;
  const Verdict measured = overall(comparison);
  if (measured == Verdict::unreliable) {
    return {"unreliable", "the machine treated the two differently", kEnvironment};
  }
  if (rejecting_gate(comparison) != nullptr || gate == kAccuracyRejected) {
    return {"rejected", "its answers are worse: however fast, it is no gain", kAccuracyRejected};
  }
  if (measured == Verdict::worse) return {"slower", "OPTIMIZED is slower than BASE", kGateFailed};
  if (measured == Verdict::same) return {"no_gain", "a gain as large as --effect is ruled out", kGateFailed};
  if (validation.check && overall(*validation.check) == Verdict::worse) {
    return {"regression", "against BASE a gain, but worse than the history of " + validation.check->branch,
            kGateFailed};
  }
  if (measured != Verdict::better) return {"inconclusive", "the A/B test is not decided", kInconclusive};
  if (gate == kInconclusive) {
    return {"inconclusive", "faster, but its answers are not yet proven as good", kInconclusive};
  }
  return {"validated", "faster than BASE, and nothing found against it", kSuccess};
}

Result<int> run_validate(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(auto request, compare_request_of(options));
  WM_ASSIGN(const auto history, read_options<CheckRequest>(options));
  request.test.alpha = history.alpha;
  WM_TRY(check_outputs(options));
  WM_TRY(check_eval_gate(context, options));
  const std::string command = command_line_of(context), started = format_utc(wall_clock_s());
  WM_ASSIGN(const auto given, variants_of(context, options));
  Validation validation;
  auto compared = measure_variants(context, given, request);
  if (!compared.ok()) {
    if (context.interrupted) return kInterrupted;
    return compared.error();
  }
  validation.comparison = std::move(*compared);
  validation.comparison.command = command;
  validation.comparison.started = started;
  if (context.interrupted) return kInterrupted;
  WM_TRY(check_history(context, options, validation));
  WM_ASSIGN(const int gate, with_eval_gate(context, options, kSuccess));
  std::tie(validation.verdict, validation.why, validation.exit_code) = judge(validation, gate);
  const auto shown = shown_as([&] { return write(report::kValidation, validation); }, report::build_report(validation));
  WM_TRY(show(context, shown, request.format));
  context.out.flush();
  WM_TRY(write_report(options, "validate", shown));
  remember_comparison(context, options, validation.comparison);
  context.why = validation.why;
  return validation.exit_code;
}

}  // namespace

extern const Command validate_command{
    .id = "validate",
    .summary = "prove an optimization: faster, as accurate, no regression",
    .details =
        "One command for a change that claims to be faster: runs BASE and OPTIMIZED in random order until the "
        "difference is decided, checks accuracy, stores both, compares OPTIMIZED with the history of a branch, and "
        "reports everything.\n"
        "\n"
        "BASE and OPTIMIZED are two commands, or two git revisions that are built and run as warpmark.yaml says. Its "
        "metrics also measure commands.\n"
        "\n"
        "`compare` accepts \"same\"; `validate` fails it, because the claim is a speedup. It then runs `check`. "
        "`optimize` also searches for the speedup.\n"
        "\n"
        "Exit code 0: validated; 1: slower, no speedup, or worse than the history; 3: inconclusive; 4: rejected for "
        "its accuracy; 5: unreliable. If the store has no history of the program, the report says so and the other "
        "checks decide.",
    .options = kValidateOptions,
    .positional = {"BASE OPTIMIZED", "two commands or two git revisions; or -- CMD -- CMD", true, ""},
    .examples =
        "warpmark validate './train --batch 64' './train --batch 128'\n"
        "warpmark validate main HEAD --project warpmark.yaml --accuracy top1=1%\n"
        "warpmark validate --effect 5% --out proof -- ./old -- ./new",
    .run = run_validate,
};

}  // namespace warpmark::apps
