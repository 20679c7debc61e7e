// The exit code of `warpmark load run`.
#pragma once

#include "serving/results/load_result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// The gravest that holds for any load; the reason names the first of these.
[[nodiscard]] int load_exit_code(Context& context, const serving::LoadReport& report, bool interrupted);

}  // namespace warpmark::apps
