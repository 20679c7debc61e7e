// From paths to a session: chooses the reader of each file by its content, joins the ranks, and refuses what is no
// profile with what it looks like and what to do.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile/profile_session.h"
#include "profile/catalog.h"

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
[[nodiscard]] Refusal inspect(std::string_view head);

/// Joins what a kernel profiler measured of single launches to the launches of a timeline: by the kernel's name, its
/// grid and block, and its number among the launches that share them. A kernel profiler runs the program a second time
/// and skips some launches, so that the number is taken modulo what the timeline has.
/// Sets `rank` and `event` of every kernel profile that fits a launch, of the first rank that has one.
void join_kernels(ProfileSession& session);

/// Nsight Compute prints what it measured on several pages, and each may come from a run of its own. Where the session
/// has these launches already, one for one, measured in other metrics or in the same process, they are no further ones:
/// gives the session what it lacks of them and leaves `kernels` empty.
void join_pages(ProfileSession& session, std::vector<KernelProfile>& kernels);

/// "ns::gemm" of "void ns::gemm<float, 4>(float*, (anonymous namespace)::Shape)": what all tools spell alike.
[[nodiscard]] std::string qualified_name(std::string_view kernel);

}  // namespace warpmark::profile
