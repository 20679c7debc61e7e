// A load in the forms of others: one CSV row a request, and the JSON of vLLM's `bench serve`. Pure.
#pragma once

#include <functional>
#include <string_view>

#include "base/json.h"
#include "serving/results/load_result.h"

namespace warpmark::serving {

/// Times in seconds after the start of the load; empty fields where a thing did not happen. All scenarios of the
/// report, row by row, as there may be millions.
void write_requests_csv(const LoadReport& report, const std::function<void(std::string_view)>& write);

/// Of one scenario, with the lists per request.
[[nodiscard]] Json vllm_json(const LoadReport& report, const ScenarioResult& result);

}  // namespace warpmark::serving
