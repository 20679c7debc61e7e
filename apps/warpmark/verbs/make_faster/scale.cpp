// How a command's throughput grows with GPUs or ranks.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "device/machine.h"
#include "model/scaling.h"
#include "report/build/scaling.h"
#include "session/new_session.h"
#include "validate/commands/command_experiment.h"
#include "validate/commands/line_pattern.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/command.h"
#include "warpmark/scaling/power_cap_sweep.h"
#include "warpmark/scaling/scale_profiles.h"
#include "warpmark/scaling/scale_results.h"
#include "warpmark/scaling/scale_runs.h"
#include "warpmark/sessions/goals.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/progress.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using collectives::LaunchOptions;

struct ScaleVerb {
  std::string gpus, ranks;  ///< numbers of workers
  std::string record, times, caps;
  std::vector<std::string> profiled;
  double least = 0;  ///< efficiency
  bool restores = false;
  std::string format = "text";
};

Result<validate::MetricSpec> pattern_metric(const std::string& name, const std::string& expression) {
  WM_ASSIGN(const auto pattern, validate::LinePattern::compile(expression));
  (void)pattern;
  validate::MetricSpec metric{.name = name, .unit = ""};
  metric.source = validate::MetricSource::regex;
  metric.expression = expression;
  return metric;
}

Result<validate::MetricSpec> throughput_metric(const std::string& expression) {
  return pattern_metric("throughput", expression);
}

Result<validate::MetricSpec> part_metric(const std::string& text) {
  const std::vector<std::string> known{"loading", "communication", "step", "utilization"};
  const auto equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals != std::string::npos && std::find(known.begin(), known.end(), name) != known.end()) {
    return pattern_metric(name, text.substr(equals + 1));
  }
  return usage_error("'" + text + "' is no part of a step", "NAME=REGEX with one of " + join(known, ", "));
}

constexpr OptionSpec kScaleOptions[] = {
    {"--gpus", "N,N,...",
     "numbers of GPUs to measure; in the command {gpus} becomes the number and {gpu_ids} 0,1,...; sets "
     "CUDA_VISIBLE_DEVICES",
     to<&ScaleVerb::gpus>},
    {"--remote", "", "the command uses GPUs on other machines: local GPUs are neither checked nor measured",
     to<&ScaleRequest::remote>},
    {"--ranks", "N,N,...", "numbers of MPI ranks, started through mpirun or srun; {ranks} becomes each",
     to<&ScaleVerb::ranks>},
    {"--mode", "MODE", "strong: the work stays; weak: it grows with the workers", to<&ScaleRequest::mode>.chosen(),
     "strong weak"},
    {"--work", "N", "units of work that a run does, in weak mode those of one worker",
     to<&ScaleRequest::work>.within(kPositive)},
    {"--unit", "NAME", "what they are: samples, tokens, ...", to<&ScaleRequest::unit>},
    {"--throughput", "REGEX", "read the throughput from the last line that matches; else work over time",
     by<throughput_metric, &ScaleRequest::throughput>},
    {"--part", "NAME=REGEX", "also read loading, communication, step (seconds) or utilization (ratio)",
     by<part_metric, &ScaleRequest::parts>},
    {"--record", "DIR",
     "also record a run with each number into this folder: where the loss comes from; not with --hosts",
     to<&ScaleVerb::record>},
    {"--profiled", "N=FILE", "instead: a profile of a run with N workers, of any format (repeatable for ranks)",
     to<&ScaleVerb::profiled>},
    {"--times", "N=TIME,...", "instead of a command: times that you measured with N workers; repeat N for more runs",
     to<&ScaleVerb::times>},
    {"--rounds", "N", "runs with each number, interleaved", to<&ScaleRequest::rounds>.within({1, 1000})},
    {"--warmup", "N", "runs before them", to<&ScaleRequest::warmup_runs>.within({0, 100})},
    {"--budget", "TIME", "maximum time; 0 (default): no limit", to<&ScaleRequest::budget_s>},
    {"--timeout", "TIME", "of one run", to<&ScaleRequest::timeout_s>.within(kPositive)},
    {"--min-efficiency", "RATIO", "fail if the largest number of workers reaches less, such as 80%",
     to<&ScaleVerb::least>},
    {"--goal", "METRIC>=VALUE",
     "exit code 1 unless every number of workers meets it: throughput, time, speed_up, efficiency, gpu_utilization, "
     "gpu_peak_memory, gpu_energy, energy (of --ranks); <= works too",
     true},
    {"--power-cap-sweep", "W,W,...",
     "with one number of GPUs: run under these caps on their power (300W, 60% of the default), which is put back; root",
     to<&ScaleVerb::caps>},
    {"--restore-power-caps", "", "internal: restores the power caps when a sweep ends", to<&ScaleVerb::restores>},
    {"--no-energy", "", "do not read energy counters", to<&ScaleRequest::energy>},
    {"--launcher", "NAME", "mpirun, srun or auto", to<&LaunchOptions::launcher>, "auto mpirun srun"},
    {"--launcher-arg", "WORD", "a further word for the launcher", to<&LaunchOptions::more>},
    {"--hosts", "FILE", "hosts for mpirun, one a line", to<&LaunchOptions::hosts>},
    {"--oversubscribe", "", "allow more ranks than processors", to<&LaunchOptions::oversubscribe>},
    {"--shell", "", "the command is one text for /bin/sh"},
    {"--seed", "N", "seed of the order", to<&ScaleRequest::seed>.within(kNonNegative)},
    {"--json", "[FILE]", "write the results as JSON (warpmark.scaling/1)"},
    kHtmlOption,
    {"--out", "DIR", "write scaling.json, report.md and report.html"},
    {"--format", "FORMAT", "format of what is printed: text, md, html, json", to<&ScaleVerb::format>.chosen(),
     "text md html json"},
    {"--no-store", "", "do not store the runs in the history"},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or your own file)"},
};

