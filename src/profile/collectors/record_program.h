// Records a program from its start to its end: the library that CUDA loads into it writes what the GPU does, we sample
// the machine, and at the end both become one file.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpmark::profile {

struct RecordOptions {
  std::vector<std::string> command;
  std::filesystem::path out;
  double delay_s = -1;            ///< after the program's first CUDA call; negative: until its steps repeat
  double duration_s = 2;          ///< 0 records until the program ends
  std::int64_t warmup_steps = 0;  ///< instead of delay_s, if steps are found; 0 is not asked for
  std::int64_t steps = 0;         ///< instead of duration_s, if steps are found; 0 is not asked for
  /// Records the part of the program that it marks by ranges of this name, or "cudaProfilerApi"; empty: by times or
  /// steps. `warmup_steps` and `steps` then count these ranges.
  std::string range;
  std::int64_t windows = 4;  ///< further ones, whose records are thrown away: they tell what recording costs
  double interval_s = 0.1;   ///< between samples of the machine; 0 takes none
  bool whole_graphs = false;
  bool memory = false;  ///< CUPTI's records of allocations and releases
  bool waits = false;   ///< CUPTI's records of synchronization
  /// libwarpmark_inject.so; empty: the program's own processes leave Kineto's traces in parts_folder(out), as
  /// `environment` makes them.
  std::filesystem::path library;
  std::string cupti;  ///< path; empty leaves the search to the library
  /// Further variables of the program, with which it loads what samples its Python stacks into `stacks`.
  std::vector<std::pair<std::string, std::string>> environment;
  std::filesystem::path stacks;  ///< a folder that exists; empty: no stacks
  double deadline_s = 0;         ///< then it is told to end, and killed 5 s later; 0: never
  const std::atomic<bool>* interrupted = nullptr;
  /// Signals that asked to stop, where they are counted: at the second one the program is killed.
  const std::atomic<int>* interrupts = nullptr;
  /// Whether the program got the signal by itself, as from a terminal. Null: it did not.
  bool (*signal_reached_program)() = nullptr;
  bool stop = false;       ///< ends the program once every process that used CUDA has been recorded
  double patience_s = 15;  ///< that a program which was asked to end may take, before it is killed
  std::function<void(const std::string&)> say = {};  ///< what happens meanwhile; may be empty
};

struct RecordOutcome {
  int exit_code = 0;  ///< of the program
  bool timed_out = false;
  bool interrupted = false;    ///< it was asked to end by a signal that we got
  bool stopped = false;        ///< it was asked to end as all was recorded
  std::int64_t processes = 0;  ///< that used CUDA, or left a trace
  std::string stacks_problem;  ///< why no stacks of native programs have names
  std::string gpu_problem;     ///< why no GPU counters were sampled
  /// Of a program that PyTorch's profiler recorded, of its first rank: JSON with `steps`, and the sums of their
  /// `seconds` and of those of `data` (waiting for it), `forward`, `backward`, `optimizer`. Empty where they are not
  /// known.
  std::string phases;
  std::vector<std::int64_t> still_running;  ///< processes that used CUDA and outlive the command
};

/// Errors: the program cannot be started, the file cannot be written. What the recording lacks is in the recording. The
/// file stays as it was if no process used CUDA.
[[nodiscard]] Result<RecordOutcome> record_program(const RecordOptions& options);

/// Where the parts of a recording lie until it is complete.
[[nodiscard]] std::filesystem::path parts_folder(const std::filesystem::path& out);

/// What a recorder is asked to do, by the names of its variables; `folder` takes its part.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> record_variables(const RecordOptions& options,
                                                                                const std::filesystem::path& folder);

/// The variables with which CUDA loads the recorder into a program, asleep; requests come in `folder`. Without a
/// library the program is one that finds them by itself.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> dormant_variables(const std::filesystem::path& library,
                                                                                 const std::filesystem::path& folder);

/// Records programs that run, and those that they started: all that were started with a recorder which sleeps. The
/// programs go on. Usage error if one has none; environment error if nothing recorded within `deadline_s`.
[[nodiscard]] Result<RecordOutcome> record_running(const RecordOptions& options, std::span<const pid_t> programs);

/// Those whose sleeping recorders look for requests in this folder, and not what they started. Environment error if
/// there is none.
[[nodiscard]] Result<std::vector<pid_t>> sleeping_programs(const std::filesystem::path& folder);

/// The library to inject: $WARPMARK_INJECT_LIBRARY, beside the executable, or in ../lib/warpmark. Environment error
/// naming the places if it is nowhere.
[[nodiscard]] Result<std::filesystem::path> find_inject_library(const std::filesystem::path& executable,
                                                                const char* named);

/// Where CUDA's packages put libcupti: the toolkit's folders, then a Python environment's. Empty if nowhere.
[[nodiscard]] std::string find_cupti(const std::filesystem::path& root, const std::vector<std::string>& python_folders);

}  // namespace warpmark::profile
