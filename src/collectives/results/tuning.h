// Which settings of the library make a collective fastest? Each setting is measured in rounds, all settings in turn in
// every round and fresh processes, and compared with the library's own choice at each size. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collectives/results/row.h"
#include "model/metric.h"

namespace warpmark::collectives {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// All combinations of "NCCL_ALGO=Ring,Tree" and the like; the first is empty, the library's own choice. Usage error
/// for what is no such text, or for more than 200 combinations.
[[nodiscard]] Result<std::vector<Settings>> combinations(const std::vector<std::string>& sweeps);

/// The variables that --tune goes through: algorithm, protocol, threads, channels, and the interfaces of this host.
[[nodiscard]] std::vector<std::string> tuned_variables(const std::vector<std::string>& interfaces);

[[nodiscard]] std::string to_text(const Settings& settings);  ///< "NCCL_ALGO=Ring NCCL_PROTO=LL", "default"

struct Measured {
  Settings settings;
  std::vector<Sweep> rounds;
  std::string fault;  ///< why there are no numbers, or fewer
};

struct TunedSize {
  std::int64_t bytes = 0;
  double default_s = 0;  ///< mean over rounds
  std::size_t best = 0;  ///< index into Tuning::measured
  double best_s = 0;
  double gain = 1;                        ///< default / best
  std::optional<Interval> gain_interval;  ///< over rounds, Student's t on logarithms; absent below 2 rounds
  bool certain = false;                   ///< the interval is above 1, corrected for the number of settings
};

struct Tuning {
  std::vector<Measured> measured;
  std::vector<TunedSize> sizes;
};

[[nodiscard]] Tuning tune(std::vector<Measured> measured);

}  // namespace warpmark::collectives
