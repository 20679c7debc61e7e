// `warpmark analyze --query`: one's own question to a profile, in SQL.
#pragma once

#include <string>

#include "base/result.h"
#include "model/profile/profile_session.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Prints the rows as a table, or as a JSON array of objects with `format` "json".
[[nodiscard]] Result<int> print_query(Context& context, const ProfileSession& session, const std::string& sql,
                                      const std::string& format);

}  // namespace warpmark::apps
