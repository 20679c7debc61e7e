// Recorded runs beside the timed ones of `warpmark scale`: why the efficiency is what it is.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "validate/scaling/scaling.h"
#include "warpmark/command.h"
#include "warpmark/scaling/scale_runs.h"

namespace warpmark::apps {

/// "2=rank0.json" and the like: files by number of workers, several of one number together. Usage error.
[[nodiscard]] Result<std::map<int, std::vector<std::filesystem::path>>> profiles_given(
    const std::vector<std::string>& texts, const std::vector<int>& workers);

/// What these files say of a run with so many workers; a problem, where they say nothing.
[[nodiscard]] validate::ProfiledRun read_profile(int workers, const std::vector<std::filesystem::path>& files);

/// Runs the command once with each number of workers under the recorder. Recordings stay in `folder` as 2.wmrec beside
/// what the program printed (2.log). One that cannot be recorded is a problem of its number, and no error.
[[nodiscard]] Result<std::vector<validate::ProfiledRun>> record_profiles(Context& context, const ScaleRequest& request,
                                                                         const collectives::LaunchPlace& place,
                                                                         const std::filesystem::path& folder);

}  // namespace warpmark::apps
