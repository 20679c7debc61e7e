// Where the results of a session go besides the database: --json, --out.
#pragma once

#include <filesystem>
#include <string>

#include "base/options.h"
#include "base/result.h"
#include "model/run.h"

namespace warpmark::apps {

/// Environment error if a file could not be written there: no such folder, no permission, or it is a folder itself.
[[nodiscard]] Status check_writable(const std::filesystem::path& path);

/// The same for a folder, which need not be there; the one above it must.
[[nodiscard]] Status check_output_folder(const std::filesystem::path& folder);

/// Finds out before the measurement, not after it, that --json or --out could not be written.
[[nodiscard]] Status check_outputs(const ParsedOptions& options);

/// Usage error unless a session can be shown in this format.
[[nodiscard]] Status check_session_format(const std::string& format);

[[nodiscard]] Status write_session_files(const ParsedOptions& options, const Session& session);

/// Two lines: what it is stored as and how to see it again.
[[nodiscard]] std::string stored_note(const std::string& session_id);

}  // namespace warpmark::apps
