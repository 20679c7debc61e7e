// A user's command as an experiment: each run is a fresh process without a shell, timed from outside, its metrics read
// from what it prints or writes.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/subprocess.h"
#include "measure/experiment.h"
#include "measure/gpu_watch.h"
#include "validate/commands/command_spec.h"
#include "validate/commands/environment_watch.h"

namespace warpmark::validate {

struct CommandOptions {
  std::string directory;                           ///< where it runs; empty is ours
  const std::atomic<bool>* interrupted = nullptr;  ///< Ctrl-C: the run ends with an environment error
  bool watch_environment = true;
  bool gpu_figures = true;  ///< of a command that uses a GPU (measure/gpu_watch.h); metrics that declare them need it
  bool processor_time = false;  ///< beside wall time (model/beside.h), unless the spec asks for CPU time itself
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

}  // namespace warpmark::validate
