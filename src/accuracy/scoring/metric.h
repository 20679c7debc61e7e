// A metric that `eval score` and `eval compare` know by name: a descriptor in the catalog.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accuracy/ratings/ratings.h"
#include "accuracy/scoring/examples.h"
#include "accuracy/text/meteor.h"
#include "accuracy/text/tokenizers.h"
#include "base/catalog.h"
#include "base/result.h"
#include "model/metric.h"

namespace warpmark::accuracy {

using Rows = std::span<const std::uint32_t>;

struct Measured {
  std::size_t examples = 0;
  std::size_t systems = 0;  ///< row of a system's answer to an example: system * examples + example
  std::function<double(Rows rows)> value;
  std::vector<double> each;    ///< of each row alone; empty where a metric has no such thing
  bool is_mean = false;        ///< the value is the mean of `each`
  bool is_share = false;       ///< and `each` is 0 or 1
  std::string signature;       ///< all settings that the value depends on
  std::string warning = {};    ///< why the value may not mean what is asked
  std::string undefined = {};  ///< why a value may be NaN
  /// Of what stands in one file for several systems (players of comparisons); empty where systems are files.
  std::vector<std::string> names = {};
};

/// Rows of one system, in the order of the examples.
[[nodiscard]] std::vector<std::uint32_t> rows_of(const Measured& measured, std::size_t system);
[[nodiscard]] double value_of(const Measured& measured, std::size_t system);
/// `each` of one system; empty where there is none.
[[nodiscard]] std::span<const double> each_of(const Measured& measured, std::size_t system);

/// A metric that these examples leave without a value.
[[nodiscard]] Measured undefined_metric(std::size_t examples, std::size_t systems, std::string why);

/// A metric that is the mean over examples.
[[nodiscard]] Measured mean_metric(std::size_t examples, std::size_t systems, std::vector<double> each);

/// A metric of sums: `width` numbers a row, added up over the rows chosen. `each` is what it gives for single rows if
/// `per_row`.
[[nodiscard]] Measured sum_metric(std::size_t examples, std::size_t systems, std::vector<double> numbers,
                                  std::function<double(std::span<const double> sums)> value, bool per_row);

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