Result<std::vector<int>> worker_counts(const std::string& text, const char* option, std::size_t least) {
  std::set<int> counts;
  for (const auto& part : split(text, ',')) {
    const auto number = parse_integer(trim(part));
    if (!number.ok() || *number < 1 || *number > 100'000) {
      return usage_error(fmt::format("{} {} is no list of numbers", option, text), "such as 1,2,4,8");
    }
    counts.insert(static_cast<int>(*number));
  }
  if (counts.size() < least) return usage_error("one number of workers shows no scaling", "such as 1,2,4,8");
  return std::vector<int>(counts.begin(), counts.end());
}

Status complete_request(const Context& context, const ParsedOptions& options, const ScaleVerb& verb,
                        ScaleRequest& request) {
  if (verb.gpus.empty() == verb.ranks.empty()) {
    return usage_error("give --gpus or --ranks", "such as: warpmark scale --ranks 1,2 -- ./program");
  }
  request.ranks = !verb.ranks.empty();
  const bool caps = !verb.caps.empty();
  WM_ASSIGN(request.workers,
            worker_counts(request.ranks ? verb.ranks : verb.gpus, request.ranks ? "--ranks" : "--gpus", caps ? 1 : 2));
  if (caps && (request.ranks || request.workers.size() != 1)) {
    return usage_error("--power-cap-sweep is for one number of --gpus", "such as --gpus 1 --power-cap-sweep 300W,500W");
  }
  if (request.remote && (request.ranks || caps)) {
    return usage_error("--remote goes with --gpus and a command",
                       "such as: warpmark scale --gpus 1,2 --remote -- ssh node ./train {gpus}");
  }
  const auto command = command_after_dashes(context.words);
  if (command.empty()) {
    return usage_error("there is no command after --", "such as: warpmark scale --gpus 1,2 -- ./train --gpus {gpus}");
  }
  WM_ASSIGN(request.words, words_of(options, command));
  return caps ? Status() : check_gpus(request);
}

Result<std::vector<validate::ProfiledRun>> profiles_of(Context& context, const ScaleVerb& verb,
                                                       const ScaleRequest& request,
                                                       const std::map<int, std::vector<std::filesystem::path>>& given) {
  if (!verb.record.empty()) {
    return record_profiles(context, request, collectives::launch_place(context.environment), verb.record);
  }
  std::vector<validate::ProfiledRun> profiles;
  for (const auto& [workers, files] : given) profiles.push_back(read_profile(workers, files));
  return profiles;
}

/// Decided where the whole interval lies on one side; without an interval by the value.
ExitCode gate_of(const Ranged& efficiency, double least) {
  const auto [low, high] = efficiency.interval ? std::pair{efficiency.interval->low, efficiency.interval->high}
                                               : std::pair{efficiency.value, efficiency.value};
  if (high < least) return kGateFailed;
  return low < least ? kInconclusive : kSuccess;
}

