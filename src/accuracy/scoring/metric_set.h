// Metrics by their names, with the data that they read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "accuracy/scoring/scores.h"
#include "accuracy/text/meteor.h"
#include "base/result.h"

namespace warpmark::accuracy {

struct MetricSet {
  std::vector<NamedMetric> metrics;
  std::unique_ptr<WordNet> wordnet;  ///< that METEOR looks words up in; null where no metric needs it
};

/// "bleu,chrf". `wordnet_folder`: of WNSEARCHDIR, or null for the usual ones. Usage error for unknown names and
/// impossible settings.
[[nodiscard]] Result<MetricSet> metric_set(const std::string& names, ScoreSettings settings,
                                           const char* wordnet_folder);

}  // namespace warpmark::accuracy
