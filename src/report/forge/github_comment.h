// The comment on a pull request, whatever it is about: a sentence, a table of what changed, everything else folded
// away.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/comparison.h"

namespace warpmark::report {

struct GithubDigest {
  std::string headline;
  std::string sentence;
  std::string header;                                       ///< of the tables, with the line below it
  std::vector<std::string> notable;                         ///< rows, the worst first
  std::string notice;                                       ///< a paragraph below the table
  std::vector<std::pair<std::string, std::string>> folded;  ///< title and Markdown
  std::vector<std::string> same;                            ///< rows of what did not change
  std::string tag;                                          ///< hidden last line, by which a workflow finds the comment
};

/// At most `limit` bytes. Rows that do not fit are left out, and it says how many.
[[nodiscard]] std::string render_digest(const GithubDigest& digest, std::size_t limit);

/// "Performance regression", ...
[[nodiscard]] const char* headline_of(Verdict verdict);

/// The verdict as a cell of the table: what fails is bold.
[[nodiscard]] std::string verdict_cell(Verdict verdict);

/// "&#8593; +6.2 %": color alone would leave out who cannot see it; the arrow shows the direction of the value.
[[nodiscard]] std::string change_cell(const std::optional<double>& ratio);

/// As escape_markdown; a name with an @ notifies nobody, because a comment splits the mention.
[[nodiscard]] std::string comment_text(std::string_view text);

/// At most 200 bytes: one name must not fill the comment.
[[nodiscard]] std::string cut_short(const std::string& text);

/// "<!-- warpmark-check: main -->". Nothing in `name` ends the HTML comment.
[[nodiscard]] std::string hidden_tag(std::string_view kind, const std::string& name);

/// "::error title=...::text".
[[nodiscard]] std::string annotation(std::string_view level, const std::string& title, const std::string& text);

/// GitHub shows no more annotations of a level and a step.
inline constexpr std::size_t kGithubAnnotations = 10;

}  // namespace warpmark::report
