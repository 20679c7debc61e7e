// A report of a verb as a document of the session that it is about.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "store/queries.h"
#include "store/store.h"

namespace warpmark::store {

/// Of the kind that its schema names, made now. Internal error for JSON without a schema of ours.
[[nodiscard]] Result<Document> document_of(const Json& report, const std::string& title);

/// Keeps it with that session.
[[nodiscard]] Status attach_report(Store& store, const std::string& session_id, const Json& report,
                                   const std::string& title);

inline constexpr const char* kSessionsSchema = "warpmark.sessions/1";

[[nodiscard]] Json to_json(const SessionSummary& session);
[[nodiscard]] Json sessions_json(const std::vector<SessionSummary>& sessions);

}  // namespace warpmark::store