/// By --min-efficiency of the most workers and --goal of each number.
Result<int> exit_code_of_gates(Context& context, const ParsedOptions& options, const ScaleRequest& request,
                               const Scaling& scaling, double least) {
  WM_ASSIGN(const bool met, meets_goals_everywhere(context, options, request, scaling));
  if (!met) return exit_because(context, kGateFailed, "a --goal is missed");
  const auto& last = scaling.points.back();
  if (last.throughput.empty()) {
    return exit_because(context, kInconclusive, scaling.workers(last.workers) + " were not measured");
  }
  if (!(least > 0)) return static_cast<int>(kSuccess);
  const auto code = gate_of(last.efficiency, least);
  return exit_because(context, code,
                      fmt::format("efficiency with {} is {}, {} --min-efficiency {}", scaling.workers(last.workers),
                                  format_percent(last.efficiency.value),
                                  code == kGateFailed ? "below" : "not shown to reach", format_percent(least)));
}

/// "1=620s,8=95s,8=97s".
Result<std::vector<validate::ScalingRun>> given_times(const std::string& text, double work, bool weak) {
  std::vector<validate::ScalingRun> runs;
  std::map<int, int> rounds;
  for (const auto& part : split(text, ',')) {
    const auto equals = part.find('=');
    const auto workers = parse_integer(trim(part.substr(0, equals)));
    const auto seconds = parse_duration_s(equals == std::string::npos ? "" : part.substr(equals + 1));
    if (!workers.ok() || !seconds.ok() || *workers < 1 || *workers > 100'000 || !(*seconds > 0)) {
      return usage_error("--times " + text + ": '" + part + "' is not a number of workers and a time",
                         "--times 1=620s,8=95s");
    }
    const int n = static_cast<int>(*workers);
    runs.push_back({.workers = n, .round = rounds[n]++, .seconds = *seconds, .work = weak ? work * n : work});
  }
  if (rounds.size() < 2) return usage_error("one number of workers shows no scaling", "--times 1=620s,8=95s");
  return runs;
}

/// Nothing runs and nothing is stored.
Result<int> judge_given_times(Context& context, const ParsedOptions& options, const ScaleVerb& verb,
                              ScaleRequest& request) {
  if (!options.positionals().empty())
    return usage_error("--times takes no command", "warpmark scale --times 1=620s,8=95s");
  WM_TRY(check_outputs(options));
  WM_TRY(check_scale_goals(options));
  Scaling scaling;
  scaling.mode = request.mode;
  WM_ASSIGN(const auto runs, given_times(verb.times, request.work, scaling.mode == "weak"));
  scaling.started = format_utc(wall_clock_s());
  scaling.command = command_line_of(context);
  request.ranks = !verb.ranks.empty();
  scaling.worker = request.ranks ? "rank" : "GPU";
  scaling.unit = request.unit;
  scaling.machine = device::machine_facts();
  scaling.build = session::build_info();
  scaling.complete = true;
  validate::judge_scaling(runs, scaling);
  const auto shown = shown_as([&] { return to_json(scaling); }, report::build_report(scaling));
  WM_TRY(show(context, shown, verb.format));
  WM_TRY(write_report(options, "scaling", shown));
  return exit_code_of_gates(context, options, request, scaling, verb.least);
}

