#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {
namespace {

constexpr McpProperty kOptimize[] = {
    {"command", McpKind::command, "the training or inference program", "", true},
    {"settings", McpKind::settings, "values for the settings of the command"},
    {"only", McpKind::names},
    {"skip", McpKind::names},
    {"effect"},
    {"rounds"},
    {"steps"},
    {"budget"},
};

Result<McpPlan> plan_optimize(const McpArguments& arguments) {
  WM_ASSIGN(const auto command, arguments.command());
  auto words = mcp_words("optimize", kOptimize, arguments);
  words.push_back(std::string("--json=") + kMcpJsonFile);
  add_command(words, command);
  return McpPlan{.steps = {words}};
}

}  // namespace

extern const McpTool optimize_tool{
    .id = "optimize",
    .title = "Find and prove what makes a program faster",
    .summary =
        "Tries what could make a PyTorch program faster (loader workers, precision, compiling, ...) without editing "
        "it, "
        "and keeps what is proven faster with the same answers. Returns warpmark.optimization/1. Takes many runs.",
    .properties = kOptimize,
    .changes_nothing = false,
    .answers = "warpmark.optimization/1",
    .plan = plan_optimize,
};

}  // namespace warpmark::apps
