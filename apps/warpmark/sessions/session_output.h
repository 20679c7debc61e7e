// Where the results of a session go besides the database: --json, --out.
#pragma once

#include <string>

#include "base/files.h"
#include "base/options.h"
#include "base/result.h"
#include "model/run.h"

namespace warpmark::apps {

/// Finds out before the measurement, not after it, that --json or --out could not be written.
[[nodiscard]] Status check_outputs(const ParsedOptions& options);

/// Usage error unless a session can be shown in this format.
[[nodiscard]] Status check_session_format(const std::string& format);

[[nodiscard]] Status write_session_files(const ParsedOptions& options, const Session& session);

/// Two lines: what it is stored as and how to see it again.
[[nodiscard]] std::string stored_note(const std::string& session_id);

}  // namespace warpmark::apps
