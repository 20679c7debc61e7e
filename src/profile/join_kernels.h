// Joins what a kernel profiler measured of single launches to the launches of a timeline: by the kernel's name, its
// grid and block, and its number among the launches that share them. A kernel profiler runs the program a second time
// and skips some launches, so that the number is taken modulo what the timeline has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/profile/profile_session.h"

namespace warpmark::profile {

/// Sets `rank` and `event` of every kernel profile that fits a launch, of the first rank that has one.
void join_kernels(ProfileSession& session);

/// Nsight Compute prints what it measured on several pages, and each may come from a run of its own. Where the session
/// has these launches already, one for one, measured in other metrics or in the same process, they are no further ones:
/// gives the session what it lacks of them and leaves `kernels` empty.
void join_pages(ProfileSession& session, std::vector<KernelProfile>& kernels);

/// "ns::gemm" of "void ns::gemm<float, 4>(float*, (anonymous namespace)::Shape)": what all tools spell alike.
[[nodiscard]] std::string qualified_name(std::string_view kernel);

}  // namespace warpmark::profile
