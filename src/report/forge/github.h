// A verdict where GitHub shows it: the comment on a pull request, the summary of a job, annotations.
// https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
#pragma once

#include <cstddef>
#include <string>

#include "model/check.h"
#include "model/comparison.h"

namespace warpmark::report {

/// GitHub refuses longer comments; the limit is counted here in bytes, which is never more than it allows.
inline constexpr std::size_t kGithubCommentLimit = 65'536;

/// Markdown: a sentence, a table of what is not unchanged, everything else folded away, and as the last line a hidden
/// tag by which a workflow finds the comment to update. Rows that do not fit are left out, and it says how many.
[[nodiscard]] std::string render_github_comment(const Check& check, std::size_t limit = kGithubCommentLimit);
[[nodiscard]] std::string render_github_comment(const Comparison& comparison, std::size_t limit = kGithubCommentLimit);

/// "<!-- warpmark-check: main -->".
[[nodiscard]] std::string github_tag(const Check& check);

/// "::error ...", "::warning ..." lines, the worst first: at most ten of each, as GitHub shows no more of a step.
[[nodiscard]] std::string github_annotations(const Check& check);
[[nodiscard]] std::string github_annotations(const Comparison& comparison);

}  // namespace warpmark::report
