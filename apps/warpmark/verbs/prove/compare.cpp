#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "model/comparison.h"
#include "report/build/comparison.h"
#include "report/draw/svg.h"
#include "report/forge/github.h"
#include "report/formats/html.h"
#include "warpmark/ab/compare_measure.h"
#include "warpmark/ab/compare_stored.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/command.h"
#include "warpmark/eval/eval_gate.h"
#include "warpmark/sessions/result_files.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kCompareOptions[] = {
    {"--a", "K=V", "a setting of A: a workload's parameter, a {name} of the project's command, or env.NAME", true},
    {"--b", "K=V", "a setting of B", true},
    {"--rev-a", "REV", "git revision that is A, built and run as warpmark.yaml says, or by -- CMD (default HEAD)"},
    {"--rev-b", "REV", "git revision that is B (default HEAD)"},
    {"--project", "FILE", "how to build, run and measure (default warpmark.yaml)"},
    {"--device", "DEVICE", "workloads: device to run on (default cpu)"},
    {"--effect", "RATIO", "smallest difference that matters", to<&validate::AbOptions::effect>},
    {"--accuracy", "METRIC=MARGIN",
     "reject B where the metric is worse by more: 1% of A, or a number; or TASK.yaml=MARGIN, as --eval", true},
    {"--accuracy-command", "CMD", "run after each run; B is rejected where it does not exit with 0", true},
    kEvalGate,
    kEvalGateAnswers,
    kEvalGateReference,
    kEvalGateModel,
    {"--alpha", "P", "probability of calling equal A and B different", to<&validate::AbOptions::alpha>},
    {"--rounds", "N", "maximum rounds", to<&validate::Schedule::rounds>.within({1, 10'000})},
    {"--budget", "TIME", "maximum time for this comparison, such as 10m; 0 (default): no limit",
     to<&validate::AbOptions::budget_s>},
    {"--interleave", "ORDER", "pair: A and B in random order each round; block: each twice; none: A, then B",
     to<&validate::Schedule::interleave>},
    {"--fixed", "", "run all rounds and use the test for a fixed number, instead of stopping when decided"},
    {"--warmup", "N", "runs of A and B before the first round, discarded",
     to<&validate::AbOptions::warmup_runs>.within({0, 1000})},
    {"--timeout", "TIME", "maximum time for one run (default 10m, or as the project says)"},
    {"--shell", "", "run the commands with /bin/sh -c"},
    {"--seed", "N", "seed of the order", to<&validate::Schedule::seed>.within(kNonNegative)},
    {"--calibrate", "", "run A as both A and B: false positives and smallest detectable difference on this machine"},
    {"--fresh", "", "start again even if an interrupted comparison could continue"},
    {"--across-machines", "", "stored results: compare two machines, and name them"},
    {"--price-a", "PRICE", "stored results: price per hour of the machine of A; with --price-b: performance per price"},
    {"--price-b", "PRICE", "stored results: price per hour of the machine of B"},
    {"--monthly-cost", "AMOUNT", "what running A costs per month: the report says what B saves"},
    {"--json", "[FILE]", "write the comparison as JSON (warpmark.compare/1)"},
    kHtmlOption,
    {"--out", "DIR", "write compare.json, report.md, report.html and a plot of each metric"},
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json, github", false,
     "text md html json github"},
    {"--no-store", "", "do not store A and B in the database"},
    {"--db", "FILE|URL", "database of stored sessions; the journal is next to it"},
};

Status write_compare_files(const ParsedOptions& options, const Comparison& comparison, const report::Shown& shown) {
  WM_TRY(write_report(options, "compare", shown));
  if (!options.has("--out")) return {};
  const std::filesystem::path folder = options.get("--out");
  for (std::size_t i = 0; i < comparison.metrics.size(); ++i) {
    const auto& metric = comparison.metrics[i];
    if (metric.a.empty() || metric.b.empty()) continue;
    WM_TRY(write_file(folder / fmt::format("distribution-{}.svg", i),
                      report::standalone_svg(report::render_svg(report::distribution_of(metric)))));
    if (comparison.samples.empty()) continue;
    WM_TRY(write_file(folder / fmt::format("over-time-{}.svg", i),
                      report::standalone_svg(report::render_svg(report::plot_over_time(comparison, i)))));
  }
  return {};
}

/// Two positionals without commands are stored results; so is one file that has results.
bool stored(const Context& context, const ParsedOptions& options) {
  if (!commands_after_dashes(context.words).empty()) return false;
  const auto& words = options.positionals();
  std::error_code unknown;
  return words.size() == 2 || (words.size() == 1 && std::filesystem::is_regular_file(words[0], unknown) &&
                               (words[0].ends_with(".json") || read_one_session(words[0]).ok()));
}

/// Whether a word can only be meant as a command: several words, or a file that can be executed.
bool looks_like_command(const std::string& word) {
  std::error_code unknown;
  if (std::filesystem::is_regular_file(word, unknown)) return access(word.c_str(), X_OK) == 0;
  return word.find(' ') != std::string::npos;
}

/// `compare 'A' 'B'` where neither is a result that is stored: the two commands that are meant. The dashes are put in,
/// so that what is recorded of the command line can be repeated.
void take_as_commands(Context& context, const ParsedOptions& options) {
  if (!stored(context, options)) return;
  const auto words = options.positionals();
  for (const auto& word : words) {
    if (!looks_like_command(word) || load_results(context, options, word).ok()) return;
  }
  for (const auto& word : words) {
    context.words.erase(std::find(context.words.begin(), context.words.end(), word));
  }
  for (const auto& word : words) context.words.insert(context.words.end(), {"--", word});
  context.err << fmt::format("There are no stored results of these names: both are run as commands, as in\n  {}\n",
                             command_line_of(context));
}

Result<int> run_compare(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(auto request, compare_request_of(options));
  WM_TRY(check_outputs(options));
  take_as_commands(context, options);
  WM_TRY(check_eval_gate(context, options));
  const std::string started = format_utc(wall_clock_s());
  const bool is_stored = stored(context, options);
  StoredOptions wanted{.across_machines = options.has("--across-machines")};
  if (options.has("--effect")) wanted.effect = request.test.effect;
  if (options.has("--alpha")) wanted.alpha = request.test.alpha;
  auto compared = is_stored ? compare_stored(context, options, wanted) : measure_variants(context, options, request);
  if (!compared.ok()) {
    if (context.interrupted) return kInterrupted;
    return compared.error();
  }
  Comparison& comparison = *compared;
  if (comparison.started.empty()) comparison.started = started;
  WM_ASSIGN(comparison.monthly_cost, monthly_cost_of(options));
  comparison.command = command_line_of(context);
  auto shown = shown_as([&] { return to_json(comparison); }, report::build_report(comparison));
  shown.forms.push_back({"github", [&] { return report::render_github_comment(comparison); }});
  WM_TRY(show(context, shown, request.format));
  context.out.flush();
  if (request.format == "github") {
    WM_TRY(annotate_step(context, report::github_annotations(comparison), report::render_github_comment(comparison)));
  }
  if (!is_stored) remember_comparison(context, options, comparison);
  if (!is_stored && !comparison.session_a.empty() && request.format == "text") {
    context.err << fmt::format("stored; compare again with:\n  warpmark compare {} {}\n", comparison.session_a,
                               comparison.session_b);
  }
  WM_TRY(write_compare_files(options, comparison, shown));
  if (context.interrupted) return kInterrupted;
  context.why = report::overall_sentence(comparison);
  // A calibration is no gate: its variants are equal.
  return options.has("--calibrate") ? Result<int>(kSuccess)
                                    : with_eval_gate(context, options, exit_code_of(comparison));
}

}  // namespace

