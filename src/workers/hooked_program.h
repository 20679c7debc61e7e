// Runs a user's program in a fresh process with the hook that Python loads at its start, and reads what it said.
//
// The hook is a folder of Python files that this library carries. PYTHONPATH begins with it, so that the interpreter
// loads its sitecustomize, which hands over to the user's own. Precedents: ddtrace-run, opentelemetry-instrument.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "workers/program_report.h"

namespace warpmark::workers {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// What the hook is asked to do.
struct HookPlan {
  NamedValues knobs;
  std::int64_t warmup_steps = 3;
  std::int64_t window_steps = 0;   ///< 0: until the program ends
  double window_s = 0;             ///< or so long, whichever is first; 0 is without limit
  bool stop = false;               ///< the process ends after the window
  bool measure = true;             ///< false: knobs alone, for a run that nobody times
  bool sync_phases = false;        ///< wait for the GPU after each phase: true times of phases, slower steps
  std::int64_t profile_steps = 0;  ///< recorded with PyTorch's profiler after the warm-up; then the window is over
  double profile_s = 0;            ///< instead of profile_steps: as many steps as take so long
  bool profile_stacks = false;     ///< with the program's lines; slows it down
  std::string profile_folder{};    ///< existing; takes a trace of each process
  std::string dormant{};           ///< an existing folder: nothing is recorded until a request comes there
  std::string lab{};               ///< an existing folder: after the window it takes commands there (lab_process.h)
  std::string gate{};              ///< an existing folder in which it waits for its turn; empty: it does not
  bool graphs_alone = false;  ///< replays of the program's own CUDA graphs are its steps, and nothing before them is
  bool tuned = false;         ///< an equal run was alone before: what it compiles was chosen then
  std::optional<std::int64_t> seed{};  ///< random generators begin with it, unless the program sets its own
};

struct HookedCommand {
  std::vector<std::string> words;
  NamedValues environment;
  std::string directory;  ///< empty: ours
  double deadline_s = 600;
  HookPlan plan;
  const std::atomic<bool>* interrupted = nullptr;
};

enum class Ending { exited, timed_out };

struct HookedRun {
  Ending ending = Ending::exited;
  ProcessOutput output;  ///< of a run that timed out: nothing but the wall time
  std::vector<ProgramReport> reports;
  std::string raw;  ///< the reports as they were written, to be kept
};

/// Writes the hook's files into `folder`, which is made. Environment error if it cannot be written.
[[nodiscard]] Status write_hook(const std::filesystem::path& folder);

/// The variables with which a program loads the hook in `folder`: PYTHONPATH (before `python_path`), the plan, and
/// where to report. They stay valid for processes that the program starts.
[[nodiscard]] NamedValues hook_variables(const std::filesystem::path& folder, const std::filesystem::path& plan,
                                         const std::filesystem::path& report, const char* python_path);

/// The variables with which a Python program that is recorded loads the hook in `folder` and samples its stacks into
/// `stacks`, an existing folder (profile/collectors/recording_parts.cpp reads them); empty: none are sampled.
[[nodiscard]] NamedValues stack_variables(const std::filesystem::path& folder, const std::filesystem::path& stacks,
                                          const char* python_path);

/// The plan as the hook reads it.
[[nodiscard]] std::string plan_text(const HookPlan& plan);

/// Every process that said something, from what `HookedRun::raw` holds.
[[nodiscard]] Result<std::vector<ProgramReport>> parse_reports(const std::string& raw);

/// What the processes wrote into the folder, in the form of `HookedRun::raw`.
[[nodiscard]] Result<std::string> collect_reports(const std::filesystem::path& folder);

/// One run; `hook` holds the hook's files, `scratch` is made anew for the plan and the report. Environment error if the
/// program cannot be started, was interrupted, or its report cannot be read.
[[nodiscard]] Result<HookedRun> run_hooked(const HookedCommand& command, const std::filesystem::path& hook,
                                           const std::filesystem::path& scratch);

/// The command with the variables kept and the hook's folder put in front of each PYTHONPATH that it sets. `variables`
/// are those of hook_variables() and others that must reach the program.
[[nodiscard]] std::vector<std::string> keep_variables(std::vector<std::string> words, const std::string& hook_folder,
                                                      const NamedValues& variables);

// Runs of hooked programs that start at once and take their steps one after another: what they load and build, and the
// first steps of their warm-up, happen side by side, and each has the machine to itself from then on.

struct GatedRun {
  Result<HookedRun> run;    ///< as of run_hooked(); a run that was cut by a deadline is Ending::timed_out
  double cpu_before_s = 0;  ///< CPU time until it came to its gate
  double turn_s = 0;        ///< from its turn, or the start of all, until it had ended
};

/// Of one thread. What did not have its turn is ended with this object.
class GatedRuns {
 public:
  /// Starts all, each with a scratch folder of its own in `scratch`, which is made anew and removed at the end. The
  /// gate, deadline and `interrupted` of the commands are set here; they have no deadline before their turn.
  GatedRuns(std::vector<HookedCommand> commands, const std::filesystem::path& hook, std::filesystem::path scratch,
            const std::atomic<bool>* interrupted = nullptr);
  ~GatedRuns();
  GatedRuns(GatedRuns&&) = delete;
  GatedRuns& operator=(GatedRuns&&) = delete;

  /// Until each waits at its gate or has ended, but no longer than this.
  void await_all(double most_s);
  /// Whether it stands at its gate: it has neither ended, nor does it still work beside the others.
  [[nodiscard]] bool waits(std::size_t i) const;
  /// Its steps: it goes on and is waited for, but no longer than `deadline_s`; then it is killed, as is one that did
  /// not come to its gate. Once for each.
  [[nodiscard]] GatedRun turn(std::size_t i, double deadline_s);

 private:
  class One;
  std::filesystem::path scratch_;
  const std::atomic<bool>* interrupted_;
  double began_s_;
  std::vector<std::unique_ptr<One>> all_;
};

}  // namespace warpmark::workers
