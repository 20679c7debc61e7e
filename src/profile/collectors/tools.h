// NVIDIA's own profilers, where they are installed: Nsight Compute for the metrics of single kernels, Nsight Systems
// instead of our recorder.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile/profile_session.h"

namespace warpmark::profile {

/// The program of this name in one of the folders ("a:b:c", as PATH has them) or where CUDA is installed. Environment
/// error saying what to install.
[[nodiscard]] Result<std::string> find_tool(const std::string& name, std::string_view folders);

/// "gemm" of "void ns::gemm<float, 4>(float*, (anonymous namespace)::Shape)": as Nsight Compute filters kernels.
[[nodiscard]] std::string function_name(std::string_view kernel);

/// The function names of the `count` kernels that took the most time in all ranks, the costliest first; 0 is all of
/// them. Communication kernels are left out: replayed one by one they would wait for one another forever.
[[nodiscard]] std::vector<std::string> costliest_kernels(const ProfileSession& session, std::size_t count);
/// Those of which a part matches the expression (RE2). Usage error saying what is wrong with an expression.
[[nodiscard]] Result<std::vector<std::string>> matching_names(const std::vector<std::string>& names,
                                                              const std::string& expression);

/// Which launches of these kernels to measure.
struct LaunchWindow {
  std::int64_t skip = 0;   ///< two steps: start-up chooses algorithms
  std::int64_t count = 0;  ///< one step, within bounds: each launch is run dozens of times
};
[[nodiscard]] LaunchWindow launch_window(const ProfileSession& session, const std::vector<std::string>& kernels);

/// What Nsight Compute measures: names as `ncu --list-sets` and `ncu --list-sections` print them.
struct NcuMetrics {
  std::string set;  ///< empty: "detailed", or none where sections are named
  std::vector<std::string> sections;
};

/// The command line that profiles the launches of these kernels in the window into a CSV, and ends the program then.
[[nodiscard]] std::vector<std::string> ncu_command(const std::string& ncu, const NcuMetrics& metrics,
                                                   const std::vector<std::string>& kernels, const LaunchWindow& window,
                                                   const std::filesystem::path& csv,
                                                   const std::vector<std::string>& command);

struct NsysOptions {
  std::string nsys;  ///< path
  std::vector<std::string> command;
  std::filesystem::path out;  ///< the SQLite export; the report lies beside it
  double delay_s = 0;         ///< from the start of the program
  double duration_s = 0;      ///< 0 is until the program ends; whole seconds are what nsys takes: rounded up
  std::string range;          ///< only what is in ranges of this NVTX name, or "cudaProfilerApi"; empty: all
  bool whole_graphs = false;
  std::string gpu_metrics;  ///< GPUs whose activity is sampled: "all", or numbers as nsys has them; empty: none
  const std::atomic<bool>* interrupted = nullptr;
};

/// Option names and values are those of `nsys profile --help`, version 2022.4; newer ones call `metrics_option`
/// otherwise.
[[nodiscard]] std::vector<std::string> nsys_command(const NsysOptions& options, const std::filesystem::path& report,
                                                    const std::string& metrics_option = "--gpu-metrics-device");
/// Records and exports. The program's exit code. Environment error if nsys recorded or exported nothing.
[[nodiscard]] Result<int> run_nsys(const NsysOptions& options);

/// Runs a command to its end, on our terminal. Ctrl-C reaches it from there. After `limit_s` (0: none) it gets SIGINT
/// and 20 s to write what it measured.
[[nodiscard]] Result<int> run_to_the_end(const std::vector<std::string>& words, const std::atomic<bool>* interrupted,
                                         double limit_s = 0);

}  // namespace warpmark::profile
