// The database of a verb: --db, WARPMARK_DB or the default place.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/options.h"
#include "base/result.h"
#include "model/run.h"
#include "store/running.h"
#include "store/store.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// A path, or the URL of a PostgreSQL database.
[[nodiscard]] Result<std::string> store_location(const Context& context, const ParsedOptions& options);

[[nodiscard]] Result<std::unique_ptr<store::Store>> open_store(const Context& context, const ParsedOptions& options);
/// To read it alone: one that we may not write will do.
[[nodiscard]] Result<std::unique_ptr<store::Store>> open_to_read(const Context& context, const ParsedOptions& options);

/// A stored session with the unfinished rounds merged and ceilings and peaks attached: what it would have shown itself.
[[nodiscard]] Result<Session> load_session(store::Store& store, const std::string& id);

/// A session from a results file (see result_files.h) or from the store (an id, a beginning of one, "last").
[[nodiscard]] Result<Session> load_results(const Context& context, const ParsedOptions& options,
                                           const std::string& what);

/// The stored sessions that a verdict is about.
struct About {
  std::vector<std::string> sessions;  ///< ids; those that are not stored are passed over
  std::string commit;                 ///< the first session of it: with which its change of level begins
};

/// Keeps a verdict with the sessions that it is about. It stands whatever becomes of that: what goes wrong is said on
/// stderr. Makes no database.
void remember_verdict(const Context& context, const ParsedOptions& options, const About& about, const Json& report,
                      const std::string& title);

/// Beside the database. Nothing, and a warning, where it cannot be made: measuring does not depend on it.
[[nodiscard]] std::optional<store::RunningMark> running_mark(Context& context, const ParsedOptions& options,
                                                             const Session& session);

}  // namespace warpmark::apps
