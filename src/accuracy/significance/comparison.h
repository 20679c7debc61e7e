// Two systems on the same examples: how much better or worse is the second, is that real, and is it within the margin
// that somebody said to accept? One test decides, chosen by the kind of metric before any data is seen; the others are
// shown beside it. Over several metrics and systems p values are adjusted by Holm's method.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/scoring/metric.h"
#include "accuracy/significance/intervals.h"
#include "base/json_fwd.h"

namespace warpmark::accuracy {

inline constexpr const char* kEvalCompareSchema = "warpmark.eval-compare/1";

enum class SystemVerdict {
  better,
  worse,          ///< really so; with a margin: by more than it
  no_difference,  ///< none was found, which does not say that there is none
  not_worse,      ///< worse by the margin is ruled out
  equivalent,     ///< a difference of the margin either way is ruled out
  undecided,      ///< neither within the margin nor beyond it
};
[[nodiscard]] const char* name_of(SystemVerdict verdict);

struct CompareSystemsOptions {
  ResampleOptions resample;
  double alpha = 0.05;
  std::optional<double> margin;       ///< largest loss to accept, in the metric's unit
  std::optional<double> equivalence;  ///< largest difference either way
  bool by_subject = false;
};

struct SubjectDifference {
  std::string subject;
  double first = 0;
  double second = 0;
  Interval interval;  ///< of the difference
  std::int64_t n = 0;
};

struct SystemComparison {
  std::string metric;
  Better better = Better::higher;
  double full = 1;
  std::string first;
  std::string second;
  double first_value = 0;
  double second_value = 0;
  double difference = 0;  ///< second - first
  Interval interval;      ///< of the difference
  Interval bound;         ///< of confidence 1 - 2 alpha: each end bounds a loss or gain with error alpha
  std::string interval_method;
  std::int64_t n = 0;
  std::int64_t groups = 0;  ///< where fewer than n
  std::string test;         ///< which decides
  double p = 1;
  double adjusted_p = 1;
  PairedBootstrap bootstrap;
  double randomization_p = 1;
  std::int64_t randomizations = 0;
  std::optional<McNemar> mcnemar;
  std::optional<MeanDifference> means;
  std::optional<double> wilcoxon_p;
  std::optional<std::int64_t> examples_needed;  ///< for 80 % power at the difference found
  double detectable = 0;                        ///< smallest difference that this many examples find with 80 %
  std::optional<double> margin;
  SystemVerdict verdict = SystemVerdict::undecided;
  std::vector<std::string> broken;  ///< right in the first, wrong in the second: ids, or numbers from 1
  std::vector<std::string> fixed;
  std::vector<SubjectDifference> by;
  /// A loss above 0: in the metric's own direction.
  [[nodiscard]] double loss() const { return better == Better::lower ? difference : -difference; }
};

/// The first system against each other, metric by metric; adjusted together.
[[nodiscard]] Result<std::vector<SystemComparison>> compare_systems(const Examples& examples,
                                                                    const std::vector<NamedMetric>& metrics,
                                                                    const CompareSystemsOptions& options);

/// How the outputs themselves differ, apart from what they are worth.
struct Divergence {
  std::string first;
  std::string second;
  std::int64_t n = 0;                         ///< examples that both answered
  std::int64_t equal = 0;                     ///< with the same text
  std::optional<double> first_difference;     ///< median place of the first differing token, of those that differ
  bool in_tokens = false;                     ///< by the lists 'tokens' of the records; else in characters
  std::optional<double> mean_logprob_change;  ///< mean |change| over equal tokens at the beginning, nats
  std::optional<double> most_logprob_change;
};
[[nodiscard]] Divergence divergence_of(const Examples& examples, std::size_t first, std::size_t second);

[[nodiscard]] Json to_json(const std::vector<SystemComparison>& comparisons,
                           const std::vector<Divergence>& divergences);

}  // namespace warpmark::accuracy
