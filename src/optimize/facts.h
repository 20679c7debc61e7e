// What the search knows of a program, from a run of it under the settings so far: the report of its main process, and
// how a step divides. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workers/program_report.h"

namespace warpmark::optimize {

/// Shares of the measured steps; they sum to 1.
struct PhaseShares {
  double data = 0;
  double forward = 0;
  double backward = 0;
  double optimizer = 0;
  double rest = 1;  ///< what the program does between them
};

/// A gain that the analysis of a recording predicts, by its finding.
struct FoundGain {
  std::string rule;
  std::string advice;  ///< id of a recommendation; empty: the finding's own gain
  double low = 1;
  double high = 1;
};

struct ProgramFacts {
  workers::ProgramReport report;
  PhaseShares phases;
  double seconds_per_step = 0;
  std::optional<double> gpu_utilization;  ///< share of the measured time with a kernel on the GPU, as NVML has it
  bool analyzed = false;                  ///< a recording of it was, and had work of a GPU
  std::vector<FoundGain> found;           ///< in that recording
  bool draws = false;                     ///< its forward draws random numbers, as dropout does

  /// The settings have moved the bottleneck: this share of a step waits for data now.
  void wait_for_data(double share);

  /// Steps of an epoch that is short: a stretch of whole epochs holds its share of what happens between them (workers
  /// start, checkpoints are written). 1: epochs are long, or their length is unknown.
  [[nodiscard]] std::int64_t short_epoch() const;
  [[nodiscard]] bool on_gpu() const;
  [[nodiscard]] bool waits_for_data() const;  ///< for 5 % of a step or more
  [[nodiscard]] bool trains() const;  ///< it makes an optimizer of torch.optim or calls backward
};

/// The steps of the window, or all but the first where there was none.
[[nodiscard]] PhaseShares phases_of(const workers::ProgramReport& report);
[[nodiscard]] ProgramFacts facts_of(workers::ProgramReport report, std::optional<double> gpu_utilization);

/// The next multiple of `epoch` that is at least `steps`.
[[nodiscard]] std::int64_t whole_multiple(std::int64_t steps, std::int64_t epoch);

/// What replacing `share` of a step by that of it divided by `factor` gives.
[[nodiscard]] double amdahl(double share, double factor);

}  // namespace warpmark::optimize
