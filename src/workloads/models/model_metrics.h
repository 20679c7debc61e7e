// Metrics of a round of steps: samples, words and operations a second and a joule, utilization by the datasheet, the
// losses and the phases; and how well the model learned.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "device/device.h"
#include "model/machine.h"
#include "model/params.h"
#include "model/run.h"
#include "workloads/models/model_shape.h"
#include "workloads/models/model_workers.h"

namespace warpmark::workloads {

struct ModelStep {
  const Params& params;
  const ModelShape& shape;
  const DeviceInfo& device;
  double ranks = 1;
  std::optional<double> joules;  ///< of a step
};

/// Metrics beside `time`, which is the run's first, and the note about utilization. The cost of GPUs becomes that of
/// one of them, as each is under its own peak; processors are shared.
void add_model_rates(const ModelStep& step, Run& run);

/// What the losses of a round's steps say: that a network that knew nothing learned something.
struct StepLosses {
  std::span<const double> all;  ///< of every step, in their order
  double chance_level = 0;      ///< of a network that knows nothing
  bool train = true;
};

struct LossVerdict {
  std::string fault;  ///< empty where they are as they should be
  std::string seen;   ///< first and last; empty where too few were seen
};

/// The first is that of a network that knows nothing, within 15 % + 0.1; of a training the mean of the last four is
/// below it. Not empty. Pure.
[[nodiscard]] LossVerdict judged_losses(const StepLosses& losses);

/// Phases of a step, from windows of their own: how many steps they get, and how their sum compares with the step that
/// was timed without marks.
struct PhaseSteps {
  double step_s = 0;       ///< of a step, about
  double room_s = 0;       ///< that they may take
  std::int64_t least = 1;  ///< whatever they take
  std::int64_t most = 1;   ///< that the worker has room to note
};

/// As many as a p99 of each phase takes (299), where there is time for them. Pure.
[[nodiscard]] std::int64_t phase_steps(const PhaseSteps& wanted);

/// Metrics phase.* and phases_ratio of a run whose first metric is `time`, and a note where their sum is another than
/// the spread of the timed windows explains. Pure.
void add_phases(ModelPhases phases, Run& run);

/// A device's sensor; none where it cannot be read.
[[nodiscard]] std::optional<double> read_sensor(device::Device& device, std::string_view id);

/// Looks from the thread that waits for the worker, and only where nothing is timed: a question to the driver may hold
/// up the launches of others. One thread.
class DeviceMemory {
 public:
  /// Before anything of the worker is on the device.
  explicit DeviceMemory(device::Device& device);
  /// Reads what is in use, unless it did within the last 50 ms. Nothing where the device has no such sensor.
  void probe();
  /// Reads it in any case; it is what stays in use.
  void poll_last();
  /// memory.baseline, memory.device (the most of all looks), memory.utilization (that of all the device has) and
  /// memory.final, of what was read.
  void add_to(Run& run) const;

 private:
  device::Device& device_;
  std::optional<double> baseline_, most_, last_;
  std::int64_t polled_ns_ = 0;
};

/// "accuracy>=0.759", "loss<=2.5", "auc>=0.8".
struct QualityGoal {
  std::string metric;
  double target = 0;
};

/// Usage error for anything else.
[[nodiscard]] Result<QualityGoal> parse_quality_goal(const std::string& text);

/// One training of a worker that is prepared, until the goal of the parameter `until`: fills metrics and cost of `run`.
/// What did not reach the goal is failed and has no time. Data error where the worker's account contradicts our clock.
/// `round` numbers its log.
[[nodiscard]] Status measure_quality(const Params& params, const ModelShape& shape, int round, ModelWorkers& workers,
                                     Run& run);

}  // namespace warpmark::workloads
