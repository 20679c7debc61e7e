// The tools, in the order in which agents see them: the same every time, so that their lists can be cached.
#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {

#define WARPMARK_MCP_TOOLS(X) X(doctor) X(run) X(profile) X(analyze) X(query) X(compare) X(check) X(optimize) X(history)

#define WARPMARK_DECLARE_TOOL(name) extern const McpTool name##_tool;
WARPMARK_MCP_TOOLS(WARPMARK_DECLARE_TOOL)
#undef WARPMARK_DECLARE_TOOL

Catalog<McpTool> mcp_tools() {
#define WARPMARK_TOOL_ROW(name) &name##_tool,
  static constexpr const McpTool* kTools[] = {WARPMARK_MCP_TOOLS(WARPMARK_TOOL_ROW)};
#undef WARPMARK_TOOL_ROW
  return kTools;
}

}  // namespace warpmark::apps
