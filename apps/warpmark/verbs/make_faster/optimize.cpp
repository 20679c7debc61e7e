// Finds and proves what makes a program faster.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ostream>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/untrusted/read_fields.h"
#include "device/machine.h"
#include "model/price/price.h"
#include "optimize/plan.h"
#include "optimize/search.h"
#include "report/build/comparison.h"
#include "report/build/optimization.h"
#include "report/draw/svg.h"
#include "report/formats/html.h"
#include "session/new_session.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/command.h"
#include "warpmark/optimize/optimize_calibration.h"
#include "warpmark/optimize/optimize_history.h"
#include "warpmark/optimize/optimize_plan.h"
#include "warpmark/optimize/optimize_request.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/progress.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using Asked = OptimizeRequest;
using optimize::OptimizeOptions;
using optimize::ProposalOptions;
using optimize::QualityOptions;

constexpr OptionSpec kOptimizeOptions[] = {
    {"--apply", "PLAN", "run the program with the settings of a plan.yaml; measure nothing", to<&Asked::applied>,
     "<files>"},
    {"--prove", "PLAN", "measure the settings of a plan.yaml against the original; no search", to<&Asked::proven>,
     "<files>"},
    {"--list-knobs", "", "start the program once and list what can be changed, and why the rest cannot",
     to<&Asked::lists_knobs>},
    {"--from-history", "A..B",
     "run nothing: show the speedup of each commit of the range, from the stored sessions of this machine",
     to<&Asked::commits>},
    {"--metric", "NAME", "the metric of --from-history (default: the primary one)", to<&Asked::metric>},
    {"--try", "KNOB=VALUE", "test this setting even if no gain is predicted", by<setting_of, &ProposalOptions::asked>},
    {"--only", "KNOBS", "only these settings; names or globs, separated by commas",
     to<&ProposalOptions::only>.by_commas()},
    {"--skip", "KNOBS", "leave out these settings", to<&ProposalOptions::skip>.by_commas()},
    {"--knob", "NAME=TEXT",
     "a setting of yours: batch='--batch-size {64,128} semantic', or bind='OMP_PROC_BIND={close,spread}'",
     by<optimize::parse_user_knob, &ProposalOptions::own>},
    {"--knobs", "FILE", "settings of yours from a file (optimize.yaml)", to<&Asked::knobs>},
    {"--try-patch", "FILE", "a patch (unified diff), tested in a copy of this folder", to<&Asked::patch>},
    {"--asked-only", "", "test only what --try, --knob, --knobs and --try-patch name",
     to<&ProposalOptions::asked_only>},
    {"--separate", "", "test every setting in separate processes, none in the running program",
     to<&OptimizeOptions::in_process>},
    {"--copy", "", "run the program in copies of this folder, so that runs leave no files here", to<&Asked::copies>},
    {"--effect", "RATIO", "smallest gain that matters", to<&OptimizeOptions::effect>},
    {"--alpha", "P", "probability that a test calls equal programs different", to<&OptimizeOptions::alpha>},
    {"--rounds", "N", "maximum pairs of runs of a test; a large gain needs two",
     to<&OptimizeOptions::rounds>.within({2, 1000})},
    {"--start-ahead", "N",
     "start up to N runs of a test in advance and time one at a time (default 4 if memory and cores allow it; 1 for "
     "programs that cannot run in parallel with themselves)",
     to<&Asked::start_ahead>.within({1, 64})},
    {"--loss-margin", "RATIO", "allowed difference of the mean loss beyond the noise",
     to<&OptimizeOptions::loss_margin>},
    {"--eval", "METRIC=MARGIN",
     "quality of whole runs: reject what loses more, 0.005 or 1% of the original; the program prints METRIC: 0.76",
     to<&QualityRequest::gate>},
    {"--eval-command", "CMD", "command that prints it after the program ended (default: the program does)",
     to<&QualityRequest::command>},
    {"--eval-lower", "", "of METRIC lower is better", to<&QualityOptions::lower>},
    {"--eval-rounds", "N", "seeds to run both with", to<&QualityOptions::rounds>.within({2, 100})},
    {"--eval-answers", "FILE", "METRIC is one of `eval score`, of the answers that a run writes here",
     to<&QualityRequest::answers>},
    {"--eval-ref", "FILE", "references of these answers", to<&QualityRequest::reference>},
    {"--accuracy-command", "CMD", "run after each whole run; a setting is rejected if it does not exit with 0",
     to<&QualityRequest::checks>},
    {"--steps", "N", "steps measured per process (default: as many as fit into --window)",
     to<&OptimizeOptions::window_steps>.within({0, 1'000'000})},
    {"--window", "TIME", "time measured per process (default 2s)", to<&OptimizeOptions::window_s>.within(kPositive)},
    {"--train-steps", "N", "steps of the real training, over which start and compilation are amortized",
     to<&TrainingRequest::steps>.within(kAtLeastOne)},
    {"--goal", "SPEEDUP", "speedup to reach, such as 3x: the report says whether it is met",
     by<parse_speedup, &TrainingRequest::goal, &OptimizationGoal::speedup>.within(kPositive)},
    {"--goal-days", "N", "maximum days of the training of --train-steps",
     to<&TrainingRequest::goal, &OptimizationGoal::days>.within(kPositive)},
    {"--goal-cost", "AMOUNT", "maximum cost of the training of --train-steps, at --price",
     to<&TrainingRequest::goal, &OptimizationGoal::cost>.within(kPositive)},
    {"--budget", "TIME", "time limit, final proof included; the same command resumes",
     to<&Asked::options, &OptimizeOptions::budget_s>.within(kPositive)},
    {"--budget-money", "AMOUNT", "the same as cost, at --price", to<&Asked::budget_money>.within(kPositive)},
    {"--price", "AMOUNT", "price of an hour of the machine", to<&TrainingRequest::price_per_hour>},
    {"--monthly-cost", "AMOUNT", "current monthly cost of the program: the report says what is saved"},
    {"--timeout", "TIME", "maximum time for one run", to<&OptimizeOptions::deadline_s>.within(kPositive)},
    {"--shell", "", "run the command with /bin/sh -c"},
    {"--seed", "N", "seed of the order of runs, and of the program's random generators",
     to<&OptimizeOptions::seed>.within({0, INT32_MAX})},
    {"--fresh", "", "start over instead of resuming an interrupted search", to<&Asked::fresh>},
    {"--json", "[FILE]", "write the report as JSON (warpmark.optimization/1)"},
    kHtmlOption,
    {"--out", "DIR",
     "write optimization.json, report.md, report.html, waterfall.svg, plan.yaml, and jobs of Kubernetes and Vertex AI"},
    {"--format", "FORMAT", "format of what is printed: text, md, html, json", to<&Asked::format>.chosen(),
     "text md html json"},
    {"--no-store", "", "do not store the report and its speedups", to<&Asked::stores>},
    {"--db", "FILE|URL", "database of stored sessions; the journal is next to it"},
};

