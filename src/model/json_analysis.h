// An Analysis as JSON: "warpmark.analysis/1" (docs/schema/analysis.schema.json). Times in seconds but for `step_ms` and
// the
// `_ns` of instants on the timeline's clock; ratios 0..1.
#pragma once

#include "base/json_fwd.h"
#include "model/analysis.h"

namespace warpmark {

inline constexpr const char* kAnalysisSchema = "warpmark.analysis/1";

/// A non-finite number is our own bug (WM_CHECK), as it has no JSON form.
[[nodiscard]] Json to_json(const Analysis& analysis);
[[nodiscard]] Json to_json(const Finding& finding);
[[nodiscard]] Json to_json(const AnalysisTable& table);

}  // namespace warpmark
