// A load in the forms of others: one CSV row a request, and the JSON of vLLM's `bench serve`. Both come piece by piece,
// as there may be millions of requests: RequestRecords::status() tells afterwards whether all came. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "serving/records/request_records.h"
#include "serving/results/load_result.h"

namespace warpmark::serving {

// A JSON object with lists of one entry a request, which may be too many to be held: its other members first, then list
// by list, each entry on a line of its own. Pure.

/// Takes a text piece by piece.
using TakeText = std::function<void(std::string_view)>;

class JsonLists {
 public:
  /// At least one member.
  JsonLists(const Json& members, const TakeText& take);
  /// One entry of each request for which there is one.
  void add(std::string_view name, const RequestRecords& records,
           const std::function<std::optional<Json>(const RequestRecord&)>& entry);
  void end();

 private:
  const TakeText& take_;
};

/// Times in seconds after the start of the load; empty fields where a thing did not happen. All scenarios of the
/// report.
void write_requests_csv(const LoadReport& report, const TakeText& take);

/// Of one scenario, with the lists per request.
void write_vllm_json(const LoadReport& report, const ScenarioResult& result, const TakeText& take);

}  // namespace warpmark::serving