/// The log of the search, and below it how much of the budget is used.
class SearchProgress {
 public:
  SearchProgress(const Context& context, double budget_s) : err_(context.err), bar_(context), budget_s_(budget_s) {}
  void clear() { bar_.clear(); }
  void runs(double elapsed_s, std::int64_t count, const std::string& what) {
    bar_.show({.slices_done = static_cast<std::size_t>(std::min(elapsed_s, budget_s_)),
               .slices = static_cast<std::size_t>(budget_s_),
               .elapsed_s = elapsed_s,
               .left_s = budget_s_ - elapsed_s,
               .left_known = budget_s_ > 0,
               .current = fmt::format("run {}: {}", count, what)});
  }
  void said(const std::string& text) {
    clear();
    err_ << text << '\n' << std::flush;
  }

 private:
  std::ostream& err_;
  ProgressPrinter bar_;
  double budget_s_;
};

Status write_optimization_files(const ParsedOptions& options, const Optimization& optimization,
                                const OptimizeRequest& request, const report::Shown& shown) {
  WM_TRY(write_report(options, "optimization", shown));
  if (!options.has("--out")) return {};
  const std::filesystem::path folder = options.get("--out");
  WM_TRY(write_file(folder / "plan.yaml", optimize::plan_yaml(optimization, request.program.user_knobs)));
  for (const auto& knob : request.program.user_knobs) {  // a plan that is taken elsewhere finds its patches beside it
    if (knob.place != optimize::UserKnobPlace::patch) continue;
    WM_ASSIGN(const auto patch, read_file(knob.target));
    WM_TRY(write_file(folder / std::filesystem::path(knob.target).filename(), patch));
  }
  WM_ASSIGN(const auto job, optimize::job_yaml(optimization, request.program));
  WM_TRY(write_file(folder / "job.yaml", job));
  WM_ASSIGN(const auto vertex, optimize::vertex_yaml(optimization, request.program));
  WM_TRY(write_file(folder / "vertex.yaml", vertex));
  return write_file(folder / "waterfall.svg",
                    report::standalone_svg(report::render_svg(report::waterfall_of(optimization))));
}

