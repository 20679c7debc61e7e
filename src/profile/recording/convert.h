// A session as one of warpmark's own recordings: the smallest of the formats, and the fastest to read.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "model/profile/profile_session.h"
#include "profile/writer.h"

namespace warpmark::profile {

extern const Writer kRecordingFormat;

/// Adds the kernel profiles of a session to a recording that `warpmark profile` wrote, which stays as it was if
/// anything fails.
[[nodiscard]] Status add_kernels(const ProfileSession& session, const std::filesystem::path& recording);

}  // namespace warpmark::profile
