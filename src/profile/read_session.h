// From paths to a session: chooses the reader of each file by its content, joins the ranks, and refuses what is no
// profile with what it looks like and what to do.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile/profile_session.h"
#include "profile/trace_reader.h"

namespace warpmark::profile {

/// Files and folders (not looked into recursively; files in a folder that are no profiles are left out and counted). A
/// rank comes from the file's content, else from its name ("rank3"), else from the order of the paths.
/// Errors: data for a file that is no profile or holds nothing; environment for one that cannot be read.
[[nodiscard]] Result<ProfileSession> read_session(std::span<const std::filesystem::path> paths,
                                                  const ReadOptions& options = {});

/// One file that is open already, or in memory.
[[nodiscard]] Result<ProfileSession> read_source(ByteSource& source, const ReadOptions& options = {});

/// What the first bytes of a file look like that no reader takes, and what to do: "a web page" / "download the raw
/// file".
struct Refusal {
  std::string what;
  std::string hint;
};
[[nodiscard]] Refusal look_at(std::string_view head);

}  // namespace warpmark::profile
