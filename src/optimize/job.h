// A job that runs the program with its plan: environment and command, as a Kubernetes Job, which Vertex AI's and other
// schedulers' worker pools spell nearly alike.
#pragma once

#include <string>

#include "base/result.h"
#include "model/journey.h"
#include "optimize/apply/program.h"

namespace warpmark::optimize {

[[nodiscard]] Result<std::string> job_yaml(const Journey& journey, const Program& program);

}  // namespace warpmark::optimize
