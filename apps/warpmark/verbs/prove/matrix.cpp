#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/units.h"
#include "base/yaml.h"
#include "device/machine.h"
#include "model/auxiliary.h"
#include "report/build/matrix.h"
#include "report/draw/svg.h"
#include "report/formats/html.h"
#include "session/new_session.h"
#include "stats/summary.h"
#include "store/location.h"
#include "validate/commands/command_experiment.h"
#include "validate/commands/power_cap.h"
#include "validate/compare/compare_run.h"
#include "validate/matrix/matrix.h"
#include "warpmark/ab/matrix_store.h"
#include "warpmark/command.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/progress.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kMatrixOptions[] = {
    {"--rounds", "N", "runs of each variant (default: the file's, or 10)"},
    {"--budget", "TIME", "maximum time for this matrix, such as 10m; 0 (default): no limit"},
    {"--effect", "RATIO", "smallest difference that matters (default: the file's, or 1%)"},
    {"--alpha", "P", "chance of calling any of equal variants different (default 0.05)"},
    {"--seed", "N", "seed of the order (default 1)"},
    {"--fresh", "", "start over instead of resuming an interrupted run"},
    {"--plan", "", "show the variants and their commands, and run nothing"},
    {"--json", "[FILE]", "write the results as JSON (warpmark.matrix/1)"},
    kHtmlOption,
    {"--out", "DIR", "write matrix.json, report.md, report.html and a heat map of each metric"},
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json", false, "text md html json"},
    {"--no-store", "", "do not store the runs in the history"},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or your own file); the journal is next to it"},
};

struct MatrixRequest {
  std::string file;
  std::string text;  ///< of the file
  validate::MatrixSpec spec;
  validate::MatrixOptions options;
  std::string format;
};

