// A whole session from elsewhere into the store, any number of times with one effect.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/store.h"

namespace warpmark::store {

struct KeptSession {
  std::int64_t added = 0;  ///< runs that were not there
  std::int64_t known = 0;  ///< runs that were
};

/// Stores what of the session is not stored yet, in transactions of `batch` runs: after a kill the next call goes on
/// where it ended, and two processes may do it at once. Data error if the store has a session of this id with other
/// results.
[[nodiscard]] Result<KeptSession> keep_session(Store& store, const Session& session, std::size_t batch = 500);

}  // namespace warpmark::store
