// Texts from the verbs' tables: help for the terminal, docs/cli/<verb>.md, and manual pages in the man(7) macros that
// man, mandoc and groff read.
#pragma once

#include <string>

#include "warpmark/command.h"

namespace warpmark::apps {

/// A name and what it means, wrapped below itself.
[[nodiscard]] std::string help_row(const std::string& name, const std::string& help, std::size_t name_width, int width);
[[nodiscard]] std::string wrapped_text(const std::string& text, int width);

[[nodiscard]] std::string general_help(int width);
[[nodiscard]] std::string help_of(const Command& command, int width);
[[nodiscard]] std::string markdown_of(const Command& command);
[[nodiscard]] std::string version_text();

/// "warpmark: what" and, indented, the hint, each of as many lines as it has. Lines are broken between words to fit
/// `width` columns, without control characters; as it is if `width` is 0, for files and other programs. Paths are never
/// cut.
[[nodiscard]] std::string error_text(const Error& error, int width);

/// warpmark(1): what it is, its verbs, exit codes, files and variables.
[[nodiscard]] std::string man_page();
/// warpmark-VERB(1).
[[nodiscard]] std::string man_page_of(const Command& command);

}  // namespace warpmark::apps
