// Shared by the rules on sampled counters.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/evidence/evidence.h"
#include "analyze/recommendations/rule.h"

namespace warpmark::analyze {

/// All series with this id, of timelines and of files of counters alone.
[[nodiscard]] std::vector<const CounterSeries*> series_of(const Evidence& evidence, std::string_view id);
/// Same device as `like`; nullptr if there is none.
[[nodiscard]] const CounterSeries* series_of(const Evidence& evidence, std::string_view id, int device);
/// Whether the program works on the GPU of these samples, as far as is known.
[[nodiscard]] bool is_used(const Evidence& evidence, const CounterSeries& series);
/// The GPUs that were sampled, in order, without those that the program does not work on.
[[nodiscard]] std::set<int> sampled_devices(const Evidence& evidence);
/// Of the values that are numbers; absent if there are none.
[[nodiscard]] std::optional<double> mean_of(const CounterSeries& series);
[[nodiscard]] std::optional<double> highest_of(const CounterSeries& series);
/// Of the GPU's series with this id; absent, too, where there is none.
[[nodiscard]] std::optional<double> mean_of(const Evidence& evidence, std::string_view id, int device);
[[nodiscard]] std::optional<double> highest_of(const Evidence& evidence, std::string_view id, int device);
/// Share of the step in copies between host and GPU that nothing overlaps; 1 where there is no timeline.
[[nodiscard]] double exposed_copies(const Evidence& evidence);
/// Of so much of the steps; of no time where there is no timeline, as counters show none.
[[nodiscard]] Finding counter_finding(const Rule& rule, const Evidence& evidence, double lost_share, std::string title);
/// What a counter is while its GPU is used: over the samples of the steps where there is a timeline, and of these over
/// those in which the GPU has work, by the samples taken with them of the graphics engine or of utilization, else by
/// the counter itself. Absent where fewer than three are left.
struct InUse {
  double mean = 0;
  std::optional<double> busy;  ///< share of time in which the GPU has work, over the same samples
};
[[nodiscard]] std::optional<InUse> in_use(const Evidence& evidence, const CounterSeries& series);
/// The GPU whose counter is highest while it is used, of those that reach `least`.
struct Busiest {
  int device = -1;
  double mean = 0;
};
[[nodiscard]] std::optional<Busiest> busiest_of(const Evidence& evidence, std::string_view id, double least);

/// Payload that the link between host and GPU carries.
struct LinkRate {
  double rate = 0;     ///< B/s
  bool known = false;  ///< the link was sampled; else the fastest that the GPU can have
};
[[nodiscard]] LinkRate link_rate(const Evidence& evidence, int device);

/// Bits of NVML's clocks event reasons (nvml.h, nvmlClocksEventReason*).
inline constexpr std::uint64_t kPowerBrake = 0x80;                 // by the hardware, set from outside of the board
inline constexpr std::uint64_t kPowerReasons = 0x4 | kPowerBrake;  // software power cap, hardware power brake
inline constexpr std::uint64_t kThermalReasons = 0x20 | 0x40;      // software and hardware thermal slowdown

/// A GPU that is slowed down: share of samples and clock lost meanwhile.
struct Throttle {
  int device = -1;
  double share = 0;                  ///< of the samples
  std::optional<double> clock;       ///< Hz, mean of those samples; absent if it was not sampled
  std::optional<double> clock_loss;  ///< 1 - `clock` / the clock that the GPU reaches; absent if one is not known
};
/// The worst GPU of those that the program works on, in the samples of its steps; absent if none is throttled in at
/// least one sample in a hundred.
[[nodiscard]] std::optional<Throttle> worst_throttle(const Evidence& evidence, std::uint64_t reasons);

struct ThrottleText {
  std::string_view what;  ///< "runs at its power limit"
  double counted = 1;     ///< of the time that work bound by the multiprocessors loses
};
/// "GPU 0 `what` in 12 % of the samples", with its evidence and gain; the rule adds its recommendations.
[[nodiscard]] Finding throttle_finding(const Rule& rule, const Evidence& evidence, const Throttle& throttle,
                                       const ThrottleText& text);

}  // namespace warpmark::analyze
