// An outcome as text that another process reads, exact to the nanosecond: lines of JSON, the first with everything but
// the requests, then a line for each request. Times are nanoseconds after the start of the load, so that outcomes of
// machines whose clocks differ can be merged. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "serving/client/load_plan.h"

namespace warpmark::serving {

/// Of the client on `host`.
[[nodiscard]] std::string outcome_text(const LoadOutcome& outcome, const std::string& host);
/// Data error for what is no outcome.
[[nodiscard]] Result<LoadOutcome> outcome_of_text(std::string_view text);

}  // namespace warpmark::serving
