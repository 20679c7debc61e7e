// A session as one of warpmark's own recordings: the smallest of the formats, and the fastest to read.
#pragma once

#include <filesystem>
#include <span>

#include "base/result.h"
#include "model/profile/profile_session.h"
#include "profile/catalog.h"

namespace warpmark::profile {

extern const Writer kRecordingFormat;

/// Adds the kernel profiles of a session to a recording that `warpmark profile` wrote, which stays as it was if
/// anything fails.
[[nodiscard]] Status add_kernels(const ProfileSession& session, const std::filesystem::path& recording);

}  // namespace warpmark::profile

// Joins the parts that the processes of a program wrote into one recording, packed with zstandard (RFC 8878).

namespace warpmark::profile::recording {

/// Of each part its whole chunks: what a killed process left half written is cut off, so that the parts after it can be
/// read. Written beside `to` and renamed. Environment error if a file cannot be read or written.
[[nodiscard]] Status join_parts(std::span<const std::filesystem::path> parts, const std::filesystem::path& to);

/// Adds a part to a recording that was joined before. As above; `to` stays as it was if anything fails.
[[nodiscard]] Status append_part(const std::filesystem::path& part, const std::filesystem::path& to);

}  // namespace warpmark::profile::recording
