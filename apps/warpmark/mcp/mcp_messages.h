// Messages of JSON-RPC 2.0 as the Model Context Protocol uses it: one JSON object a line, requests with a text or whole
// number as id, no batches. Pure. Source: modelcontextprotocol.io/specification/2026-07-28/basic and jsonrpc.org.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"

namespace warpmark::apps {

/// Codes of JSON-RPC 2.0 and, last, of the Model Context Protocol.
enum RpcCode : int {
  kNoJson = -32700,
  kInvalidRequest = -32600,
  kUnknownMethod = -32601,
  kInvalidParams = -32602,
  kUnsupportedVersion = -32022,
};

/// Longest line that is read.
inline constexpr std::size_t kLongestMessage = 1 << 20;

struct RpcMessage {
  Json id;             ///< of a request; null for a notification
  std::string method;  ///< empty for an answer, of which a server expects none
  Json params = Json::object();
  [[nodiscard]] bool is_request() const { return !id.is_null(); }
};

/// What is answered to a line that is no message: a whole answer with `error`.
struct RpcRefusal {
  Json answer;
};

[[nodiscard]] std::variant<RpcMessage, RpcRefusal> read_rpc_message(std::string_view line);

[[nodiscard]] Json rpc_answer(const Json& id, Json result);
[[nodiscard]] Json rpc_failure(const Json& id, int code, const std::string& what, Json data = nullptr);
[[nodiscard]] Json rpc_notification(const std::string& method, Json params);

}  // namespace warpmark::apps
