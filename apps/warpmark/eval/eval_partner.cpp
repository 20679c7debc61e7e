// Who is asked: a command, or a server.
#include "evaluate/models/command_model.h"
#include "evaluate/models/endpoint_model.h"
#include "warpmark/eval/eval_parts.h"

namespace warpmark::apps {

Result<evaluate::MakeModel> eval_partner(const Context& context, const ParsedOptions& options,
                                         const evaluate::Task& task) {
  if (options.has("--command") == options.has("--endpoint")) {
    return usage_error("who is to answer?",
                       "--endpoint URL of an OpenAI-compatible server, or --command CMD: a program "
                       "that reads requests and writes answers as JSON lines");
  }
  if (options.has("--command")) {
    const std::string command = options.get("--command");
    return evaluate::MakeModel(
        [command]() -> Result<std::unique_ptr<evaluate::Model>> { return evaluate::command_model(command); });
  }
  evaluate::EndpointOptions endpoint;
  WM_ASSIGN(endpoint.url, http::parse_url(options.get("--endpoint")));
  endpoint.model = options.get("--model");
  endpoint.chat = task.generation.chat;
  const std::string variable = options.get("--api-key-env");
  if (!variable.empty()) {
    const char* key = context.environment(variable.c_str());
    if (key == nullptr || *key == '\0') {
      return usage_error("the environment has no variable " + variable, "--api-key-env names the one with the key");
    }
    endpoint.api_key = key;
  }
  return evaluate::MakeModel(
      [endpoint]() -> Result<std::unique_ptr<evaluate::Model>> { return evaluate::endpoint_model(endpoint); });
}

}  // namespace warpmark::apps
