// A load in the forms of others: one CSV row a request, and the JSON of vLLM's `bench serve`. Pure.
#pragma once

#include <string>

#include "base/json.h"
#include "serving/results/load_result.h"

namespace warpmark::serving {

/// Times in seconds after the start of the load; empty fields where a thing did not happen. All scenarios of the
/// report.
[[nodiscard]] std::string requests_csv(const LoadReport& report);

/// Of one scenario, with the lists per request.
[[nodiscard]] Json vllm_json(const LoadReport& report, const ScenarioResult& result);

}  // namespace warpmark::serving
