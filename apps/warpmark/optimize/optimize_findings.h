// The findings that a search starts from: of an analysis that was written, or of profiles that are analyzed now.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/finding.h"

namespace warpmark::apps {

/// `files`: one JSON of `warpmark analyze --json`, or whatever `warpmark analyze` reads. Data error where nothing was
/// found.
[[nodiscard]] Result<std::vector<Finding>> findings_in(const std::vector<std::string>& files);

}  // namespace warpmark::apps
