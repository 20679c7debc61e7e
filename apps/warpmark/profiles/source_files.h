// Lines of the source files that findings name.
#pragma once

#include <string>

#include "analyze/recommendations/source_lines.h"
#include "base/result.h"

namespace warpmark::apps {

/// Looks a file up in `folder` by the longest end of its path that exists there, as sources are elsewhere on another
/// machine. Usage error if there is no such folder.
[[nodiscard]] Result<analyze::SourceText> source_lines(const std::string& folder);

}  // namespace warpmark::apps
