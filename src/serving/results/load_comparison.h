// Two and more servers side by side, from loads that were measured one server after another: for each scenario and load
// that all have, each number of the first one and the ratio of the others to it. Requests that follow one another are
// alike, so blocks of consecutive ones are resampled (Kuensch, Annals of Statistics 17, 1989), and p values are
// adjusted over the whole table (Holm). What it cannot see is what changed between the loads: two runs at two times
// differ by more than their requests do. `warpmark compare` alternates variants for that. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/fields/fields_fwd.h"
#include "model/metric.h"

namespace warpmark::serving {

/// One scenario at one load.
struct LoadCell {
  std::string scenario;
  std::string level;  ///< all that makes a load: "8 users, 2 turns", "25 requests/s, poisson"
  std::map<std::string, std::vector<double>> samples;  ///< by metric, in the order of the requests
  std::map<std::string, double> values;                ///< numbers that have no samples: cost, memory
  bool trusted = true;
};

struct LoadVariant {
  std::string name;
  std::string command = {};  ///< that measured it; empty if unknown
  std::vector<LoadCell> cells;
};

/// What is compared of a metric.
struct ComparedNumber {
  std::string metric;
  std::string statistic;  ///< "p50", "p95", "p99", "mean", "sd"
  std::string unit;
  Better better = Better::lower;
};

struct LoadDifference {
  std::optional<double> value;       ///< of this variant
  std::optional<double> ratio;       ///< to the first variant
  std::optional<Interval> interval;  ///< of the ratio
  std::optional<double> p, adjusted_p;
  /// "better", "worse", "same" (within 2 %), "inconclusive", "unreliable" (the client of one of the two was); empty for
  /// the first variant.
  std::string verdict;
  bool few_requests = false;  ///< too few for an interval
  std::string reason;         ///< why there is no verdict
};

struct LoadComparisonRow {
  std::string scenario;
  std::string level;
  ComparedNumber number;
  std::vector<LoadDifference> variants;  ///< as the variants
};

struct LoadComparison {
  std::vector<std::string> names;
  std::vector<LoadComparisonRow> rows;
  std::vector<std::string> notes;       ///< loads that only some have
  std::vector<std::string> unreliable;  ///< variants whose client was unreliable at a load
};

/// Usage error where no scenario and load is in all variants.
[[nodiscard]] Result<LoadComparison> compare_loads(const std::vector<LoadVariant>& variants, double confidence = 0.95);

extern const RecordOf<LoadComparison> kLoadComparison;
/// "warpmark.load_comparison/1".
[[nodiscard]] Json to_json(const LoadComparison& comparison);

}  // namespace warpmark::serving
