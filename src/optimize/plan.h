// plan.yaml: the settings that were proven, to run with (`warpmark optimize --apply plan.yaml -- CMD`).
//
//   schema: warpmark.optimize-plan/1
//   program: python train.py
//   speedup: 2.1x (1.9 to 2.3)
//   settings: {loader.workers: 4, channels_last: on}
//   knobs: [...]                      # the user's own, as in optimize.yaml
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/optimization.h"
#include "optimize/apply/program.h"
#include "optimize/knob.h"
#include "optimize/user_knob.h"

namespace warpmark::optimize {

inline constexpr const char* kPlanSchema = "warpmark.optimize-plan/1";

struct Plan {
  std::string program;
  std::string speedup;
  Settings settings;
  std::vector<UserKnob> user_knobs;
};

[[nodiscard]] std::string plan_yaml(const Optimization& optimization, const std::vector<UserKnob>& user_knobs);

/// Data error with the line for unknown knobs, with a suggestion.
[[nodiscard]] Result<Plan> parse_plan(std::string_view yaml, std::string_view file_name);

// A job that runs the program with its plan: environment and command, as a Kubernetes Job and as a custom job of Vertex
// AI. What an image must have beside them (a patch, a value in a file, warpmark for the hook) stands at their top.

[[nodiscard]] Result<std::string> job_yaml(const Optimization& optimization, const Program& program);
[[nodiscard]] Result<std::string> vertex_yaml(const Optimization& optimization, const Program& program);

/// The kept settings of an optimization.
[[nodiscard]] Settings plan_of(const Optimization& optimization);

/// A setting that the user named and that is not in the plan, nor another value of it: the gravest reason first. Null
/// if there is none, and where that is undecided.
[[nodiscard]] const OptimizationStep* refused_request(const Optimization& optimization);

/// 0: something was gained, or nothing is to be gained; 1: a knob that the user named did not hold; 3: undecided; 4: a
/// knob that the user named changes the answers; 5: unreliable.
[[nodiscard]] int outcome_code(const Optimization& optimization);

}  // namespace warpmark::optimize
