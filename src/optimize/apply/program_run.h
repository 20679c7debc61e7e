// One run of the program under settings: how it is run, and what it showed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/optimization.h"
#include "model/run.h"
#include "optimize/apply/afterwards.h"
#include "optimize/facts.h"
#include "workers/hooked_program.h"

namespace warpmark::optimize {

/// What times are of.
enum class TimeOf { sample, step, run };
[[nodiscard]] const char* name_of(TimeOf of);

struct ProgramRun {
  std::string failure;            ///< why it does not count; empty: it does
  bool out_of_memory = false;     ///< that is why
  bool too_few_steps = false;     ///< that is why
  double time_s = 0;              ///< of a sample, a step or the run
  Run run;                        ///< with the environment; its only metric is the time
  workers::ProgramReport report;  ///< of the main process
  std::optional<double> memory_bytes;
  double host_bytes = 0;                  ///< largest resident set of its processes
  std::optional<double> gpu_utilization;  ///< while steps were measured ...
  std::optional<double> joules_per_step;  ///< ... of all GPUs used
  bool heard = false;                     ///< a process loaded the hook
  double wall_s = 0;
  double cpu_s = 0;             ///< of all its processes that were waited for
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

}  // namespace warpmark::optimize
