// The scenarios of MLPerf Inference and when a run of one is VALID, after LoadGen's rules (inference_rules and
// loadgen/results.cc of mlcommons/inference): minimum duration, minimum number of queries, and early stopping. Early
// stopping asks how many of n queries may be late so that, with 99 % confidence, the share p of all are not: the tail
// of a binomial law, computed as a regularized incomplete beta function. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serving/results/load_result.h"
#include "serving/results/slo.h"

namespace warpmark::serving {

enum class MlperfScenario { single_stream, multi_stream, server, offline };

struct MlperfRules {
  MlperfScenario scenario = MlperfScenario::single_stream;
  double percentile = 0.9;  ///< of the latency: 0.9 SingleStream, 0.99 others
  double least_duration_s = 600;
  std::int64_t least_queries = 0;
  std::int64_t samples_per_query = 1;  ///< 8 in MultiStream
};

/// The rules of the scenario: "SingleStream", "MultiStream", "Server", "Offline", whatever the case. Usage error.
[[nodiscard]] Result<MlperfRules> mlperf_rules(std::string_view name);
[[nodiscard]] const char* name_of(MlperfScenario scenario);

/// The fewest queries in time that make up for `late` ones: P(Binomial(h + late, 1 - p) <= late) <= 1 - confidence.
[[nodiscard]] std::int64_t queries_in_time_needed(std::int64_t late, double p, double confidence = 0.99);

/// How many of the highest of n latencies may be left out, so that the next one bounds the p-quantile; nothing where n
/// is too small even for the highest.
[[nodiscard]] std::optional<std::int64_t> discarded_latencies(std::int64_t n, double p, double confidence = 0.99);

/// From the result with its records. `slo` has the limits of the Server scenario.
[[nodiscard]] MlperfVerdict judge_mlperf(const MlperfRules& rules, const ScenarioResult& result, const Slo& slo);

}  // namespace warpmark::serving
