// Why a Python process of the program has not loaded the hook.
#pragma once

#include <string>

namespace warpmark::workers {

/// Looks at the Python processes among our descendants: "PYTHONPATH was replaced ...", "python -I ignores ..."; empty
/// where there is none, as in a shell script that has not started Python yet, or no reason can be seen.
[[nodiscard]] std::string why_unheard(const std::string& hook_folder);

}  // namespace warpmark::workers
