// The living process of a search: started by its probe, asked through the journal.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "model/fields/fields.h"
#include "optimize/apply/program_runs.h"
#include "optimize/apply/recorded_run.h"
#include "optimize/stages/in_process.h"
#include "workers/program_report.h"

namespace warpmark::optimize {
namespace {

constexpr double kUnheard_s = 3;  // a Python that starts takes less than one

/// The program came to its end while no setting was on, which says nothing about the settings.
bool ended_alone(const Json& answer) {
  return answer.is_object() && answer.value("crashed", "") == "ended" && answer.value("variant", -1) < 0;
}

}  // namespace

Result<ProgramRun> ProgramRuns::probe(const RunOptions& options) {
  // A copy of the folder is made anew for each run, under which no process can stay.
  if (!places_.original.empty()) return run({}, options);
  lab_options_ = options;
  const auto question = "probe " + question_of({}, options);
  WM_ASSIGN(auto known, journal_.recall(question));
  if (!known) {
    if (const auto why = why_stopped(); !why.empty()) return environment_error(why);
    WM_ASSIGN(known, start_lab(options));
    if (known->value("exit_code", 0) == 0 && !known->value("timed_out", false)) {
      WM_TRY(journal_.append(question, *known));
    }
  }
  has_lab_ = known->value("stays", false);
  why_unheard_ = known->value("unheard", "");
  return read_answer(*known, {}, options);
}

/// Like the answer of a run. "stays": the process takes commands.
Result<Json> ProgramRuns::start_lab(const RunOptions& options) {
  WM_ASSIGN(auto command, command_for({}, options));
  if (progress) progress("starting the program");
  begin_turn();
  const double began_s = elapsed_s();
  lab_ = std::make_unique<workers::LabProcess>(std::move(command), places_.hook, places_.scratch.string() + ".lab",
                                               interrupted_);
  const double until_s = began_s + std::min(options.deadline_s, left_s());
  std::string unheard;
  bool stays = false;
  while (!stays && !lab_->ended() && !interrupted() && elapsed_s() < until_s && unheard.empty()) {
    stays = lab_->await_ready(until_s - elapsed_s(), kUnheard_s);
    if (!stays && !lab_->heard() && !lab_->ended()) unheard = workers::why_unheard(places_.hook.string());
  }
  [[maybe_unused]] const auto whole = gpus_.end(0);
  const double took_s = elapsed_s() - began_s;
  if (stays) {
    workers::HookedRun seen;
    WM_ASSIGN(seen.raw, lab_->reports());
    WM_ASSIGN(seen.reports, workers::parse_reports(seen.raw));
    seen.output.wall_s = took_s;
    auto answer = answer_of(seen, took_s, 0);
    answer["stays"] = true;
    return answer;
  }
  if (interrupted()) return environment_error("interrupted");
  const bool late = !lab_->ended();
  auto ended = lab_->end();
  lab_.reset();
  if (!ended.ok() && !late) return ended.error();
  if (!ended.ok()) {
    if (unheard.empty() && left_s() <= 0) {
      out_of_time_ = true;
      return environment_error(why_stopped());
    }
    ended = workers::HookedRun{};
    ended->ending = workers::Ending::timed_out;
    ended->output.wall_s = took_s;
  }
  auto answer = answer_of(*ended, took_s, ended->output.cpu_s);
  if (!unheard.empty()) answer["unheard"] = unheard;
  return answer;
}

Result<Json> ProgramRuns::ask(const Json& command, double deadline_s) {
  const auto question = "ask " + dump_json(command, -1);
  WM_ASSIGN(auto known, journal_.recall(question));
  if (known) return std::move(*known);
  if (left_s() <= 0) out_of_time_ = true;
  if (const auto why = why_stopped(); !why.empty()) return environment_error(why);
  Json answer;
  for (bool again = false;; again = true) {
    if (!lab_) {
      WM_ASSIGN(const auto probe, start_lab(lab_options_));
      if (!probe.value("stays", false)) return data_error("the program did not come to its steps again");
    }
    WM_ASSIGN(answer, ask_process(command, std::min(deadline_s, left_s())));
    if (again || !ended_alone(answer) || left_s() <= 0) break;
  }
  if (left_s() <= 0 && answer.is_object() && answer.contains("crashed")) {  // what the budget cut is forgotten
    out_of_time_ = true;
    return environment_error(why_stopped());
  }
  WM_TRY(journal_.append(question, answer));
  return answer;
}

Result<Json> ProgramRuns::ask_process(const Json& command, double deadline_s) {
  const double began_s = elapsed_s();
  Json asked = command;
  const TraceFolder traces(places_.scratch.string() + ".traces");
  const bool records = command.value("do", "") == "record";
  if (records) {
    WM_TRY(make_folder(traces.path()));
    asked["folder"] = traces.path().string();
  }
  if (progress) progress("testing settings in one process");
  WM_ASSIGN(auto answer, lab_->ask(asked, deadline_s));
  spent_s_ += elapsed_s() - began_s;
  if (answer.is_object() && answer.contains("crashed")) {
    const bool late = answer["crashed"] == "late";
    auto ended = lab_->end();
    lab_.reset();
    if (ended.ok() && !late) answer["failure"] = failure_of(ended->output.exit_code, ended->output.err);
    if (answer.value("failure", "").empty()) {
      answer["failure"] =
          late ? "did not finish its steps within " + format_seconds(deadline_s) : "ended before the test was over";
    }
    return answer;
  }
  if (program_ended(answer)) lab_.reset();  // the next question is for a process of its own
  if (records)
    return Json{{"answers", std::move(answer)}, {"analysis", write(kStepRecording, analyze_traces(traces.path()))}};
  return answer;
}

}  // namespace warpmark::optimize