Status apply_matrix_numbers(const ParsedOptions& given, validate::MatrixOptions& options) {
  WM_ASSIGN(options.rounds, count_of(given, "--rounds", options.rounds, 1, 10'000));
  if (given.has("--budget")) {
    WM_ASSIGN(options.budget_s, parse_duration_s(given.get("--budget")));
  }
  if (given.has("--effect")) {
    WM_ASSIGN(options.effect, parse_ratio(given.get("--effect")));
  }
  if (given.has("--alpha")) {
    WM_ASSIGN(options.alpha, parse_ratio(given.get("--alpha")));
  }
  for (const double ratio : {options.effect, options.alpha}) {
    if (!(ratio > 0 && ratio < 1)) return usage_error("--effect and --alpha must be between 0 and 1");
  }
  if (!given.has("--seed")) return {};
  WM_ASSIGN(const auto seed, parse_integer(given.get("--seed")));
  if (seed < 0) return usage_error("--seed must be 0 or more");
  options.seed = static_cast<std::uint64_t>(seed);
  return {};
}

Result<MatrixRequest> matrix_request_of(const ParsedOptions& given) {
  const auto& words = given.positionals();
  if (words.size() != 1) {
    return usage_error(words.empty() ? "there is no matrix to run" : "one matrix file at a time",
                       "such as: warpmark matrix examples/matrix.yaml");
  }
  MatrixRequest request;
  request.file = words[0];
  WM_ASSIGN(request.text, read_file(request.file, kLargestYamlBytes));
  WM_ASSIGN(request.spec, validate::parse_matrix_spec(request.text, request.file));
  request.options.rounds = request.spec.rounds;
  request.options.warmup_runs = request.spec.warmup_runs;
  request.options.effect = request.spec.effect;
  WM_TRY(apply_matrix_numbers(given, request.options));
  WM_ASSIGN(request.format, format_of(given));
  return request;
}

/// Runs the variants' commands. Time, peak memory and the GPUs' energy are always measured.
class Commands {
 public:
  Commands(const validate::MatrixSpec& spec, const std::atomic<bool>& interrupted) : interrupted_(interrupted) {
    for (const auto& variant : spec.variants) {
      auto command = variant.command;
      add_built_in(command, {.name = "time", .unit = "s", .source = validate::MetricSource::wall_time});
      add_built_in(command, {.name = "peak_memory", .unit = "B", .source = validate::MetricSource::peak_memory});
      commands_.push_back(std::move(command));
    }
  }

  Status build_all() {
    std::vector<std::vector<std::string>> built;
    for (const auto& command : commands_) {
      if (command.build.empty() || std::find(built.begin(), built.end(), command.build) != built.end()) continue;
      WM_TRY(validate::build(command, "", &interrupted_));
      built.push_back(command.build);
    }
    return {};
  }

  Result<Run> run(std::size_t variant) {
    validate::CommandExperiment experiment(commands_[variant], {.directory = {}, .interrupted = &interrupted_});
    const auto before = energy_.joules();
    auto run = experiment.run({});
    const auto after = energy_.joules();
    if (run.ok() && before && after && *after >= *before) {
      Metric metric{.id = std::string(kGpuEnergy), .unit = "J", .better = Better::lower, .samples = {*after - *before}};
      metric.round_sizes = {1};
      metric.summary = stats::summarize(metric.samples);
      // Of all GPUs of the machine, as they are all paid for; what was measured beside is of those that were used.
      std::erase_if(run->metrics, [](const auto& item) { return item.id == kGpuEnergy; });
      run->metrics.push_back(std::move(metric));
    }
    return run;
  }

 private:
  static void add_built_in(validate::CommandSpec& command, const validate::MetricSpec& metric) {
    const bool known = std::any_of(command.metrics.begin(), command.metrics.end(),
                                   [&](const auto& item) { return item.name == metric.name; });
    if (!known) command.metrics.push_back(metric);
  }

  const std::atomic<bool>& interrupted_;
  std::vector<validate::CommandSpec> commands_;
  validate::GpuEnergy energy_;
};

/// Where journals stand: beside the database.
Result<std::filesystem::path> journals(const Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto location, store_location(context, options));
  WM_ASSIGN(auto folder, store::sibling_folder(location, context.environment));
  folder = std::filesystem::absolute(folder) / "matrix";
  WM_TRY(make_folder(folder));
  return folder;
}

/// What was measured, and the journal, which stays open until the results are stored.
struct Measured {
  Matrix matrix;
  validate::MatrixRuns runs;
  validate::Journal journal;
};

Result<Measured> measure_variants(Context& context, const ParsedOptions& given, MatrixRequest& request) {
  const Machine machine = device::machine_facts();
  // Rounds, effect and budget may change while a matrix goes on; what is run and in which order may not.
  const std::string wanted =
      sha256_hex(fmt::format("{}\n{}\nseed {} machine {} commit {}", std::filesystem::current_path().string(),
                             request.text, request.options.seed, machine.fingerprint, session::git_state().commit));
  WM_ASSIGN(const auto folder, journals(context, given));
  const std::string id = wanted.substr(0, 16);
  WM_ASSIGN(auto journal,
            validate::Journal::open((folder / (id + ".jsonl")).string(), wanted,
                                    sha256_hex(fmt::format("{} {:.6f}", wanted, wall_clock_s())).substr(0, 16),
                                    given.has("--fresh")));
  auto known = journal.take_samples();
  if (!known.empty()) context.err << fmt::format("going on after {} runs of an interrupted matrix\n", known.size());
  request.options.interrupted = &context.interrupted;
  Commands commands(request.spec, context.interrupted);
  WM_TRY(commands.build_all());
  set_crash_messages("\nwarpmark: interrupted; run the same command again to resume\n", "");
  StepBar bar(context, request.options.budget_s);
  const validate::MatrixEvents events{
      .sample_done = [&](const validate::AbSample& sample) { return journal.append(sample); },
      .progress =
          [&](std::int64_t runs, std::int64_t most) {
            bar.update(runs, most, fmt::format("run {} of {}", std::min(runs + 1, most), most));
          },
      .clock_s = {}};
  auto runs = validate::run_matrix(
      request.spec.variants.size(), [&](std::size_t variant) { return commands.run(variant); }, request.options,
      std::move(known), events);
  bar.clear();
  set_crash_messages("\n", "");
  if (!runs.ok()) return runs.error();
  WM_ASSIGN(auto matrix, validate::judge_matrix(request.spec, runs->samples, request.options));
  matrix.stopped_because = runs->stopped_because;
  matrix.id = journal.id();
  matrix.machine = machine;
  matrix.build = session::build_info();
  return Measured{std::move(matrix), std::move(*runs), std::move(journal)};
}

/// What was measured goes into the history when the matrix ends, by its rounds or by its budget; after Ctrl-C the
/// journal alone has it. Marked before it is stored: a process that is killed between both leaves the next one to do
/// it.
Status keep(Context& context, const ParsedOptions& options, const MatrixRequest& request, Measured& measured) {
  const bool complete = measured.runs.complete, stores = !options.has("--no-store");
  if (!complete && context.interrupted) {
    if (stores) context.err << "not in the history yet; run the same command again to resume\n";
    return {};
  }
  std::string id;
  if (stores) {
    WM_TRY(measured.journal.end_piece());
    const auto& ends = measured.journal.pieces();
    if (!ends.empty()) {
      WM_ASSIGN(id, store_matrix(context, options, request.spec, measured.matrix, measured.runs.samples, ends));
    }
  }
  if (!id.empty() && request.format == "text") {
    context.err << stored_note(id);
  }
  if (complete) return measured.journal.complete();
  context.err << fmt::format("{}; run the same command again to resume\n", measured.matrix.stopped_because);
  return {};
}

Status write_matrix_files(const ParsedOptions& options, const Matrix& matrix, const report::Shown& shown) {
  WM_TRY(write_report(options, "matrix", shown));
  if (!options.has("--out")) return {};
  const std::filesystem::path folder = options.get("--out");
  int number = 0;
  for (const auto& map : report::heat_maps(matrix)) {
    const std::string name = fmt::format("heat-map-{}.svg", number++);
    WM_TRY(write_file(folder / name, report::standalone_svg(report::render_svg(map))));
  }
  return {};
}

/// Failing variants are results; only where nothing can be said about any, the matrix has failed.
int matrix_exit_code(Context& context, const Matrix& matrix) {
  const auto baseline = std::find_if(matrix.variants.begin(), matrix.variants.end(),
                                     [](const auto& variant) { return variant.baseline; });
  const auto measured = std::count_if(matrix.variants.begin(), matrix.variants.end(),
                                      [](const auto& variant) { return variant.runs > 0; });
  if (measured == 0) return exit_because(context, kUsage, "no variant could be measured");
  const bool alone = baseline->runs == 0 || measured == 1;
  return exit_because(context, alone ? kInconclusive : kSuccess,
                      baseline->runs == 0 ? "the baseline was not measured" : "only one variant was measured");
}

void show_plan(Context& context, const MatrixRequest& request) {
  for (const auto& variant : request.spec.variants) {
    context.out << variant.name << (variant.baseline ? "  (baseline)" : "") << "\n  ";
    for (const auto& [name, value] : variant.command.environment)
      context.out << name << '=' << shell_quote(value) << ' ';
    context.out << command_line(variant.command.run) << '\n';
  }
}

Result<int> run_matrix(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(auto request, matrix_request_of(options));
  if (options.has("--plan")) {
    show_plan(context, request);
    return kSuccess;
  }
  WM_TRY(check_outputs(options));
  const std::string started = format_utc(wall_clock_s());
  auto measured = measure_variants(context, options, request);
  if (!measured.ok()) {
    if (context.interrupted) return kInterrupted;
    return measured.error();
  }
  Matrix& matrix = measured->matrix;
  matrix.started = started;
  matrix.file = request.file;
  matrix.command = command_line_of(context);
  const auto shown = shown_as([&] { return to_json(matrix); }, report::build_report(matrix));
  WM_TRY(show(context, shown, request.format));
  context.out.flush();
  WM_TRY(write_matrix_files(options, matrix, shown));
  WM_TRY(keep(context, options, request, *measured));
  return context.interrupted ? static_cast<int>(kInterrupted) : matrix_exit_code(context, matrix);
}

}  // namespace

extern const Command matrix_command{
    .id = "matrix",
    .summary = "benchmark a command in many variants: precisions, batch sizes, flags, containers",
    .details =
        "Runs the command of a YAML file with every combination of the values of its axes (docs/matrix.md). Each "
        "round runs every variant once, in a fresh process and in random order. Shows throughput, latencies, memory, "
        "GPU energy and cost per 1000 samples as a table and heat maps, the verdict of each variant against the "
        "baseline (p adjusted over all variants), and the Pareto front of the objectives.\n"
        "\n"
        "A variant that fails or hangs is reported and does not end the matrix. Run the same command again to "
        "continue an interrupted matrix, or one whose --budget is used up. Results are stored at the end: history, "
        "trend and check treat each variant as a series.\n"
        "\n"
        "Exit code 0: measured; 2: no variant could run; 3: nothing to compare, because the baseline or all other "
        "variants failed.",
    .options = kMatrixOptions,
    .positional = {"FILE", "the matrix, a .yaml file", true, "<files>"},
    .examples =
        "warpmark matrix examples/matrix.yaml\n"
        "warpmark matrix serving.yaml --plan\n"
        "warpmark matrix serving.yaml --budget 30m --out results/",
    .run = run_matrix,
};

}  // namespace warpmark::apps
