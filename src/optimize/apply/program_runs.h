// Runs of the program under settings, each in a fresh process and each written into the journal; and what one of them
// says: how long a sample took, whether it came to its end, whether the knobs were in force.
#pragma once

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
#include "model/journey.h"
#include "model/run.h"
#include "optimize/apply/afterwards.h"
#include "optimize/apply/program.h"
#include "optimize/apply/trial_journal.h"
#include "optimize/facts.h"
#include "validate/commands/environment_watch.h"
#include "workers/guardian.h"

namespace warpmark::optimize {

/// What times are of.
enum class TimeOf { sample, step, run };
[[nodiscard]] const char* name_of(TimeOf of);

struct ProgramRun {
  std::string failure;                   ///< why it does not count; empty: it does
  double time_s = 0;                     ///< of a sample, a step or the run
  Run run;                               ///< with the environment; its only metric is the time
  workers::ProgramReport report;         ///< of the main process
  std::vector<JourneyFinding> findings;  ///< of a run that was recorded
  std::vector<FoundGain> found;
  bool gpu_work = false;             ///< the recording had work of a GPU
  std::vector<std::string> kernels;  ///< in it: the different names
  std::optional<double> memory_bytes;
  double host_bytes = 0;                  ///< largest resident set of its processes
  std::optional<double> gpu_utilization;  ///< while steps were measured ...
  std::optional<double> joules_per_step;  ///< ... of all GPUs used
  bool heard = false;                     ///< a process loaded the hook
  double wall_s = 0;
  double cost_s = 0;            ///< the wall time, but of runs that started together its share of theirs
  std::string said;             ///< standard output: the program's, then the commands' afterwards (its end)
  std::vector<int> exit_codes;  ///< of these commands
  std::string file;             ///< text of the file
};

struct RunOptions {
  workers::HookPlan plan;  ///< its knobs are those of the settings
  double deadline_s = 600;
  TimeOf time_of = TimeOf::sample;
  std::optional<Afterwards> afterwards;
  double amortize_steps = 0;  ///< above 0: the start counts as spread over so many steps
};

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

  /// From now on so many of the runs that are expected start at once, and take their steps when they are asked for.
  void start_together(int most) { together_ = most; }
  /// Runs that will be asked for next, each once, in about this order. What was expected before is not any more: if it
  /// has started, it is ended.
  void expect(std::vector<std::pair<Settings, RunOptions>> runs);

  /// Why there are no further runs: interrupted, or no budget is left for one; empty: nothing stops them.
  [[nodiscard]] std::string why_stopped() const;
  /// Whether the budget is enough for so many runs as long as the longest that came to its end, or as those that
  /// started together took each.
  [[nodiscard]] bool affords(std::int64_t runs) const;
  /// Of the runs that came to their end, but screenings.
  [[nodiscard]] double longest_s() const { return longest_s_; }
  /// Of the budget; infinite without one.
  [[nodiscard]] double left_s() const;
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
  /// The answer of a run that was expected: it started with those after it. None where it was not, or cannot.
  Result<std::optional<Json>> execute_expected(const std::string& question);
  /// Starts the next that are expected, this one among them; none where they do not wait for each other.
  Status start_batch(const std::string& question);
  Result<std::optional<Json>> take_turn(std::size_t i);
  void give_up_batch(std::size_t i);
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
  std::string guard_;                          ///< of this search alone
  std::optional<workers::Guardian> guardian_;  ///< from the first run on
  int together_ = 1;
  std::deque<Expected> expected_;
  std::set<std::string> ran_;  ///< settings with which it came to its end in this search, as text
  struct Batch;
  std::shared_ptr<Batch> batch_;  ///< runs that have started and wait; never shared, runs_together.cpp knows the type
  double share_s_ = 0;            ///< of a run that started with others: its turn, and its share of the start
  std::string started_;           ///< when the run that is measured began
  double budget_s_;
  double began_s_;            ///< monotonic clock
  double longest_s_ = 0;      ///< of the runs that came to their end
  bool out_of_time_ = false;  ///< the budget ended a run, or left none
  double spent_s_ = 0;
  std::int64_t count_ = 0;
};

/// Why a process that ended so did not do its work: "ran out of memory", "was ended by signal 9", ...; empty for 0.
[[nodiscard]] std::string failure_of(int exit_code, const std::string& err);

}  // namespace warpmark::optimize
