// Files beside a profile: what must not be overwritten, and the sources that findings name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analyze/recommendations/source_lines.h"
#include "base/result.h"
#include "model/profile/profile_session.h"

namespace warpmark::apps {

/// Looks a file up in `folder` by the longest end of its path that exists there, as sources are elsewhere on another
/// machine. Usage error if there is no such folder.
[[nodiscard]] Result<analyze::SourceText> source_lines(const std::string& folder);

/// Usage error if `output` is one of the files that were named, or that the session was read from where a folder was
/// named: what was recorded once may never be again.
[[nodiscard]] Status check_not_an_input(const std::filesystem::path& output, const std::vector<std::string>& named,
                                        const ProfileSession& session);

}  // namespace warpmark::apps
