#include "model/kernel_profile.h"

#include <algorithm>

namespace warpmark {

std::optional<double> KernelProfile::metric(const std::string& metric_id) const {
  const auto found =
      std::find_if(metrics.begin(), metrics.end(), [&](const KernelMetric& metric) { return metric.id == metric_id; });
  if (found == metrics.end()) return std::nullopt;
  return found->value;
}

}  // namespace warpmark
