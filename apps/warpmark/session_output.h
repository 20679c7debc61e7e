// Where the results of a session go besides the database: --json, --out.
#pragma once

#include "base/options.h"
#include "base/result.h"
#include "model/run.h"

namespace warpmark::apps {

/// Finds out before the measurement, not after it, that a result could not be written.
[[nodiscard]] Status check_outputs(const ParsedOptions& options);

[[nodiscard]] Status write_session_files(const ParsedOptions& options, const Session& session);

}  // namespace warpmark::apps