void warn_of_writing(Context& context, const OptimizeRequest& request) {
  if (!request.places.original.empty()) return;
  context.err
      << "optimize runs the program many times in this folder; what it writes stays. --copy runs it in copies\n";
}

Result<Optimization> make_optimization(Context& context, OptimizeRequest& request) {
  WM_ASSIGN(auto journal, optimize::TrialJournal::open(request.journal.string(), request.identity, request.fresh));
  if (journal.known() > 0)
    context.err << fmt::format("going on after {} runs of an interrupted search\n", journal.known());
  optimize::ProgramRuns runs(request.program, request.places, journal, &context.interrupted, request.options.budget_s);
  SearchProgress line(context, request.options.budget_s);
  runs.progress = [&](const std::string& what) { line.runs(runs.elapsed_s(), runs.count() + 1, what); };
  request.options.log = [&](const std::string& text) {
    line.said(fmt::format("[{:4.0f} s] {}", runs.elapsed_s(), text));
  };
  set_grace(5);
  set_crash_messages("\nwarpmark: interrupted; run the same command again to continue\n", "");
  const std::string started = format_utc(wall_clock_s());
  // What an earlier start wrote to the journal is read back all along the search.
  auto optimization = read_fields(request.journal.string(), [&] {
    return request.proven.empty() ? optimize::optimize_program(runs, request.options)
                                  : prove_optimization(runs, request);
  });
  set_crash_messages("\n", "");
  line.clear();
  std::error_code ignored;
  std::filesystem::remove_all(request.places.scratch, ignored);
  if (!request.program.directory.empty()) std::filesystem::remove_all(request.program.directory, ignored);
  if (!optimization.ok()) return optimization;
  optimization->id = hash_of(request.identity + started);
  optimization->started = started;
  optimization->command = command_line_of(context);
  optimization->machine = device::machine_facts();
  optimization->build = session::build_info();
  optimization->price_per_hour = request.training.price_per_hour;
  if (request.training.steps) optimization->train_steps = static_cast<double>(*request.training.steps);
  optimization->goal = request.training.goal;
  if (optimization->complete) WM_TRY(journal.complete());
  return optimization;
}

/// Of --monthly-cost, once a speedup is measured.
Result<std::optional<MonthlySaving>> proven_saving(const ParsedOptions& options, const Optimization& optimization) {
  WM_ASSIGN(const auto cost, monthly_cost_of(options));
  if (!cost || !optimization.measured_speedup) return std::optional<MonthlySaving>();
  const auto& speedup = *optimization.measured_speedup;
  return std::optional(monthly_saving(*cost, speedup.ratio, speedup.low, speedup.high));
}

report::Shown shown_with(const Optimization& optimization, const std::optional<MonthlySaving>& saving) {
  auto report = report::build_report(optimization);
  if (saving && !report.sections.empty()) {
    report.sections.front().blocks.push_back(
        Paragraph{report::monthly_sentence(*saving, "the original", "the optimized program") + "."});
  }
  return shown_as(
      [&optimization, saving] {
        return to_json(PricedOptimization{optimization, saving});
      },
      std::move(report));
}

