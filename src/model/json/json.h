// The waist as JSON: "warpmark.results/1" for a session (docs/schema/results.schema.json) and its parts. Reading
// accepts what writing produced; unknown keys are ignored so that older readers survive newer writers of the same
// version.
//
// What is absent in the model (an empty optional, a text that may be empty, a 0 that stands for "unknown") has no key.
// Doubles are written with as many digits as they need to be read back exactly; 64-bit seeds are decimal texts. A
// failed run is written without metrics and peak: a wrong result has no speed. A non-finite number is our bug.
#pragma once

#include <span>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/cost.h"
#include "model/health.h"
#include "model/machine.h"
#include "model/report.h"
#include "model/run.h"
#include "model/speedup.h"
#include "model/stages.h"

namespace warpmark {

inline constexpr const char* kResultsSchema = "warpmark.results/1";
inline constexpr const char* kDoctorSchema = "warpmark.doctor/1";

[[nodiscard]] Json to_json(const Machine& machine);
[[nodiscard]] Json to_json(const Build& build);
[[nodiscard]] Json to_json(const Ceiling& ceiling);
[[nodiscard]] Json to_json(const Run& run);
[[nodiscard]] Json to_json(const Session& session);
/// A session, with what was found of its runs.
struct Results {
  const Session& session;
  std::vector<RunSpeedUp> speedups;
  std::vector<StagedRun> stages;
  std::vector<SizeFit> sizes;
};
[[nodiscard]] Json to_json(const Results& results);

/// The whole "warpmark.doctor/1" document (docs/schema/doctor.schema.json).
[[nodiscard]] Json doctor_json(const Machine& machine, std::span<const HealthCheck> checks);

/// Data error naming the missing or mistyped key by its path: "runs[3].metrics[0].unit is missing".
[[nodiscard]] Result<Ceiling> ceiling_from_json(const Json& json);
[[nodiscard]] Result<Run> run_from_json(const Json& json);
[[nodiscard]] Result<Session> session_from_json(const Json& json);

}  // namespace warpmark
