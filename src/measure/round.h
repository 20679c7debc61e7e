// One round of a case: fresh inputs, warm-up, timed launches until the stopping rule is content, check. The rounds of a
// case are spread over the session and merged into its Run.
//
// Why rounds: samples taken back to back share one memory layout, one clock state and one neighbour on the host, so
// their spread understates how much the next run will differ. Kalibera and Jones, "Rigorous Benchmarking in Reasonable
// Time" (ISMM 2013), put the repetition where the variance is.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "measure/disturbance.h"
#include "measure/sampling.h"
#include "measure/workload.h"
#include "model/run.h"

namespace warpmark::measure {

/// What to measure.
struct Case {
  const Workload* workload = nullptr;
  std::string device;
  Params params;
  Mode mode = Mode::cold;
};

struct RoundOptions {
  StoppingOptions stopping;
  WarmupOptions warmup;
  std::uint64_t seed = 0;
  int number = 0;       ///< of this round in its case, from 0
  double energy_s = 0;  ///< how long to run back to back for the energy of a launch; 0 leaves it out
  int host_cpus = 1;
  HostHistory* history = nullptr;  ///< of the session; rounds add to it
  bool check = true;               ///< whether outputs are held against the reference; without, only times are of use
  const std::atomic<bool>* interrupted = nullptr;   ///< set by Ctrl-C: the round ends as soon as a launch has ended
  std::function<void(const std::string&)> stage{};  ///< told what a long round is doing: "starting python3"
};

/// Never fails: what goes wrong becomes the outcome of the Run, with its reason and hint.
[[nodiscard]] Run measure_round(const Case& what, device::Device& device, const RoundOptions& options);

/// One Run of all samples. The worst outcome wins; a wrong output in any round fails the case. Needs at least one
/// round.
[[nodiscard]] Run merge_rounds(std::span<const Run> rounds, const StoppingOptions& stopping);

/// Number of input sets for a mode: in cold and graph mode their footprints together exceed twice the last-level cache.
/// Unsupported error where that many cannot be made.
[[nodiscard]] Result<std::size_t> sets_for(Mode mode, const Cost& cost, const DeviceInfo& device);

/// Launches in one sample, so that a sample lasts at least 100 times the timer's resolution.
[[nodiscard]] std::int64_t launches_per_sample(double seconds_per_launch, const device::TimerInfo& timer);

/// Mode that the parameters ask for: overrides may carry "mode"; it is removed from them. Usage error if unknown.
[[nodiscard]] Result<Mode> take_mode(Overrides& overrides, Mode default_mode);

/// The run as one that could not be measured: unsupported, or an error with its fault.
[[nodiscard]] Run failed_run(Run run, const Error& error);

}  // namespace warpmark::measure
