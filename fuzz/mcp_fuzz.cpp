// Messages to `warpmark mcp`: any bytes are refused with a code or are a message, and the arguments of a call either
// fit the tool's schema, and then give command lines in which only allowed commands follow "--", or are refused with a
// text.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "warpmark/mcp/mcp_messages.h"
#include "warpmark/mcp/mcp_tool.h"

namespace {

warpmark::apps::McpConfig tried_config() {
  auto config = warpmark::apps::default_mcp_config("/");
  if (!config) std::abort();
  config->folders = {"/no/such/folder"};
  config->out = "/tmp";
  config->commands = {{.name = "q", .run = {"allowed", "{n}"}, .settings = {{"n", {"1", "2"}}}}};
  return *config;
}

void expect_allowed(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i - 1] == "--" && words[i] != "allowed") std::abort();
    if (words[i].starts_with("--plugin") || words[i].starts_with("--shell")) std::abort();
  }
}

}  // namespace

/// Without the verbs: an option of some form, always the same for a name.
const warpmark::OptionSpec& warpmark::apps::option_of_verb(const char* /*verb*/, const std::string& name) {
  static std::map<std::string, OptionSpec> options;
  constexpr const char* kForms[] = {"", "N", "TIME", "FILE", "RUN", "TEXT"};
  const auto at = options.try_emplace(name).first;
  at->second = {at->first.c_str(), kForms[name.size() % std::size(kForms)], "an option"};
  return at->second;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace warpmark::apps;
  static const McpConfig config = tried_config();
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const auto read = read_rpc_message(line);
  if (const auto* refusal = std::get_if<RpcRefusal>(&read)) {
    if (!refusal->answer.contains("error")) std::abort();
    return 0;
  }
  const auto& message = std::get<RpcMessage>(read);
  const auto name = message.params.value("name", warpmark::Json());
  for (const McpTool* tool : mcp_tools()) {
    if (!name.is_string() || name.get<std::string>() != tool->id) continue;
    const auto arguments =
        read_mcp_arguments(*tool, message.params.value("arguments", warpmark::Json::object()), config);
    if (!arguments) continue;
    const auto plan = tool->plan(*arguments);
    if (!plan) continue;
    for (const auto& step : plan->steps) expect_allowed(step);
  }
  return 0;
}
