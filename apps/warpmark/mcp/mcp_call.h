// One call of a tool: the command lines of its plan as processes of their own, whose whole offspring is gone when the
// call is over.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {

struct McpOutcome {
  bool failed = false;  ///< there is no result; `text` says why and what to do
  std::string text;     ///< short, for people and models
  Json json;            ///< null if failed
  int exit_code = 0;    ///< of warpmark: 1, 3, 4 and 5 are answers, too (docs/cli/exit-codes.md)
};

struct McpCallOptions {
  std::string executable;  ///< warpmark
  std::function<bool()> should_stop;
  /// Seconds since the call began, and what it prints last; about once a second.
  std::function<void(double elapsed_s, const std::string& message)> progress;
};

[[nodiscard]] McpOutcome call_mcp_tool(const McpTool& tool, const Json& arguments, const McpConfig& config,
                                       const McpCallOptions& options);

}  // namespace warpmark::apps