extern const Command compare_command{
    .id = "compare",
    .summary = "test whether B is better, the same or worse than A",
    .details =
        "Runs A and B: two commands, two settings (--a K=V --b K=V) of a workload or of the project's command, or two "
        "git revisions (--rev-a, --rev-b). Every sample is a fresh process, in random order. Given two stored sessions "
        "or result files (RUN RUN), or one file with two results, it compares those. --across-machines compares "
        "machines: GPUs, drivers, prices.\n"
        "\n"
        "--effect is the smallest difference that matters. same: such a difference is ruled out. better, worse: "
        "significant and at least half of --effect. inconclusive: neither, and the output says how many more rounds "
        "would decide. unreliable: the machine treated A and B differently (other load, clocks, throttling). The "
        "comparison stops when all metrics are decided, by a sequential test with always-valid p-values. "
        "docs/validate.md describes the tests.\n"
        "\n"
        "Commands are measured by wall time, or by the metrics of --project. CPU time and GPU figures are shown for "
        "information only. No shell is used without --shell. Run the same command again to continue an interrupted "
        "comparison, or one whose --budget is used up. Measurements are stored at the end.\n"
        "\n"
        "With --accuracy, --accuracy-command or the accuracy section of the project, a less accurate B is rejected, "
        "however fast. No metric may be worse by its margin, and the command must accept the outputs of each run.\n"
        "\n"
        "--format github prints a comment for a pull request and, on stderr, annotations; it adds a job summary if "
        "GITHUB_STEP_SUMMARY is set.\n"
        "\n"
        "Exit code 0: better or same; 1: worse; 3: inconclusive; 4: rejected for its accuracy; 5: unreliable.",
    .options = kCompareOptions,
    .positional = {"NAME|RUN", "a workload; two stored sessions or .json files; or -- CMD -- CMD", true, "<workloads>"},
    .examples =
        "warpmark compare -- './bench --old' -- './bench --new'\n"
        "warpmark compare gemm --a dtype=f32 --b dtype=bf16 --device cuda --effect 2%\n"
        "warpmark compare a.json b.json --across-machines --price-a 2.5 --price-b 3.4\n"
        "warpmark compare --rev-a main --rev-b HEAD --budget 10m\n"
        "warpmark compare --rev-a HEAD~1 --rev-b HEAD -- python3 bench.py\n"
        "warpmark compare --rev-a origin/main --rev-b HEAD --format github > comment.md\n"
        "warpmark compare --calibrate -- ./bench",
    .run = run_compare,
};

}  // namespace warpmark::apps
