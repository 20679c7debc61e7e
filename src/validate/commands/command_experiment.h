// A user's command as an experiment: each run is a fresh process without a shell, timed from outside, its metrics read
// from what it prints or writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "device/device.h"
#include "measure/experiment.h"
#include "measure/gpu_watch.h"
#include "model/run.h"
#include "validate/commands/command_spec.h"

namespace warpmark::validate {

// What the machine did while a sample was taken: load of others, time stolen by the hypervisor, clocks and throttling
// of GPUs. Reads /proc and NVML before and after; the numbers become the Environment of the Run.

class EnvironmentWatch {
 public:
  /// Finds the GPUs; none and no driver are fine.
  EnvironmentWatch();

  /// Call right before the sample.
  void before();
  /// Call right after it. `cpu_s` is the CPU time of what was measured: the rest of the machine's busy time is others'.
  /// Readings: "other_load" and "steal" as shares of all CPUs (absent for samples under 0.2 s, which the kernel's ticks
  /// cannot resolve), "cpu_wait" (share of the time in which some task of the machine waited for a CPU, by the kernel's
  /// pressure stall information), "cpus_used" (CPU time over time), "core_clock" Hz of the CPU, and "<gpu>.sm_clock"
  /// Hz, "<gpu>.temperature". Disturbances: "throttle" with the GPU and its reason, "power_cap" with the GPU.
  [[nodiscard]] Environment after(double elapsed_s, double cpu_s);

 private:
  std::vector<std::string> gpus_;  ///< NVML's identifiers
  device::Conditions host_before_;
};

/// Readings of the host alone, from its conditions before and after; pure.
[[nodiscard]] std::vector<Reading> host_readings(const device::Conditions& before, const device::Conditions& after,
                                                 double elapsed_s, double cpu_s, int host_cpus);

struct CommandOptions {
  std::string directory;                           ///< where it runs; empty is ours
  const std::atomic<bool>* interrupted = nullptr;  ///< Ctrl-C: the run ends with an environment error
  bool watch_environment = true;
  bool gpu_figures = true;  ///< of a command that uses a GPU (measure/gpu_watch.h); metrics that declare them need it
  bool processor_time = false;  ///< beside wall time (model/auxiliary.h), unless the spec asks for CPU time itself
  bool check_accuracy = false;  ///< run the commands of the spec's gates after each run
};

/// Settings "env.NAME" set a variable; any other fills {name} in the words of the command.
class CommandExperiment final : public measure::Experiment {
 public:
  /// `gpus` are asked where gpu_figures are wanted.
  CommandExperiment(CommandSpec spec, CommandOptions options, measure::GpuProbe gpus = measure::nvml_probe());
  Result<Run> run(const measure::Config& config) override;

 private:
  [[nodiscard]] Result<Run> measured(const CommandSpec& spec, Run run);
  /// Runs the command, or its stages one after another; seconds of each of those into `stages_s`.
  [[nodiscard]] Result<ProcessOutput> execute(const CommandSpec& spec, std::vector<double>& stages_s) const;
  [[nodiscard]] Status check_outputs(const CommandSpec& spec, Run& run) const;
  CommandSpec spec_;
  CommandOptions options_;
  std::unique_ptr<EnvironmentWatch> watch_;
  std::unique_ptr<measure::GpuWatch> gpus_;
};

/// Runs the build command in `directory`. Data error with the end of its output if it fails.
[[nodiscard]] Status build(const CommandSpec& spec, const std::string& directory, const std::atomic<bool>* interrupted);

/// One metric from the outcome of a run. Data error that quotes what was searched where.
[[nodiscard]] Result<double> read_metric(const MetricSpec& metric, const ProcessOutput& output,
                                         const std::string& directory);

/// Words and variables with the settings applied. Usage error for a setting that has no place, and for a {name} that no
/// setting fills.
[[nodiscard]] Result<CommandSpec> configured(const CommandSpec& spec, const measure::Config& config);

// A command beside a reference, such as an older revision of it: every run is one of each, right after one another and
// in random order, and tells the ratio of the two. What the machine does to both (the load of others, clocks, a
// neighbour on the host) goes out of the ratio, so its history is far quieter than that of the metric itself on a
// machine that is shared: the idea of Bulej et al., "Duet Benchmarking", ICPE 2020, and of the pairs of `compare`.

class ReferenceExperiment final : public measure::Experiment {
 public:
  /// `reference_name` tells references apart: ratios to another one are another series. Both experiments outlive this.
  ReferenceExperiment(measure::Experiment& subject, measure::Experiment& reference, std::string reference_name,
                      std::uint64_t seed)
      : subject_(subject), reference_(reference), name_(std::move(reference_name)), seed_(seed) {}

  /// The subject's run, and for each of its metrics the ratio to the reference's, where both are above 0. Errors of the
  /// reference say so.
  Result<Run> run(const measure::Config& config) override;

 private:
  Result<Run> run_reference(const measure::Config& config);
  measure::Experiment& subject_;
  measure::Experiment& reference_;
  std::string name_;
  std::uint64_t seed_;
  std::uint64_t runs_ = 0;
};

/// "cpu_time_vs_4f1c2ab0d1".
[[nodiscard]] std::string ratio_metric(std::string_view metric, std::string_view reference_name);

/// The metric that a ratio is of: "cpu_time"; empty for what is none.
[[nodiscard]] std::string_view metric_of_ratio(std::string_view id);

/// The part of a commit's id that names a reference.
[[nodiscard]] std::string reference_name(std::string_view commit);

}  // namespace warpmark::validate
