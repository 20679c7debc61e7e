// What the verbs that read profiles must not write over.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile/profile_session.h"

namespace warpmark::apps {

/// Usage error if `output` is one of the files that were named, or that the session was read from where a folder was
/// named: what was recorded once may never be again.
[[nodiscard]] Status check_not_an_input(const std::filesystem::path& output, const std::vector<std::string>& named,
                                        const ProfileSession& session);

}  // namespace warpmark::apps
