// Of many sessions those that are worth a check. A check of a session reads all of its results; nearly all end with
// "same".
#pragma once

#include <set>
#include <string>

#include "validate/guard/check_history.h"
#include "validate/guard/kept_points.h"

namespace warpmark::validate {

/// Those of `wanted` that check_against_history may call better, worse or different in some metric, judged by the kept
/// points alone: where it does, the session is among them. `options.kept` is needed.
[[nodiscard]] std::set<std::string> changed_sessions(const std::set<std::string>& wanted, const CheckOptions& options);

}  // namespace warpmark::validate
