// What a program under the hook said of itself: the environment it found, what it is made of, when its steps ended, its
// losses, and which knobs were in force. Lines of JSON, one file a process (docs/optimize.md, "The report").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workers/program_parts.h"

namespace warpmark::workers {

/// Of the protocol between the hook and this library.
inline constexpr int kHookVersion = 1;

struct ProgramReport {
  std::int64_t pid = 0;
  std::int64_t rank = 0;
  std::string python;
  std::string torch;  ///< version; empty: never imported
  bool cuda = false;
  std::int64_t threads = 0;
  bool uncached = false;  ///< PyTorch was told to keep no GPU memory
  std::int64_t cpus = 0;
  std::int64_t world = 1;
  std::vector<GpuFacts> gpus;
  std::vector<std::string> node_cpus;   ///< of each NUMA node: "0-15,32-47"
  std::int64_t gpu_node = -1;           ///< NUMA node of all GPUs; -1: unknown, or they differ
  std::string allowed_cpus;             ///< that the process may use
  std::vector<std::string> allocators;  ///< libraries that could be preloaded: paths
  bool has_taskset = false;
  std::vector<std::string> patched;
  std::vector<LoaderFacts> loaders;
  std::vector<OptimizerFacts> optimizers;
  std::vector<ModuleFacts> modules;
  std::vector<ReadFacts> reads;
  std::vector<StepTimes> steps;
  std::vector<double> losses;                ///< NaN where the program's was no number
  std::vector<std::vector<double>> outputs;  ///< samples of the first outputs of a program without losses
  bool half_outputs = false;                 ///< some of them have 16 bits
  std::vector<std::string> attention_off;    ///< ways of fused attention that the program has switched off
  std::vector<KnobState> knobs;
  std::vector<KnobPlaces> acts;  ///< how many places a setting would change, where that is known
  std::optional<Window> window;
  std::int64_t allocated_bytes = 0;  ///< most of the GPU's memory in the window
  std::int64_t reserved_bytes = 0;
  std::int64_t total_bytes = 0;
  std::int64_t emptied = 0;            ///< calls of empty_cache after the first step
  std::vector<std::string> debugging;  ///< aids that are on, by the knobs that put them off
  std::vector<std::string> faults;     ///< of the hook itself
  bool benchmarks = false;             ///< convolutions on its GPU were chosen by their time
  double host_s = 0;                   ///< how long the main thread's waits were looked for
  std::vector<HostWait> host_waits;    ///< the longest of them, longest first
  std::string ended;                   ///< "window", "exit"; empty: it did not tell
  std::string marker;                  ///< "optimizer", "forward", "graph", "none": what ends a step
};

/// The report of one process. A last line cut short by a crash is left out. Data error for another version, a line that
/// is no JSON, and values of the wrong type.
[[nodiscard]] Result<ProgramReport> parse_report(std::string_view text, std::string_view name);

/// The processes of one run that made steps, by rank; else the one that imported torch; else any.
[[nodiscard]] std::vector<const ProgramReport*> main_processes(const std::vector<ProgramReport>& reports);

/// Looks at the Python processes among our descendants: "PYTHONPATH was replaced ...", "python -I ignores ..."; empty
/// where there is none, as in a shell script that has not started Python yet, or no reason can be seen.
[[nodiscard]] std::string why_unheard(const std::string& hook_folder);

}  // namespace warpmark::workers
