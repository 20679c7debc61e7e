// Conversations of several turns as a whole: how long they took, and how much of that was the user's thinking, a tool's
// work, or handing over from one turn to the next, and not the server's. Pure.
#pragma once

#include "serving/client/load_plan.h"
#include "serving/results/load_result.h"

namespace warpmark::serving {

/// Adds "session" (first due to last token), "session_server" (the sum of its turns' times from sending to the last
/// token), "session_external_share" of all else, of which "session_tool_share" is the tools' and
/// "session_transfer_share" what lies between a turn's last token and the next turn's sending beside the pauses of the
/// plan: the end of the answer, the connection to the next server, our own lateness. And "ttft_turn_1", "tpot_turn_1",
/// "e2e_turn_1" .. of up to 16 turns. Of conversations all of whose turns were answered; `turns` that each has: nothing
/// is added for 1.
void add_sessions(const RequestRecords& records, const LoadPlan& plan, std::int64_t turns, double confidence,
                  ScenarioResult& result);

}  // namespace warpmark::serving
