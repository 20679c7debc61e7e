#include <fmt/format.h>

#include <ostream>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "exchange/mllog/result.h"
#include "exchange/mllog/rulesets.h"
#include "report/draw/format.h"
#include "report/draw/table.h"
#include "warpmark/command.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr const char* kMllogSchema = "warpmark.mllog/1";

constexpr OptionSpec kMllogOptions[] = {
    {"--ruleset", "ROUND", "round whose rules apply, 4.0 to 6.0 (default: the newest that the logs follow)"},
    {"--runs", "N", "runs that make a result (default: as MLPerf asks of the benchmark)"},
    {"--rcp", "FILE", "reference convergence points, as rcps_NAME.json of mlcommons/logging"},
    {"--rcp-spread", "WHICH",
     "spread of the reference: of all its trainings (checker, the default) or without extremes (rules)", false,
     "rules|checker"},
    {"--rcp-full", "", "use all points, also those slower than interpolation between their neighbours"},
    {"--json", "[FILE]", "write the result as JSON (warpmark.mllog/1)"},
};

using exchange::MlLogResult;

Result<std::vector<exchange::MlLog>> read_logs(const std::vector<std::string>& files) {
  std::vector<exchange::MlLog> logs;
  for (const auto& file : files) {
    WM_ASSIGN(const std::string text, read_file(file));
    auto events = exchange::read_mllog(file, text);
    if (!events.ok() && files.size() == 1) return events.error();
    logs.push_back({.file = file, .unreadable = events.ok() ? "" : events.error().what});
    if (events.ok()) logs.back().events = std::move(*events);
  }
  return logs;
}

Result<std::optional<int>> runs_of(const ParsedOptions& options) {
  if (!options.has("--runs")) return std::optional<int>();
  WM_ASSIGN(const auto runs, parse_integer(options.get("--runs")));
  if (runs < 1 || runs > 1000) return usage_error("--runs must be 1 to 1000");
  return std::optional(static_cast<int>(runs));
}

Status compare_with_reference(const ParsedOptions& options, MlLogResult& result) {
  if (!options.has("--rcp")) return {};
  const std::string file = options.get("--rcp");
  if (result.runs == 0) return usage_error("the number of runs of a result is unknown", "--runs N");
  WM_ASSIGN(const std::string text, read_file(file));
  WM_ASSIGN(const Json json, parse_json(text, file));
  const auto& first = result.first();
  const auto* benchmark = exchange::mlperf_benchmark(first.benchmark);
  const exchange::ConvergenceRules rules{.runs = result.runs,
                                         .dropped = result.dropped,
                                         .spread = options.get("--rcp-spread", "checker") == "checker"
                                                       ? exchange::Spread::of_all
                                                       : exchange::Spread::without_extremes,
                                         .prune = !options.has("--rcp-full"),
                                         .allowance = benchmark == nullptr ? 0 : benchmark->allowance};
  WM_ASSIGN(auto points, exchange::read_references(json, file, first.benchmark, rules));
  WM_ASSIGN(result.convergence,
            exchange::judge_convergence(std::move(points), first.batch, exchange::needed_to_converge(result), rules));
  return {};
}

Table table_of(const MlLogResult& result) {
  Table table{{{"log"},
               {"benchmark"},
               {"batch", Align::right, 2},
               {"time to train", Align::right},
               {"quality", Align::right},
               {"epochs", Align::right, 1},
               {""}},
              {}};
  for (const auto& log : result.logs) {
    const auto& t = log.training;
    table.rows.push_back({{log.file},
                          {t.benchmark},
                          {t.batch > 0 ? fmt::format("{:.0f}", t.batch) : ""},
                          {t.seconds ? fmt::format("{:.2f} min", *t.seconds / 60) : ""},
                          {t.quality ? fmt::format("{:.5g}", *t.quality) : ""},
                          {t.to_converge ? fmt::format("{:.6g}", *t.to_converge) : ""},
                          {!t.faults.empty() ? fmt::format("{} faults", t.faults.size())
                           : t.converged     ? "ok"
                                             : "aborted",
                           !t.faults.empty() ? Tone::bad
                           : t.converged     ? Tone::good
                                             : Tone::warning}});
  }
  return table;
}

void print_result(std::ostream& out, const MlLogResult& result) {
  for (const auto& log : result.logs) {
    for (const auto& fault : log.training.faults) {
      out << log.file << (fault.line > 0 ? fmt::format(" line {}", fault.line) : "") << ": " << fault.what << '\n';
    }
  }
  for (const auto& fault : result.faults) out << fault << '\n';
  out << (result.round.empty() ? "Not an MLPerf benchmark: only the rules that all benchmarks share were checked.\n"
                               : "Rules: MLPerf training round " + result.round + ".\n");
  if (result.rejected > 0 && result.faults.empty()) {
    out << fmt::format("{} logs break the rules and count as the slowest runs; {} may.\n", result.rejected,
                       result.dropped);
  }
  if (result.score_s) {
    out << fmt::format("Score: {:.3f} minutes, the mean of {} runs without the {} fastest and slowest.\n",
                       *result.score_s / 60, result.logs.size(), result.dropped);
  } else if (result.runs == 0) {
    out << "No score: the number of runs of this benchmark is unknown; give --runs N.\n";
  } else if (result.logs.size() == 1 && result.runs > 1) {
    out << fmt::format("No score: a result has {} runs.\n", result.runs);
  }
  if (!result.convergence) return;
  const auto& c = *result.convergence;
  out << fmt::format("Convergence: {:.4g}, reference {:.4g} (at least {:.4g} at a batch of {:.0f}): {}{}.\n", c.mean,
                     c.point.mean, c.point.minimum, c.point.batch, c.accepted ? "accepted" : "rejected",
                     c.why.empty() ? "" : "; " + c.why);
  if (c.accepted && c.scale > 1 && result.score_s) {
    out << fmt::format("Faster than the reference: the score is scaled by {:.4f} to {:.3f} minutes.\n", c.scale,
                       c.scale * *result.score_s / 60);
  }
}

