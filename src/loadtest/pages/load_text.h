// One load as text: its facts, a line each, and its latencies. Pure.
#pragma once

#include <string>
#include <string_view>

#include "model/report.h"
#include "serving/results/load_result.h"

namespace warpmark::loadtest {

/// "8 users", "25 requests/s".
[[nodiscard]] std::string level_text(const serving::ScenarioResult& result);
/// "22.13 ms", with a star where the sample is too small for an interval; "-" without a value.
[[nodiscard]] std::string marked_value(const Percentile* percentile, const serving::LoadMetric& metric);
/// "22.13 ms ±5.2 %".
[[nodiscard]] std::string with_interval(const Percentile* percentile, const serving::LoadMetric& metric);
/// "20.33 ms", "1.2 %"; empty without a value.
[[nodiscard]] std::string objective_value(const serving::SloOutcome& outcome);
/// The first objective that has this verdict; null if none has.
[[nodiscard]] const serving::SloOutcome* objective_with(const serving::ScenarioResult& result,
                                                        std::string_view verdict);
/// "missed: 20.33 ms".
[[nodiscard]] std::string objective_text(const serving::SloOutcome& outcome);
/// "SingleStream: VALID, 90th percentile latency 12.00 ms".
[[nodiscard]] std::string mlperf_text(const serving::MlperfVerdict& verdict);

/// What was sent and answered, rates, objectives, tokens, and whether the client kept up; without a header.
[[nodiscard]] Table load_facts_of(const serving::ScenarioResult& result);
[[nodiscard]] Table load_latencies_of(const serving::ScenarioResult& result);
/// The metrics that are no latencies of their own: tokens per request, rates per second of the load, resources.
[[nodiscard]] Table load_others_of(const serving::ScenarioResult& result);
/// What its starred values need; empty without any.
[[nodiscard]] std::string few_requests_text(const serving::ScenarioResult& result);

}  // namespace warpmark::loadtest
