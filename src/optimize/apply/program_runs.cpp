#include "optimize/apply/program_runs.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <limits>
#include <ranges>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "model/fields/names.h"
#include "model/json/json.h"
#include "stats/summary.h"
#include "validate/commands/line_pattern.h"

namespace warpmark::optimize {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSaid = 4000;     // of what a failing program printed last
constexpr std::int64_t kSlowestPeriod = 1;  // second; shorter runs tell nothing about the load of others

constexpr double kGpuPoll_s = 0.5;
constexpr const char* kOutOfMemory = "ran out of memory";

double seconds_now() { return static_cast<double>(monotonic_ns()) * 1e-9; }

/// The first line of Python's last exception, whose message may have many; else the last line.
std::string said_at_end(const std::string& text) {
  constexpr std::size_t kMost = 200;
  static const auto kException =
      validate::LinePattern::compile(R"(^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning)(?:: .*)?$)");
  const auto lines = split(std::string(trim(text)), '\n');
  const auto said = std::find_if(lines.rbegin(), lines.rend(),
                                 [](const std::string& line) { return kException->find(line).has_value(); });
  if (said != lines.rend()) return said->substr(0, kMost);
  return lines.empty() ? "it printed nothing" : lines.back().substr(0, kMost);
}

std::string ending(const std::string& text) {
  return text.size() <= kMostSaid ? text : text.substr(text.size() - kMostSaid);
}

/// The slowest rank's time, over the samples or steps of all. Where one rank evaluates the others wait for it in the
/// exchange, and only it knows how long.
Result<double> time_of(const std::vector<const workers::ProgramReport*>& main, const RunOptions& options,
                       double wall_s) {
  if (options.time_of == TimeOf::run) return wall_s;
  const bool one_evaluates =
      std::ranges::any_of(main, [](const auto* report) { return report->window && report->window->left_out > 0; });
  double slowest_s = 0, samples = 0, steps = 0, before_s = 0;
  for (const auto* report : main) {
    if (!report->window) return data_error(report->steps.empty() ? "made no step" : "made too few steps to be timed");
    const auto count = static_cast<double>(report->window->steps);
    if (!one_evaluates || report->window->left_out > 0) {
      slowest_s = std::max(slowest_s, report->window->seconds / count);
    }
    before_s = std::max(before_s, report->window->before_s);
    samples += static_cast<double>(report->window->samples) / count;
    steps = count;
  }
  if (steps == 0) return data_error("made no step");
  if (slowest_s * steps > wall_s * 1.01) {
    return data_error(fmt::format("says that it measured {} but lived {}", format_seconds(slowest_s * steps),
                                  format_seconds(wall_s)));
  }
  if (options.amortize_steps > 0) slowest_s += before_s / options.amortize_steps;
  if (options.time_of == TimeOf::step) return slowest_s;
  if (samples <= 0) return data_error("does not report its samples");
  return slowest_s / samples;
}

/// Load of others cannot be told from workers that the program did not wait for; the rest of the readings can.
Environment trusted(Environment environment) {
  std::erase_if(environment.readings, [](const Reading& reading) { return reading.id == "other_load"; });
  return environment;
}

/// What the GPUs did while the main process measured steps; an empty object where none is known.
Json gpu_figures(const measure::GpuWatch& gpus, const std::vector<workers::ProgramReport>& reports) {
  Json json = Json::object();
  const auto main = workers::main_processes(reports);
  if (!gpus.available() || main.empty() || !main.front()->window || main.front()->window->began_s <= 0) return json;
  const auto& window = *main.front()->window;
  const auto part = gpus.within(window.began_s, window.began_s + window.seconds);
  if (part.utilization) json["utilization"] = *part.utilization;
  if (part.energy_j) json["joules_per_step"] = *part.energy_j / static_cast<double>(window.steps);
  return json;
}

std::optional<double> known(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

}  // namespace

constexpr auto kTimeOfNames = in_order(TimeOf::run, "sample", "step", "run");
const char* name_of(TimeOf of) { return name_in(kTimeOfNames, static_cast<std::int64_t>(of)); }

std::string failure_of(int exit_code, const std::string& err) {
  if (exit_code == 0) return {};
  const auto has = [&](const char* text) { return err.find(text) != std::string::npos; };
  if (has("OutOfMemoryError") || has("out of memory") || has("DefaultCPUAllocator: can't allocate memory")) {
    return kOutOfMemory;
  }
  if (exit_code > 128) {
    const char* name = ::strsignal(exit_code - 128);
    const auto hint = exit_code == 128 + SIGKILL ? "; out of the machine's memory?" : "";
    return fmt::format("was ended by signal {} ({}){}", exit_code - 128, name != nullptr ? name : "unknown", hint);
  }
  const auto said = said_at_end(err);
  return fmt::format("ended with exit code {}{}", exit_code, said.empty() ? "" : ": " + said);
}

ProgramRuns::ProgramRuns(Program program, Places places, TrialJournal& journal, const std::atomic<bool>* interrupted,
                         double budget_s, measure::GpuProbe gpus)
    : program_(std::move(program)),
      places_(std::move(places)),
      journal_(journal),
      interrupted_(interrupted),
      gpus_(std::move(gpus), kGpuPoll_s, true),
      budget_s_(budget_s),
      began_s_(seconds_now()) {}

double ProgramRuns::left_s() const {
  return budget_s_ > 0 ? budget_s_ - (seconds_now() - began_s_) : std::numeric_limits<double>::infinity();
}

double ProgramRuns::elapsed_s() const { return seconds_now() - began_s_; }

bool ProgramRuns::affords(std::int64_t runs) const {
  const auto started = turn_s_ > 0 ? std::min(runs, waiting()) : 0;
  return left_s() >= turn_s_ * static_cast<double>(started) + run_s() * static_cast<double>(runs - started);
}

std::string ProgramRuns::why_stopped() const {
  if (interrupted()) return "interrupted";
  if (out_of_time_) return "the budget of " + format_seconds(budget_s_) + " is used up";
  return {};
}

Result<workers::HookedCommand> ProgramRuns::command_for(const Settings& settings, const RunOptions& options) {
  WM_ASSIGN(auto command, command_with(program_, settings));
  auto plan = options.plan;
  plan.knobs = std::move(command.plan.knobs);
  command.plan = std::move(plan);
  command.plan.tuned =
      has_lab_ || ran_.contains(text_of(settings));  // what is proven was compiled in the living process
  command.deadline_s = options.deadline_s;
  command.interrupted = interrupted_;
  return command;
}

void ProgramRuns::begin_turn() {
  started_ = format_utc(wall_clock_s());
  watch_.before();
  gpus_.begin();
}

Json ProgramRuns::answer_of(const workers::HookedRun& ended, double elapsed_s, double cpu_s) {
  Run run{.workload = "program", .device = "host"};
  run.started = started_;
  run.environment = trusted(watch_.after(std::max<double>(elapsed_s, kSlowestPeriod), cpu_s));
  return {{"timed_out", ended.ending == workers::Ending::timed_out},
          {"exit_code", ended.output.exit_code},
          {"wall_s", ended.output.wall_s},
          {"cpu_s", ended.output.cpu_s},
          {"peak_memory_bytes", ended.output.peak_memory_bytes},
          {"err", ending(ended.output.err)},
          {"run", to_json(run)},
          {"report", ended.raw},
          {"gpus", gpu_figures(gpus_, ended.reports)}};
}

Result<Json> ProgramRuns::execute(const Settings& settings, const RunOptions& options) {
  if (!places_.original.empty()) {
    WM_TRY(copy_folder(places_.original, program_.directory, places_.scratch.parent_path()));
    WM_TRY(set_file_values(program_, settings, places_.original));
  }
  WM_ASSIGN(auto command, command_for(settings, options));
  if (progress) progress(text_of(settings));
  begin_turn();
  const auto outcome = workers::run_hooked(command, places_.hook, places_.scratch);
  [[maybe_unused]] const auto whole = gpus_.end(0);
  if (!outcome.ok()) return outcome.error();
  const auto& ended = *outcome;
  Json answer = answer_of(ended, ended.output.wall_s, ended.output.cpu_s);
  if (options.post_commands && ended.ending == workers::Ending::exited && ended.output.exit_code == 0) {
    WM_ASSIGN(answer["afterwards"], run_post_commands(*options.post_commands, command, ended.output.out));
  }
  return answer;
}

std::string ProgramRuns::question_of(const Settings& settings, const RunOptions& options) {
  return fmt::format("{} | warm-up {} window {} {:g} s stop {} seed {} sync {}", text_of(settings),
                     options.plan.warmup_steps, options.plan.window_steps, options.plan.window_s, options.plan.stop,
                     options.plan.seed ? std::to_string(*options.plan.seed) : "none", options.plan.sync_phases) +
         (options.post_commands ? " evaluated" : "");
}

Result<Json> ProgramRuns::answer_to(const Settings& settings, const RunOptions& options) {
  const std::string question = question_of(settings, options);
  WM_ASSIGN(auto known, journal_.recall(question));
  if (known) {
    const auto coming =
        std::find_if(expected_.begin(), expected_.end(), [&](const Expected& one) { return one.question == question; });
    if (coming != expected_.end()) expected_.erase(coming);
    return std::move(*known);
  }
  out_of_time_ = out_of_time_ || !affords(1) || left_s() <= 0;
  if (const auto why = why_stopped(); !why.empty()) return environment_error(why);
  WM_ASSIGN(auto answer, execute_expected(question));
  out_of_time_ = out_of_time_ || (!answer && left_s() <= 0);
  if (out_of_time_) return environment_error(why_stopped());
  if (!answer) {
    end_batch();  // it has the machine to itself
    auto within = options;
    within.deadline_s = std::min(options.deadline_s, left_s());
    WM_ASSIGN(answer, execute(settings, within));
    if (within.deadline_s < options.deadline_s && answer->value("timed_out", false)) {
      out_of_time_ = true;
      return environment_error(why_stopped());
    }
  }
  const bool fine = answer->value("exit_code", 0) == 0 && !answer->value("timed_out", false);
  // An original that fails is not remembered: the user fixes what was missing and gives the same command again.
  if (fine || !settings.empty()) WM_TRY(journal_.append(question, *answer));
  if (fine) ran_.insert(text_of(settings));
  return std::move(*answer);
}

Result<ProgramRun> ProgramRuns::run(const Settings& settings, const RunOptions& options) {
  WM_ASSIGN(const Json json, answer_to(settings, options));
  return read_answer(json, settings, options);
}

Result<ProgramRun> ProgramRuns::read_answer(const Json& json, const Settings& settings, const RunOptions& options) {
  ProgramRun result;
  WM_ASSIGN(result.run, run_from_json(json.at("run")));
  result.wall_s = json.value("wall_s", 0.0);
  result.cpu_s = json.value("cpu_s", 0.0);
  result.cost_s = json.value("cost_s", result.wall_s);
  spent_s_ += result.cost_s;
  // One that waited for others does not show what a run costs.
  if (!json.value("timed_out", false) && !json.contains("cost_s")) longest_s_ = std::max(longest_s_, result.wall_s);
  ++count_;
  WM_ASSIGN(const auto reports, workers::parse_reports(json.value("report", "")));
  const auto main = workers::main_processes(reports);
  result.heard = !reports.empty();
  if (json.contains("afterwards")) {
    const auto& after = json["afterwards"];
    result.said = after.value("said", "");
    result.exit_codes = after.value("codes", std::vector<int>());
    result.file = after.value("file", "");
  }
  if (json.contains("gpus")) {
    result.gpu_utilization = known(json["gpus"], "utilization");
    result.joules_per_step = known(json["gpus"], "joules_per_step");
  }
  if (!main.empty()) result.report = *main.front();
  result.host_bytes = json.value("peak_memory_bytes", 0.0);
  if (result.report.reserved_bytes > 0) {
    result.memory_bytes = static_cast<double>(result.report.reserved_bytes);
  } else {
    result.memory_bytes = result.host_bytes;
  }
  if (json.value("timed_out", false)) {
    result.failure = fmt::format("did not end within {}", format_seconds(options.deadline_s));
    return result;
  }
  result.failure = failure_of(json.value("exit_code", 0), json.value("err", ""));
  result.out_of_memory = result.failure == kOutOfMemory;
  if (!result.failure.empty()) return result;
  result.failure = why_not_counted(settings, main);
  const auto time_s = time_of(main, options, result.wall_s);
  if (!time_s.ok()) {
    const auto timed = [](const auto* report) { return report->window.has_value(); };
    result.too_few_steps = main.empty() || !std::ranges::all_of(main, timed);
    if (result.failure.empty()) result.failure = "the program " + time_s.error().what;
    return result;
  }
  result.time_s = *time_s;
  result.run.metrics = {stats::sampled_metric("time", "s", Better::lower, {*time_s})};
  result.run.outcome = Outcome::passed;
  return result;
}

}  // namespace warpmark::optimize
