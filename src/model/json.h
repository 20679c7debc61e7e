// The waist as JSON: "warpmark.results/1" for a session (docs/schema/results.schema.json) and its parts. Reading accepts
// what writing produced; unknown keys are ignored so that older readers survive newer writers of the same version.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "model/machine.h"
#include "model/report.h"
#include "model/run.h"

namespace warpmark {

inline constexpr const char* kResultsSchema = "warpmark.results/1";
inline constexpr const char* kDoctorSchema = "warpmark.doctor/1";

[[nodiscard]] Json to_json(const Machine& machine);
[[nodiscard]] Json to_json(const Build& build);
[[nodiscard]] Json to_json(const Run& run);
[[nodiscard]] Json to_json(const Session& session);

/// Data error naming the missing or mistyped key.
[[nodiscard]] Result<Machine> machine_from_json(const Json& json);
[[nodiscard]] Result<Build> build_from_json(const Json& json);
[[nodiscard]] Result<Run> run_from_json(const Json& json);
[[nodiscard]] Result<Session> session_from_json(const Json& json);

}  // namespace warpmark
