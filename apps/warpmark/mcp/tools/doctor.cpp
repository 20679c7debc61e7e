#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {
namespace {

Result<McpPlan> plan_doctor(const McpArguments&) {
  return McpPlan{.steps = {{"doctor"}, {"doctor", "--json"}}, .json_is_printed = true};
}

}  // namespace

extern const McpTool doctor_tool{
    .id = "doctor",
    .title = "What this machine is",
    .summary =
        "Describes this machine (processor, memory, GPUs, driver, libraries) and judges what disturbs measurements on "
        "it, "
        "with the fix of each. Returns warpmark.doctor/1. Ask it first.",
    .properties = {},
    .changes_nothing = true,
    .answers = "warpmark.doctor/1",
    .plan = plan_doctor,
};

}  // namespace warpmark::apps
