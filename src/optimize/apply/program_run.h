// One run of the program under settings: the copy of its folder, the commands after it, what it showed, and why it is
// invalid.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/optimization.h"
#include "model/run.h"
#include "optimize/facts.h"
#include "optimize/knob.h"
#include "workers/hooked_program.h"
#include "workers/program_report.h"

namespace warpmark::optimize {

struct PostCommands {
  std::vector<std::vector<std::string>> commands;
  std::string file;  ///< whose text is kept; empty: none
};

/// {"said": `printed` and what the commands printed, "codes": their exit codes, "file": the file's text}. A file that
/// is not there is empty. Folder, variables and deadline are those of the `command` that ran.
[[nodiscard]] Result<Json> run_post_commands(const PostCommands& post_commands, const workers::HookedCommand& command,
                                             const std::string& printed);

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
  std::optional<PostCommands> post_commands;
  double amortize_steps = 0;  ///< above 0: the start counts as spread over so many steps
};

/// Of the program's main processes, the first of which tells for all what memory is left; empty: the run counts. What
/// acts through the hook must be told by it; variables and launchers are read back where the hook is loaded.
[[nodiscard]] std::string why_not_counted(const Settings& settings,
                                          const std::vector<const workers::ProgramReport*>& main);

/// Anew: what the run before left in `to`, such as a checkpoint, must not be found by this one. `without` stands within
/// `from` where the database does, and is left out. Environment error where it cannot be copied or is above 4 GiB.
[[nodiscard]] Status copy_folder(const std::filesystem::path& from, const std::filesystem::path& to,
                                 const std::filesystem::path& without);

}  // namespace warpmark::optimize