Result<int> run_scale(Context& context, const ParsedOptions& options) {
  ScaleVerb verb;
  ScaleRequest request;
  WM_TRY(read_options(options, verb, request, request.launch));
  if (verb.restores) return be_the_restorer(options);
  if (!verb.times.empty()) return judge_given_times(context, options, verb, request);
  WM_TRY(complete_request(context, options, verb, request));
  if (!verb.caps.empty()) return sweep_power_caps(context, options, request);
  WM_TRY(check_outputs(options));
  WM_TRY(check_scale_goals(options));
  if (!verb.record.empty() && !verb.profiled.empty()) {
    return usage_error("give --record or --profiled, not both", "--record records; --profiled takes what is recorded");
  }
  if (!verb.record.empty() && !request.launch.hosts.empty()) {
    return usage_error(
        "--record records on this host alone, and --hosts names others",
        "record each number with `warpmark profile --hosts FILE --ranks N --out N.wmrec -- COMMAND`, and "
        "give --profiled N=N.wmrec");
  }
  WM_ASSIGN(const auto given, profiles_given(verb.profiled, request.workers));
  set_grace(6);  // ranks are asked to end before they are killed
  set_crash_messages("\nwarpmark: interrupted\n", "");
  Scaling scaling;
  scaling.started = format_utc(wall_clock_s());
  scaling.command = command_line_of(context);
  scaling.worker = request.ranks ? "rank" : "GPU";
  scaling.mode = request.mode;
  scaling.unit = request.unit;
  scaling.seed = request.seed;
  scaling.machine = device::machine_facts();
  scaling.build = session::build_info();
  StepBar bar(context, request.budget_s);
  WM_ASSIGN(auto measured, run_scaling(request, collectives::launch_place(context.environment), context.interrupted,
                                       [&](std::int64_t done, std::int64_t of, const std::string& what) {
                                         bar.update(done, of, what);
                                       }));
  bar.clear();
  if (measured.runs.empty()) return kInterrupted;
  WM_ASSIGN(const auto profiles, profiles_of(context, verb, request, given));
  scaling.complete = measured.complete;
  scaling.energy_method = measured.energy_method;
  scaling.points = std::move(measured.failures);
  validate::judge_scaling(measured.runs, scaling, profiles);
  WM_TRY(store_scaling(context, options, request, scaling, verb.format));
  const auto shown = shown_as([&] { return to_json(scaling); }, report::build_report(scaling));
  WM_TRY(show(context, shown, verb.format));
  context.out.flush();
  WM_TRY(write_report(options, "scaling", shown));
  if (context.interrupted) return kInterrupted;
  return exit_code_of_gates(context, options, request, scaling, verb.least);
}

}  // namespace

extern const Command scale_command{
    .id = "scale",
    .summary = "measure how a command scales with GPUs or ranks, and what limits it",
    .details =
        "Runs the command with each number of workers in interleaved rounds, each run a fresh process, and shows "
        "throughput, speedup, efficiency with its interval and grade (above 90 % excellent, from 70 % good, from 50 % "
        "moderate, else poor), memory and energy; fits the laws of Amdahl (or Gustafson, in weak mode) and Gunther "
        "with intervals, and predicts up to 1024 workers (docs/scale.md).\n"
        "\n"
        "Throughput is --work over time, or what the command prints (--throughput). With --record, or --profiled and "
        "recordings of your own, the lost efficiency is split into communication, imbalance between ranks, data "
        "loading, host and rest, by the rules of `analyze`. From these, or from what the command prints (--part), it "
        "names data loading that takes 1.5 times as long as with one worker, communication above 30 % of the step, and "
        "utilization below 80 %.\n"
        "\n"
        "--times gives speedup and efficiency from times that were measured elsewhere, without an interval where there "
        "is one run of each.\n"
        "\n"
        "--power-cap-sweep changes how much the GPUs may draw, shows which cap does the most work per joule, and "
        "puts back what it found, also when it is killed. Nothing else here changes a setting.\n"
        "\n"
        "Exit code 0: measured; 1: less than --min-efficiency, or a --goal is missed; 2: bad input, fewer GPUs than "
        "--gpus needs, or no run ended well; 3: the most workers could not be measured, or the interval of their "
        "efficiency holds --min-efficiency.",
    .options = kScaleOptions,
    .positional = {"COMMAND", "after --: what to run", true, ""},
    .examples =
        "warpmark scale --ranks 1,2 -- ./solver --size 4096\n"
        "warpmark scale --gpus 1,2,4,8 -- torchrun --nproc-per-node {gpus} train.py\n"
        "warpmark scale --gpus 1,2 --goal 'gpu_utilization>=80%' -- predict {gpu_ids}\n"
        "warpmark scale --gpus 1,2 --throughput 'img/s: ([0-9.]+)' -- ./train {gpus}\n"
        "warpmark scale --gpus 1,2,4 --record why -- ./train --gpus {gpus}\n"
        "warpmark scale --times 1=620s,8=95s\n"
        "warpmark scale --gpus 1 --power-cap-sweep 50%,75%,100% -- ./train\n"
        "warpmark scale --gpus 1,2 --mode weak --part 'step=took (.*)' -- ./x {gpus}",
    .run = run_scale,
};

}  // namespace warpmark::apps
