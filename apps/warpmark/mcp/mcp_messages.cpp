#include "warpmark/mcp/mcp_messages.h"

#include <utility>

namespace warpmark::apps {
namespace {

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

}  // namespace

std::variant<RpcMessage, RpcRefusal> read_rpc_message(std::string_view line) {
  const auto refuse = [](int code, const std::string& what, const Json& id = nullptr) {
    return RpcRefusal{rpc_failure(is_id(id) ? id : Json(), code, what)};
  };
  if (line.size() > kLongestMessage) return refuse(kInvalidRequest, "the message is longer than 1 MiB");
  const auto json = parse_json(line, "message");
  if (!json.ok()) return refuse(kNoJson, json.error().what);
  if (json->is_array()) return refuse(kInvalidRequest, "batches are no part of the protocol versions spoken here");
  if (!json->is_object()) return refuse(kInvalidRequest, "a message is a JSON object");
  const Json id = json->value("id", Json());
  if (json->value("jsonrpc", Json()) != "2.0") return refuse(kInvalidRequest, "\"jsonrpc\" must be \"2.0\"", id);
  if (json->contains("id") && !is_id(id) && json->contains("method")) {
    return refuse(kInvalidRequest, "\"id\" must be a text or a whole number");
  }
  if (!json->contains("method") && (json->contains("result") || json->contains("error"))) return RpcMessage{};
  const Json method = json->value("method", Json());
  if (!method.is_string()) return refuse(kInvalidRequest, "\"method\" must be a text", id);
  Json params = json->value("params", Json::object());
  if (!params.is_object()) return refuse(kInvalidRequest, "\"params\" must be an object", id);
  return RpcMessage{id, method.get<std::string>(), std::move(params)};
}

Json rpc_answer(const Json& id, Json result) { return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}; }

Json rpc_failure(const Json& id, int code, const std::string& what, Json data) {
  Json error{{"code", code}, {"message", what}};
  if (!data.is_null()) error["data"] = std::move(data);
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}};
}

Json rpc_notification(const std::string& method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

}  // namespace warpmark::apps
