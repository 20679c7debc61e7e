#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {
namespace {

constexpr McpProperty kAnalyze[] = {
    {"paths", McpKind::paths, "profiles: PyTorch or JAX traces, nsys, ncu, recordings; several are ranks of one run",
     "", true},
    {"against", McpKind::path, "an earlier profile: shows what got slower instead (warpmark.profile_diff/1)",
     "--against"},
    {"top", McpKind::whole, "findings that the text shows in full", "--top"},
};

Result<McpPlan> plan_analyze(const McpArguments& arguments) {
  auto words = mcp_words("analyze", kAnalyze, arguments);
  words.push_back(std::string("--json=") + kMcpJsonFile);
  for (const auto& path : arguments.texts("paths")) words.push_back(path);
  return McpPlan{.steps = {words}};
}

}  // namespace

extern const McpTool analyze_tool{
    .id = "analyze",
    .title = "Diagnose a profile",
    .summary =
        "Reads profiles of GPU programs, gives every nanosecond of a step to one cause, and names the bottlenecks with "
        "evidence, advice and what fixing them gains. Returns warpmark.analysis/1. Needs no GPU.",
    .properties = kAnalyze,
    .changes_nothing = true,
    .answers = "warpmark.analysis/1 warpmark.profile_diff/1",
    .plan = plan_analyze,
};

}  // namespace warpmark::apps
