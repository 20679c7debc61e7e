// Which programs and frameworks of others are installed, in what version, and what each of them adds here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/health.h"

namespace warpmark::apps {

/// What `words` prints; empty if it cannot be started.
using AskTool = std::function<std::string(const std::vector<std::string>& words)>;

/// nsys, ncu, dcgmi, MPI, NCCL, PyTorch, JAX. A missing one is no fault: its check is information.
[[nodiscard]] std::vector<HealthCheck> tool_checks(const AskTool& ask);

/// Starts it, with a deadline.
[[nodiscard]] std::string ask_tool(const std::vector<std::string>& words);

}  // namespace warpmark::apps
