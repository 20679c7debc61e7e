// A user's command as an experiment: each run is a fresh process without a shell, timed from outside, its metrics read
// from what it prints or writes.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/subprocess.h"
#include "measure/experiment.h"
#include "validate/commands/command_spec.h"
#include "validate/commands/environment_watch.h"

namespace warpmark::validate {

struct CommandOptions {
  std::string directory;                           ///< where it runs; empty is ours
  const std::atomic<bool>* interrupted = nullptr;  ///< Ctrl-C: the run ends with an environment error
  bool watch_environment = true;
  bool check_accuracy = false;  ///< run the commands of the spec's gates after each run
};

/// Settings "env.NAME" set a variable; any other fills {name} in the words of the command.
class CommandExperiment final : public measure::Experiment {
 public:
  CommandExperiment(CommandSpec spec, CommandOptions options);
  Result<Run> run(const measure::Config& config) override;

 private:
  [[nodiscard]] Status check_outputs(const CommandSpec& spec, Run& run) const;
  CommandSpec spec_;
  CommandOptions options_;
  std::unique_ptr<EnvironmentWatch> watch_;
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
