#include "report/results/metric_list.h"

namespace warpmark::report {

std::span<const MetricMeaning> metric_list() {
  static constexpr MetricMeaning kMetrics[] = {
      {"time", "s", "lower", "time of one launch, timer overhead subtracted"},
      {"flop_rate", "FLOP/s", "higher", "operations the result needs over its time"},
      {"bandwidth", "B/s", "higher", "fewest bytes the result needs to move over its time"},
      {"energy", "J", "lower", "energy of one launch, back to back, by the device's own counter"},
  };
  return kMetrics;
}

}  // namespace warpmark::report
