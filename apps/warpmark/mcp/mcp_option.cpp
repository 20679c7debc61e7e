#include <algorithm>

#include "warpmark/command.h"
#include "warpmark/mcp/mcp_tool.h"

namespace warpmark::apps {

const OptionSpec& option_of_verb(const char* verb, const std::string& name) {
  const auto options = find_in(commands(), verb)->options;
  const auto option = std::ranges::find_if(options, [&](const OptionSpec& one) { return one.name == name; });
  WM_CHECK(option != options.end());
  return *option;
}

}  // namespace warpmark::apps
