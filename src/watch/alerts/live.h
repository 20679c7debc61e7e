// Rules over what this machine does now, as `warpmark exporter` tells it. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "watch/alerts/rules.h"
#include "watch/alerts/state.h"
#include "watch/exporter/families.h"

namespace warpmark::watch {

/// `seen` are the series of this rule that were there before; kept up to date. One that does not come back within a
/// week is forgotten.
[[nodiscard]] Evaluation evaluate_live(const AlertRule& rule, const std::vector<Family>& families, double watch_s,
                                       std::map<std::string, SeenSeries>& seen);

/// "91 is above 85 degC" and the like: the value, the word, the limit with its unit.
[[nodiscard]] std::string compared_text(double value, RuleCondition condition, const std::string& limit,
                                        const std::string& unit);

}  // namespace warpmark::watch
