// Manual pages from the verbs' tables: man(7) macros, as man, mandoc and groff read them.
#pragma once

#include <string>

#include "warpmark/command.h"

namespace warpmark::apps {

/// warpmark(1): what it is, its verbs, exit codes, files and variables.
[[nodiscard]] std::string man_page();
/// warpmark-VERB(1).
[[nodiscard]] std::string man_page_of(const Command& command);

}  // namespace warpmark::apps
