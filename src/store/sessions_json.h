// Lists of sessions as JSON: "warpmark.sessions/1" (docs/schema/sessions.schema.json).
#pragma once

#include <vector>

#include "base/json_fwd.h"
#include "store/store.h"

namespace warpmark::store {

inline constexpr const char* kSessionsSchema = "warpmark.sessions/1";

[[nodiscard]] Json to_json(const SessionSummary& session);
[[nodiscard]] Json sessions_json(const std::vector<SessionSummary>& sessions);

}  // namespace warpmark::store
