// Conversations of several turns as a whole: how long they took, and how much of that was the user's thinking or a
// tool's work and not the server's. Pure.
#pragma once

#include <vector>

#include "serving/results/load_result.h"

namespace warpmark::serving {

/// Adds "session" (first due to last token), "session_server" (the sum of its turns' times from sending to the last
/// token), "session_external_share", and "e2e_turn_1" .. "e2e_turn_16" of conversations all of whose turns were
/// answered. `turns` that each has; nothing is added for 1.
void add_sessions(const std::vector<RequestRecord>& records, std::int64_t turns, double confidence,
                  ScenarioResult& result);

}  // namespace warpmark::serving
