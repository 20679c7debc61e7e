// A metric that `eval score` and `eval compare` know by name: a descriptor in the catalog.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accuracy/ratings/ratings.h"
#include "accuracy/scoring/examples.h"
#include "accuracy/scoring/measured.h"
#include "accuracy/text/tokenizers.h"
#include "accuracy/text/wordnet.h"
#include "base/catalog.h"
#include "base/result.h"
#include "model/metric.h"

namespace warpmark::accuracy {

/// What metrics may be told; each uses what it knows and says so in its signature.
struct ScoreSettings {
  std::string tokenize = "13a";
  std::string smooth = "exp";
  std::optional<double> smooth_value;
  bool lowercase = false;
  bool effective_order = false;
  bool stem = false;
  TercomOptions ter;
  std::string positive;     ///< class of binary scores; empty: "1", else the second of two
  double tolerance = 1e-6;  ///< of numeric answers: absolute, or relative to the reference if that is larger
  std::int64_t k = 1;       ///< of pass@k
  int bins = 15;
  double scale = 100;  ///< of preference scores
  Measurement measurement = Measurement::interval;
  const WordNet* wordnet = nullptr;
  std::string wordnet_version;
};

struct ScoreMetric {
  const char* id;
  const char* summary;  ///< one line, with the scale
  Better better;
  bool takes_samples;  ///< several records of one id are samples of one example
  Result<Measured> (*measure)(const Examples& examples, const ScoreSettings& settings);
  double full = 1;  ///< the best value, or what its scale calls the whole
};

[[nodiscard]] Catalog<ScoreMetric> score_metrics();

/// A metric as asked for: "pass@10" is pass@k with k = 10, "glue/mrpc" is several.
struct NamedMetric {
  std::string name;
  const ScoreMetric* metric = nullptr;
  ScoreSettings settings;
};

/// Usage error with a suggestion for a name that nobody has.
[[nodiscard]] Result<std::vector<NamedMetric>> metrics_named(const std::vector<std::string>& names,
                                                             const ScoreSettings& settings);

/// Measures; data error where an example lacks what the metric needs, or has several answers and it takes one.
[[nodiscard]] Result<Measured> measure(const NamedMetric& metric, const Examples& examples);

/// The official metrics of GLUE's and SuperGLUE's tasks: "glue/cola".
struct OfficialTask {
  const char* id;
  std::vector<const char*> metrics;
};
[[nodiscard]] const std::vector<OfficialTask>& official_tasks();

[[nodiscard]] std::span<const ScoreMetric> text_metrics();
[[nodiscard]] std::span<const ScoreMetric> class_metrics();
[[nodiscard]] std::span<const ScoreMetric> choice_metrics();
[[nodiscard]] std::span<const ScoreMetric> rating_metrics();
[[nodiscard]] std::span<const ScoreMetric> embedding_metrics();
[[nodiscard]] std::span<const ScoreMetric> perplexity_metrics();

}  // namespace warpmark::accuracy
