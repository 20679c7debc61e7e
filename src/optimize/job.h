// A job that runs the program with its plan: environment and command, as a Kubernetes Job and as a custom job of Vertex
// AI. What an image must have beside them (a patch, a value in a file, warpmark for the hook) stands at their top.
#pragma once

#include <string>

#include "base/result.h"
#include "model/optimization.h"
#include "optimize/apply/program.h"

namespace warpmark::optimize {

[[nodiscard]] Result<std::string> job_yaml(const Optimization& optimization, const Program& program);
[[nodiscard]] Result<std::string> vertex_yaml(const Optimization& optimization, const Program& program);

}  // namespace warpmark::optimize
