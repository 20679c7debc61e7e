// What a step of a GitHub workflow says besides its output: annotations, and the summary of the job.
#pragma once

#include <string>

#include "base/result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Annotations go to stderr, where GitHub reads them too, so that stdout is the comment alone. The comment is added to
/// the file that GITHUB_STEP_SUMMARY names. Environment error if that cannot be written.
[[nodiscard]] Status annotate_step(Context& context, const std::string& annotations, const std::string& comment);

}  // namespace warpmark::apps
