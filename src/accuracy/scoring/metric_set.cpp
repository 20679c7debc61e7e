#include "accuracy/scoring/metric_set.h"

#include <algorithm>

#include "base/text.h"

namespace warpmark::accuracy {

Result<MetricSet> metric_set(const std::string& names, ScoreSettings settings, const char* wordnet_folder) {
  MetricSet set;
  const auto list = split(names, ',');
  const auto place = installed_wordnet(wordnet_folder);
  if (std::find(list.begin(), list.end(), "meteor") != list.end() && !place.empty()) {
    WM_ASSIGN(auto wordnet, WordNet::read(place));
    set.wordnet = std::make_unique<WordNet>(std::move(wordnet));
    settings.wordnet = set.wordnet.get();
    settings.wordnet_version = "WordNet of " + place.string();
  }
  WM_ASSIGN(set.metrics, metrics_named(list, settings));
  if (set.metrics.empty()) return usage_error("which metric?", "warpmark eval list shows them");
  return set;
}

}  // namespace warpmark::accuracy
