// What each metric is, in one line; docs/metrics.md tells more.
#pragma once

#include <span>

namespace warpmark::report {

struct MetricMeaning {
  const char* id;
  const char* unit;
  const char* better;
  const char* meaning;
};

[[nodiscard]] std::span<const MetricMeaning> metric_list();

}  // namespace warpmark::report
