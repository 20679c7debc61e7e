// What is kept in a store next to single runs: whole sessions from elsewhere, any number of times with one effect, and
// reports of verbs as documents of the session that they are about.
#pragma once

#include <cstdint>
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

struct KeptSession {
  std::int64_t added = 0;  ///< runs that were not there
  std::int64_t known = 0;  ///< runs that were
};

/// Stores what of the session is not stored yet, in transactions of `batch` runs: after a kill the next call goes on
/// where it ended, and two processes may do it at once. Data error if the store has a session of this id with other
/// results.
[[nodiscard]] Result<KeptSession> keep_session(Store& store, const Session& session, std::size_t batch = 500);

}  // namespace warpmark::store
