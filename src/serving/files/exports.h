// A load in the forms of others: one CSV row a request, and the JSON of vLLM's `bench serve`. Both come piece by piece,
// as there may be millions of requests: RequestRecords::status() tells afterwards whether all came. Pure.
#pragma once

#include "serving/files/json_lists.h"
#include "serving/results/load_result.h"

namespace warpmark::serving {

/// Times in seconds after the start of the load; empty fields where a thing did not happen. All scenarios of the
/// report.
void write_requests_csv(const LoadReport& report, const TakeText& take);

/// Of one scenario, with the lists per request.
void write_vllm_json(const LoadReport& report, const ScenarioResult& result, const TakeText& take);

}  // namespace warpmark::serving
