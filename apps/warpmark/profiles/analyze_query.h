// `warpmark analyze --query`: one's own question to a profile, in SQL.
#pragma once

#include "base/result.h"
#include "model/profile/profile_session.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// What --query asks, limited by --max-rows and --max-bytes: as a table, or as JSON.
[[nodiscard]] Result<int> print_query(Context& context, const ProfileSession& session, const ParsedOptions& options);

}  // namespace warpmark::apps
