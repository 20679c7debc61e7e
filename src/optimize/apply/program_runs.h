// Runs of the program under settings, each in a fresh process and each written into the journal; and what one of them
// says: how long a sample took, whether it came to its end, whether the knobs were in force.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "measure/gpu_watch.h"
#include "model/optimization.h"
#include "model/run.h"
#include "optimize/apply/program.h"
#include "optimize/apply/program_run.h"
#include "optimize/apply/trial_journal.h"
#include "optimize/facts.h"
#include "validate/commands/command_experiment.h"
#include "workers/lab_process.h"

namespace warpmark::optimize {

class ProgramRuns {
 public:
  struct Places {
    std::filesystem::path hook;      ///< the hook's files
    std::filesystem::path scratch;   ///< plan and reports of a run
    std::filesystem::path original;  ///< copied into the program's folder before each run; empty: it runs where it is
  };
  /// `budget_s` is the most time from now on for runs that the journal does not know; 0 is without limit.
  ProgramRuns(Program program, Places places, TrialJournal& journal, const std::atomic<bool>* interrupted,
              double budget_s = 0, measure::GpuProbe gpus = measure::nvml_probe());

  /// A failing program is a ProgramRun with its failure. Errors: why_stopped() tells one that ends the search;
  /// otherwise the machine refuses. A run that the budget cuts short is forgotten.
  [[nodiscard]] Result<ProgramRun> run(const Settings& settings, const RunOptions& options);

  /// Starts a process that stays, and is asked to test settings: the run until the end of its window. It is journaled,
  /// so that after an interruption no process need be there before something new is asked.
  [[nodiscard]] Result<ProgramRun> probe(const RunOptions& options);
  /// Whether the program of the probe stays at its steps.
  [[nodiscard]] bool has_lab() const { return has_lab_; }
  /// The ranks' answers (workers::LabProcess::ask), and where the process ended instead {"crashed", "variant",
  /// "failure"}; the next command starts another process. Traces that a recording leaves are analyzed: {"analysis":
  /// ...}.
  [[nodiscard]] Result<Json> ask(const Json& command, double deadline_s);
  /// Why no process of the program has loaded the hook; empty: not known.
  [[nodiscard]] const std::string& why_unheard() const { return why_unheard_; }

  /// From now on so many of the runs that are expected start at once, and take their steps when they are asked for.
  void start_together(int most) { together_ = most; }
  /// Runs that will be asked for next, each once, in about this order. What was expected before is not any more: if it
  /// has started, it is ended.
  void expect(std::vector<std::pair<Settings, RunOptions>> runs);

  /// Why there are no further runs: interrupted, or no budget is left for one; empty: nothing stops them.
  [[nodiscard]] std::string why_stopped() const;
  /// Whether the budget is enough for so many runs: those that have started and wait take their turns, others as long
  /// as the longest that came to its end, or as those that started together took each.
  [[nodiscard]] bool affords(std::int64_t runs) const;
  /// What a run takes, as far as known: its share where runs start together; before any have, half of what starting n
  /// together saves at most, as their starts slow each other.
  [[nodiscard]] double run_s() const {
    return share_s_ > 0 ? share_s_ : longest_s_ * (1 + 1.0 / std::max(1, together_)) / 2;
  }
  /// Of the budget; infinite without one.
  [[nodiscard]] double left_s() const;
  [[nodiscard]] double elapsed_s() const;  ///< since this object was made
  /// Seconds that all runs took, those of earlier starts too; and how many there were.
  [[nodiscard]] double spent_s() const { return spent_s_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] const Program& program() const { return program_; }
  std::function<void(const std::string& what)> progress;  ///< before each run

 private:
  [[nodiscard]] bool interrupted() const { return interrupted_ != nullptr && interrupted_->load(); }
  struct Expected {
    Settings settings;
    RunOptions options;
    std::string question;  ///< in the journal
  };
  /// A run's name in the journal.
  [[nodiscard]] static std::string question_of(const Settings& settings, const RunOptions& options);
  /// From the journal, else of a run made now, which the journal then has.
  Result<Json> answer_to(const Settings& settings, const RunOptions& options);
  Result<Json> execute(const Settings& settings, const RunOptions& options);
  [[nodiscard]] Result<ProgramRun> read_answer(const Json& json, const Settings& settings, const RunOptions& options);
  Result<Json> start_lab(const RunOptions& options);
  Result<Json> ask_process(const Json& command, double deadline_s);
  /// The answer of a run that was expected: it started with those after it. None where it was not, or cannot.
  Result<std::optional<Json>> execute_expected(const std::string& question);
  /// Starts the next that are expected, this one among them; none where they do not wait for each other.
  Status start_batch(const std::string& question);
  Result<std::optional<Json>> take_turn(std::size_t i);
  void give_up_batch(std::size_t i);
  [[nodiscard]] std::int64_t waiting() const;  ///< runs that have started and were not asked for
  void end_batch();
  /// Every run's first call: from then on whoever it leaves behind is ended with this process.
  [[nodiscard]] Result<workers::HookedCommand> command_for(const Settings& settings, const RunOptions& options);
  void begin_turn();  ///< right before the steps that are measured
  [[nodiscard]] Json answer_of(const workers::HookedRun& ended, double elapsed_s, double cpu_s);
  Program program_;
  Places places_;
  TrialJournal& journal_;
  const std::atomic<bool>* interrupted_;
  validate::EnvironmentWatch watch_;
  measure::GpuWatch gpus_;
  int together_ = 1;
  std::deque<Expected> expected_;
  std::set<std::string> ran_;  ///< settings with which it came to its end in this search, as text
  struct Batch;
  std::shared_ptr<Batch> batch_;  ///< runs that have started and wait; never shared, runs_together.cpp knows the type
  std::unique_ptr<workers::LabProcess> lab_;
  RunOptions lab_options_;  ///< with which it started, or another one would
  bool has_lab_ = false;
  std::string why_unheard_;
  double turn_s_ = 0;    ///< the longest of the runs that wait
  double share_s_ = 0;   ///< of a run that started with others: its turn, and its share of the start
  std::string started_;  ///< when the run that is measured began
  double budget_s_;
  double began_s_;            ///< monotonic clock
  double longest_s_ = 0;      ///< of the runs that came to their end
  bool out_of_time_ = false;  ///< the budget ended a run, or left none
  double spent_s_ = 0;
  std::int64_t count_ = 0;
};

/// How many runs like this one may start at once: no more than wanted, than cores, and than fit into four
/// fifths of the GPU's memory and of `available_bytes` of the host's; even. 1 for programs of several ranks.
[[nodiscard]] int most_together(const ProgramRun& baseline, int wanted, double available_bytes, int cpus);

/// Why a process that ended so did not do its work: "ran out of memory", "was ended by signal 9", ...; empty for 0.
[[nodiscard]] std::string failure_of(int exit_code, const std::string& err);

}  // namespace warpmark::optimize
