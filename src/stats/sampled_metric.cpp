#include "stats/sampled_metric.h"

#include <utility>

#include "stats/summary.h"

namespace warpmark::stats {

Metric sampled_metric(std::string id, std::string unit, Better better, std::vector<double> samples,
                      std::vector<std::int64_t> round_sizes) {
  if (round_sizes.empty()) round_sizes = {static_cast<std::int64_t>(samples.size())};
  Metric metric{std::move(id), std::move(unit), better, std::move(samples), std::move(round_sizes), {}};
  metric.summary = summarize(metric.samples);
  return metric;
}

Metric metric_of_rounds(std::string id, std::string unit, Better better, std::vector<double> samples) {
  std::vector<std::int64_t> ones(samples.size(), 1);
  return sampled_metric(std::move(id), std::move(unit), better, std::move(samples), std::move(ones));
}

}  // namespace warpmark::stats