Result<int> run_optimize(Context& context, const ParsedOptions& options) {
  const bool has_command = !command_after_dashes(context.words).empty();
  if (!has_command && options.positionals() == std::vector<std::string>{"calibration"}) {
    return show_calibration(context, options);
  }
  OptimizeRequest request;
  auto& wanted = request.options;
  WM_TRY(read_options(options, request, wanted, wanted.proposals, wanted.quality, request.training, request.quality));
  if (!request.commits.empty()) {
    if (has_command)
      return usage_error("--from-history reads stored sessions and runs nothing", "leave the command out");
    return show_history_report(context, options, request);
  }
  if (!request.metric.empty()) return usage_error("--metric is for --from-history");
  if (!request.applied.empty()) return apply_plan(context, options, request);
  WM_TRY(check_outputs(options));
  if (const auto cost = monthly_cost_of(options); !cost.ok()) return cost.error();  // before the search, not after it
  WM_TRY(complete_request(context, options, request));
  if (request.lists_knobs) return list_knobs(context, options, request);
  warn_of_writing(context, request);
  auto optimization = make_optimization(context, request);
  if (!optimization.ok()) {
    if (!context.interrupted) return optimization.error();
    context.err << "interrupted; run the same command again to continue\n";
    return kInterrupted;
  }
  WM_ASSIGN(const auto saving, proven_saving(options, *optimization));
  const auto shown = shown_with(*optimization, saving);
  WM_TRY(show(context, shown, request.format));
  context.out.flush();
  WM_TRY(write_optimization_files(options, *optimization, request, shown));
  if (context.interrupted) {
    context.err << "interrupted; run the same command again to continue\n";
    return kInterrupted;
  }
  if (request.stores && optimization->complete) WM_TRY(store_optimization(context, options, *optimization));
  return exit_because(context, optimize::outcome_code(*optimization), optimization->verdict);
}

}  // namespace

extern const Command optimize_command{
    .id = "optimize",
    .summary = "make a program faster and prove the speedup",
    .details =
        "Runs a PyTorch training or inference program unchanged, tests common optimizations (loader workers, "
        "precision, memory format, fused optimizers, compiling, ...), and proves the speedup. A hook that Python "
        "loads at startup switches the settings, checks that they are in force, and reports steps and losses.\n"
        "\n"
        "Settings are first tested within one process: blocks of steps with and without them, and outputs and "
        "gradients at the same state. The best plan is proven in pairs of fresh processes. docs/optimize.md "
        "describes the method and lists the settings.\n"
        "\n"
        "A program that is not Python, or has no steps, is measured as a whole, with the settings that you "
        "declare. Ctrl-C ends the search with what is proven; the same command resumes it.\n"
        "\n"
        "With a profile, or the output of `analyze --json`, the search starts from its findings.\n"
        "\n"
        "`warpmark optimize calibration` compares predicted and measured speedups on this machine.\n"
        "\n"
        "Exit code 0: a speedup is proven, or none is possible; 1: a setting that you named did not help; 3: "
        "undecided; 4: a setting that you named changes the answers; 5: no valid measurement. With --apply: the "
        "exit code of the program.",
    .options = kOptimizeOptions,
    .positional = {"ANALYSIS", "a profile or an analysis to start from, before -- CMD; or the word calibration", true,
                   "calibration <files>"},
    .examples =
        "warpmark optimize -- python train.py --epochs 1\n"
        "warpmark optimize --list-knobs -- python train.py\n"
        "warpmark optimize analysis.json -- python train.py\n"
        "warpmark optimize --knob batch='--batch-size {64,128}' -- python train.py\n"
        "warpmark optimize --from-history v1..main --metric step_time --goal 3x\n"
        "warpmark optimize --apply gains/plan.yaml -- python train.py",
    .run = run_optimize,
};

}  // namespace warpmark::apps
