// Warm-up until settled: the median of the last window of samples no longer moves against the window before, and the
// device's clock no longer rises. Capped, and reported with its reason.
//
// Fixed warm-up counts are wrong in both directions: GPU clocks may need hundreds of milliseconds to settle, page
// faults and code generation are over after one launch. Barrett et al., "Virtual Machine Warmup Blows Hot and Cold"
// (OOPSLA 2017), show that some programs never settle; hence the cap, and `settled` in the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "model/run.h"

namespace warpmark::measure {

struct WarmupOptions {
  double cap_s = 0.5;       ///< stop unsettled after this long
  double tolerance = 0.01;  ///< the medians of two windows may differ by this ratio
  std::int64_t most_launches = 100'000;
};

struct WarmupResult {
  Warmup warmup;
  double seconds_per_launch = 0;  ///< estimate from the last window
  std::size_t next_set = 0;       ///< where rotation goes on
};

/// Times one launch at a time through `sequence` (made with launches == 1) until it settles.
[[nodiscard]] Result<WarmupResult> warm_up(device::Device& device, device::TimedSequence& sequence, std::size_t sets,
                                           const WarmupOptions& options);

/// Whether the medians of the last two windows of `samples` agree; pure, for tests. `window` samples each.
struct Settling {
  bool settled = false;
  double moved = 0;  ///< |median of the last window / median of the one before - 1|
};
[[nodiscard]] Settling settling(const std::vector<double>& samples, std::size_t window, double tolerance);

// When are there enough samples? Until the exact confidence interval of the median is within +-`half_width` of it, with
// a minimum of samples, and bounded by a time budget and a maximum of samples.
//
// The interval is looked at on a geometric schedule of sample counts, not after every sample: fewer looks keep its
// coverage near nominal although it decides its own end, and keep the cost of looking small.

struct StoppingOptions {
  double half_width = 0.005;  ///< target half width of the interval over the median, a ratio
  double confidence = 0.95;
  std::int64_t min_samples = 10;
  std::int64_t max_samples = 1000;
  double budget_s = 1.0;  ///< of sampling time; at least `kFewestSamples` samples are taken even beyond it
};

/// The fewest samples with a two-sided 95 % interval of the median: 2 * 0.5^6 = 3.1 % is outside.
inline constexpr std::int64_t kFewestSamples = 6;

class StoppingRule {
 public:
  explicit StoppingRule(const StoppingOptions& options);

  /// One sample (seconds), and the time since sampling began (seconds).
  void add(double sample, double elapsed_s);
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] bool converged() const { return converged_; }
  /// Why it stopped: "time budget of 2 s", and with what it had then.
  [[nodiscard]] const std::string& cause() const { return cause_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] const std::vector<double>& samples() const { return samples_; }

 private:
  void stop(bool converged, std::string cause);
  /// Half width of the interval over the median; infinite with too few samples.
  [[nodiscard]] double half_width() const;

  StoppingOptions options_;
  std::vector<double> samples_;
  std::int64_t next_poll_;
  bool done_ = false;
  bool converged_ = false;
  std::string cause_, reason_;
};

/// Half width of the median's interval relative to the median; infinite with too few samples.
[[nodiscard]] double relative_half_width(const std::vector<double>& samples, double confidence);

}  // namespace warpmark::measure