/// What others needed, where there is a score to compare with.
Table published_table(const MlLogResult& result) {
  Table table{
      {{"published"}, {"accelerators"}, {"minutes", Align::right}, {"this result", Align::right}, {"submitter"}}, {}};
  const double minutes = *result.score_s / 60 * (result.convergence ? result.convergence->scale : 1);
  for (const auto& one : exchange::published_results(result.first().benchmark)) {
    table.rows.push_back({{"MLPerf training " + std::string(one.round)},
                          {fmt::format("{} x {}", one.accelerators, one.accelerator)},
                          {fmt::format("{:.4g}", one.minutes)},
                          {fmt::format("{:.3g}x", minutes / one.minutes)},
                          {std::string(one.submitter)}});
  }
  return table;
}

Json published_json(const MlLogResult& result) {
  Json list = Json::array();
  for (const auto& one : exchange::published_results(result.first().benchmark)) {
    list.push_back({{"round", one.round},
                    {"accelerator", one.accelerator},
                    {"accelerators", one.accelerators},
                    {"minutes", one.minutes},
                    {"submitter", one.submitter}});
  }
  return list;
}

Json mllog_json(const MlLogResult& result) {
  Json json{{"schema", kMllogSchema},
            {"ok", result.ok()},
            {"ruleset", result.round},
            {"logs", Json::array()},
            {"faults", result.faults}};
  for (const auto& log : result.logs) {
    const auto& t = log.training;
    Json item{{"file", log.file}, {"benchmark", t.benchmark}, {"division", t.division},
              {"batch", t.batch}, {"converged", t.converged}, {"faults", Json::array()}};
    if (t.seconds) item["time_to_train_s"] = *t.seconds;
    if (t.quality) item["quality"] = *t.quality;
    if (t.to_converge) item[t.in_samples ? "samples" : "epochs"] = *t.to_converge;
    for (const auto& fault : t.faults) item["faults"].push_back({{"line", fault.line}, {"what", fault.what}});
    json["logs"].push_back(std::move(item));
  }
  if (result.score_s) {
    json["score_s"] = *result.score_s;
    json["published"] = published_json(result);
  }
  if (result.convergence) {
    const auto& c = *result.convergence;
    json["convergence"] = {{"accepted", c.accepted},
                           {"mean", c.mean},
                           {"reference_mean", c.point.mean},
                           {"reference_spread", c.point.spread},
                           {"least", c.point.minimum},
                           {"batch", c.point.batch},
                           {"interpolated", c.point.between},
                           {"scale", c.scale},
                           {"why", c.why}};
  }
  return json;
}

Result<int> run_mllog(Context& context, const ParsedOptions& options) {
  const auto& files = options.positionals();
  if (files.empty()) return usage_error("no log is given", "warpmark mllog result_*.txt");
  if (options.has("--json")) WM_TRY(check_writable(options.get("--json")));
  WM_ASSIGN(auto logs, read_logs(files));
  WM_ASSIGN(const auto runs, runs_of(options));
  WM_ASSIGN(auto result, exchange::judge_result(std::move(logs), options.get("--ruleset"), runs));
  WM_TRY(compare_with_reference(options, result));
  context.out << report::render_table(table_of(result), render_options(context));
  std::ostringstream text;
  print_result(text, result);
  print_lines(context, text.str());
  if (result.score_s && result.first().division == "closed") {
    const Table published = published_table(result);
    if (!published.rows.empty()) context.out << '\n' << report::render_table(published, render_options(context));
  }
  WM_TRY(write_json(options, mllog_json(result)));
  if (result.ok()) return kSuccess;
  return exit_because(
      context, kGateFailed,
      result.faults.empty() ? "the runs converged faster than the reference allows" : result.faults.front());
}

}  // namespace

extern const Command mllog_command{
    .id = "mllog",
    .summary = "check MLPerf training logs and compute their score",
    .details =
        "Reads :::MLLOG lines from training logs of any program, one log per run (`warpmark run MODEL "
        "--until GOAL --set log=FILE` does), and checks each against the rules of a round of MLPerf training, 4.0 to "
        "6.0, as the compliance checker of mlcommons/logging does: keys that must be there and how often, the values "
        "that the benchmark fixes, the time that initialization may take, and the quality to reach. Faults are named "
        "with their line.\n"
        "\n"
        "A whole result (as many logs as the benchmark asks) has a score: the mean time to train without the fastest "
        "and the slowest run, of which one may break the rules (four of unet3d). One log alone is only checked. --rcp "
        "compares the epochs or samples to converge with a reference, as rcp_checker does: a result that converges "
        "faster than the reference can explain is rejected, and one that is a little faster is scaled. Next to the "
        "score stand the best published results of the benchmark, by accelerator and their number.\n"
        "\n"
        "Exit code 0: all hold; 1: a rule is broken, or the logs do not make a result.\n",
    .options = kMllogOptions,
    .positional = {"LOG", "logs, one of each run", true, "<files>"},
    .examples =
        "warpmark mllog results/bert/result_*.txt\n"
        "warpmark mllog result_0.txt --ruleset 5.1\n"
        "warpmark mllog result_*.txt --rcp rcps_resnet.json --json score.json",
    .run = run_mllog,
};

}  // namespace warpmark::apps
