// Samples as a metric with what they support saying.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/metric.h"

namespace warpmark::stats {

/// Samples of one round, or of rounds with these sizes, with their summary (stats/summary.h). Pure, any thread.
[[nodiscard]] Metric sampled_metric(std::string id, std::string unit, Better better, std::vector<double> samples,
                                    std::vector<std::int64_t> round_sizes = {});

/// The same with a round for each sample.
[[nodiscard]] Metric metric_of_rounds(std::string id, std::string unit, Better better, std::vector<double> samples);

}  // namespace warpmark::stats
