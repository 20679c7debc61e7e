// What each round of MLPerf training asks of a log, as data: required keys, their values, and the quality to reach.
//
// Source: the rule files of mlcommons/logging, compliance_checker/training_4.0.0 to training_6.0.0 (common.yaml,
// closed_*.yaml, open_*.yaml); runs of a result from its benchmark_meta.py.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>

namespace warpmark::exchange {

/// How often a key must be logged. `one` may repeat with the same value.
enum class Times { any, one, some };

/// What a value must be. The named ones depend on the batch size or the warm-up steps that the log gave before.
enum class ValueRule {
  any,
  not_empty,
  one_of,               ///< of `values`, numbers by their value
  above,                ///< `bound`
  at_least,             ///< `bound`
  multiple,             ///< of `bound`
  power_of_two,         ///< times `bound`
  scaled,               ///< value x 1152 = batch x `bound`
  scaled_root,          ///< `bound` x sqrt(batch / 16384)
  minus_warmup,         ///< `bound` - warm-up steps
  scaled_minus_warmup,  ///< `bound` and 8000 warm-up steps at a batch of 1152, scaled to the batch
};

struct KeyRule {
  Times times = Times::any;
  ValueRule rule = ValueRule::any;
  double bound = 0;
  std::string_view values;    ///< separated by |
  std::string_view metadata;  ///< names of which one must be there, separated by |
};

struct QualityRange {
  double above = -std::numeric_limits<double>::infinity();
  double least = -std::numeric_limits<double>::infinity();
  double below = std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  [[nodiscard]] bool contains(double x) const { return x > above && x >= least && x < below && x <= most; }
};

/// The rules of one benchmark in one division, over those that all benchmarks share.
struct BenchmarkRules {
  std::string_view rounds;  ///< "4.0 4.1"
  std::string_view division;
  std::string_view benchmark;
  std::string_view base;             ///< key rules, as rulesets.cpp explains them
  std::string_view keys;             ///< more of them, which replace those
  QualityRange quality;              ///< of one evaluation at least
  std::optional<QualityRange> clip;  ///< then `quality` is FID, and both are of one evaluation
  std::string_view quality_key = "eval_accuracy";
};

/// The rounds that are known, newest first: "6.0", ..., "4.0".
[[nodiscard]] std::span<const std::string_view> mlperf_rounds();

/// Null where the round has no such benchmark in the division.
[[nodiscard]] const BenchmarkRules* benchmark_rules(std::string_view round, std::string_view division,
                                                    std::string_view benchmark);

/// All rules by key; `rules` may be null. Later tables replace a key of earlier ones, as the checker does.
/// `optimizer` is what the log names as opt_name: resnet's rules depend on it.
[[nodiscard]] std::map<std::string_view, KeyRule> key_rules(std::string_view round, std::string_view division,
                                                            const BenchmarkRules* rules, std::string_view optimizer);

/// A benchmark of MLPerf's training: what one result is.
struct MlPerfBenchmark {
  std::string_view id;
  int runs;              ///< of one result
  int dropped;           ///< fastest and slowest that do not count
  double allowance = 0;  ///< samples by which it may converge faster than its reference: one evaluation
};

/// Null for names that are none of them.
[[nodiscard]] const MlPerfBenchmark* mlperf_benchmark(std::string_view id);

}  // namespace warpmark::exchange
