#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "exchange/mllog/convergence.h"
#include "exchange/mllog/rules.h"
#include "report/draw/format.h"
#include "report/draw/table.h"
#include "warpmark/command.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr const char* kMllogSchema = "warpmark.mllog/1";

constexpr OptionSpec kMllogOptions[] = {
    {"--runs", "N", "runs that make a result (default: as MLPerf asks of the benchmark)"},
    {"--rcp", "FILE", "reference convergence points, as rcps_NAME.json of mlcommons/logging", false, "<files>"},
    {"--rcp-spread", "WHICH", "spread of the reference: without its extremes (rules) or of all (checker)", false,
     "rules|checker"},
    {"--rcp-full", "", "hold against all points, also those that converge slower than their neighbours say"},
    {"--json", "FILE", "write the result as JSON (warpmark.mllog/1)", false, "<files>"},
};

struct ReadLog {
  std::string file;
  exchange::MlLogTraining training;
};

/// What several logs make together.
struct MllogResult {
  std::vector<ReadLog> logs;
  int runs = 0;     ///< that a result needs; 0: nobody says
  int dropped = 1;  ///< at each end
  std::optional<double> score_s;
  std::optional<exchange::Convergence> convergence;
  std::vector<std::string> faults;  ///< of the result; those of each log stand there
  [[nodiscard]] bool ok() const {
    const bool clean =
        std::all_of(logs.begin(), logs.end(), [](const ReadLog& log) { return log.training.faults.empty(); });
    return clean && faults.empty() && (!convergence || convergence->accepted);
  }
};

Result<std::vector<ReadLog>> read_logs(const std::vector<std::string>& files) {
  std::vector<ReadLog> logs;
  for (const auto& file : files) {
    WM_ASSIGN(const std::string text, read_file(file));
    WM_ASSIGN(const auto events, exchange::read_mllog(file, text));
    logs.push_back({file, exchange::judge_mllog(events)});
  }
  return logs;
}

Status set_runs(const ParsedOptions& options, MllogResult& result) {
  const auto* benchmark = exchange::mlperf_benchmark(result.logs.front().training.benchmark);
  if (benchmark != nullptr) {
    result.runs = benchmark->runs;
    result.dropped = benchmark->dropped;
  }
  if (options.has("--runs")) {
    WM_ASSIGN(const auto runs, parse_integer(options.get("--runs")));
    if (runs < 1 || runs > 1000) return usage_error("--runs must be 1 to 1000");
    result.runs = static_cast<int>(runs);
  }
  return {};
}

/// Logs of one result are of one benchmark, division and batch.
void require_same(MllogResult& result) {
  const auto& first = result.logs.front().training;
  for (const auto& log : result.logs) {
    const auto& other = log.training;
    if (other.benchmark == first.benchmark && other.division == first.division && other.batch == first.batch) continue;
    result.faults.push_back(log.file + " is of another benchmark, division or batch than " + result.logs.front().file);
  }
}

/// Time to train: the mean without the extremes; one training that did not converge may be the slowest.
void score(MllogResult& result) {
  if (result.runs == 0) return;
  const auto runs = static_cast<int>(result.logs.size());
  if (runs != result.runs) {
    result.faults.push_back(fmt::format("a result is of {} runs, these are {}", result.runs, runs));
    return;
  }
  std::vector<double> seconds;
  for (const auto& log : result.logs) {
    const bool counts = log.training.converged && log.training.seconds;
    seconds.push_back(counts ? *log.training.seconds : std::numeric_limits<double>::infinity());
  }
  const auto lost = std::count_if(seconds.begin(), seconds.end(), [](double s) { return std::isinf(s); });
  const bool too_few = runs <= 2 * result.dropped;  // none would be left without the extremes
  const int may = too_few ? 0 : result.dropped;
  if (lost > may) result.faults.push_back(fmt::format("{} runs did not converge, {} may", lost, may));
  if (lost > may || too_few) return;
  if (const auto mean = exchange::olympic_mean(std::move(seconds), result.dropped); mean.ok()) result.score_s = *mean;
}

