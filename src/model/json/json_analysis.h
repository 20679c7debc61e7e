// An Analysis as JSON: "warpmark.analysis/1" (docs/schema/analysis.schema.json). Times in seconds but for `step_ms` and
// the
// `_ns` of instants on the timeline's clock; ratios 0..1.
#pragma once

#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/analysis.h"

namespace warpmark {

inline constexpr const char* kAnalysisSchema = "warpmark.analysis/1";
inline constexpr const char* kProfileDiffSchema = "warpmark.profile_diff/1";

/// A non-finite number is our own bug (WM_CHECK), as it has no JSON form.
[[nodiscard]] Json to_json(const Analysis& analysis);
/// The findings of a written analysis, without their events. Data error for another schema and for missing or wrong
/// fields.
[[nodiscard]] Result<std::vector<Finding>> findings_from_json(const Json& json);
/// What changed between two profiles (docs/schema/profile_diff.schema.json).
[[nodiscard]] Json to_json(const ProfileDifference& difference);

}  // namespace warpmark