Status hold_against_reference(const ParsedOptions& options, MllogResult& result) {
  if (!options.has("--rcp")) return {};
  const std::string file = options.get("--rcp");
  if (result.runs == 0) return usage_error("how many runs make a result is not known", "--runs N");
  WM_ASSIGN(const std::string text, read_file(file));
  WM_ASSIGN(const Json json, parse_json(text, file));
  const auto& first = result.logs.front().training;
  const exchange::ConvergenceRules rules{.runs = result.runs,
                                         .dropped = result.dropped,
                                         .spread = options.get("--rcp-spread", "rules") == "checker"
                                                       ? exchange::Spread::of_all
                                                       : exchange::Spread::without_extremes,
                                         .prune = !options.has("--rcp-full")};
  WM_ASSIGN(auto points, exchange::read_references(json, file, first.benchmark, rules));
  std::vector<double> needed;
  for (const auto& log : result.logs) {
    const bool counts = log.training.converged && log.training.to_converge;
    needed.push_back(counts ? *log.training.to_converge : std::numeric_limits<double>::infinity());
  }
  WM_ASSIGN(result.convergence, exchange::judge_convergence(std::move(points), first.batch, std::move(needed), rules));
  return {};
}

Table table_of(const MllogResult& result) {
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

void print_result(std::ostream& out, const MllogResult& result) {
  for (const auto& log : result.logs) {
    for (const auto& fault : log.training.faults) {
      out << log.file << (fault.line > 0 ? fmt::format(" line {}", fault.line) : "") << ": " << fault.what << '\n';
    }
  }
  for (const auto& fault : result.faults) out << fault << '\n';
  if (result.score_s) {
    out << fmt::format("Score: {:.3f} minutes, the mean of {} runs without the {} fastest and slowest.\n",
                       *result.score_s / 60, result.logs.size(), result.dropped);
  } else if (result.runs == 0) {
    out << "No score: how many runs make a result of this benchmark is not known; --runs N says it.\n";
  }
  if (!result.convergence) return;
  const auto& c = *result.convergence;
  out << fmt::format("Convergence: {:.4g}, reference {:.4g} (at least {:.4g} at a batch of {:.0f}): {}{}.\n", c.mean,
                     c.point.mean, c.point.minimum, c.point.batch, c.accepted ? "accepted" : "rejected",
                     c.why.empty() ? "" : "; " + c.why);
  if (c.accepted && c.scale > 1 && result.score_s) {
    out << fmt::format("Faster than the reference: the score counts {:.4f} times as long, {:.3f} minutes.\n", c.scale,
                       c.scale * *result.score_s / 60);
  }
}

Json mllog_json(const MllogResult& result) {
  Json json{{"schema", kMllogSchema}, {"ok", result.ok()}, {"logs", Json::array()}, {"faults", result.faults}};
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
  if (result.score_s) json["score_s"] = *result.score_s;
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
  MllogResult result;
  WM_ASSIGN(result.logs, read_logs(files));
  WM_TRY(set_runs(options, result));
  require_same(result);
  score(result);
  WM_TRY(hold_against_reference(options, result));
  context.out << report::render_table(table_of(result), render_options(context));
  print_result(context.out, result);
  if (options.has("--json")) WM_TRY(write_file(options.get("--json"), dump_json(mllog_json(result)) + "\n"));
  return result.ok() ? kSuccess : kGateFailed;
}

}  // namespace

extern const Command mllog_command{
    .id = "mllog",
    .summary = "check MLPerf training logs and tell their score",
    .details =
        "Reads :::MLLOG lines from logs of trainings, one log a run, whatever program wrote them (`warpmark run MODEL "
        "--until GOAL --set log=FILE` does), and holds each against MLPerf's rules for training logs (5.1): keys that "
        "must be there and how often, their order, the time that initialization may take, and the quality that was "
        "reached (targets up to 6.0). Faults are named with their line.\n"
        "\n"
        "As many logs as make a result have a score: the time to train, its mean without the fastest and the slowest. "
        "With --rcp the epochs to converge are held against a reference: a result that converges faster than the "
        "reference can explain is rejected, and one that is a little faster is scaled.\n"
        "\n"
        "Exit code 0: all hold; 1: a fault, or a result that is none.",
    .options = kMllogOptions,
    .positional = {"LOG", "logs, one of each run", true, "<files>"},
    .examples =
        "warpmark mllog results/bert/result_*.txt\n"
        "warpmark mllog result_0.txt --runs 1\n"
        "warpmark mllog result_*.txt --rcp rcps_resnet.json --json score.json",
    .run = run_mllog,
};

}  // namespace warpmark::apps
