// One request and its whole answer, waiting for it: for what asks a server now and then. Load is made by serving/.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/connection.h"
#include "http/message.h"
#include "http/url.h"

namespace warpmark::http {

struct Request {
  std::string method = "GET";
  Url url;
  Headers headers;  ///< Host, Content-Length and User-Agent are added
  std::string body;
};

struct Response {
  int status = 0;
  std::string reason;
  Headers headers;
  std::string body;
};

struct RequestOptions {
  double deadline_s = 60;                 ///< for everything, from connecting to the last byte
  std::size_t body_cap_bytes = 64 << 20;  ///< a larger answer is a data error
  std::shared_ptr<const TlsContext> tls;  ///< of https; empty: one that trusts the system's certificates is made
  const std::atomic<bool>* interrupted = nullptr;  ///< once true, the request ends as an environment error
};

/// Any status is an answer; redirects are not followed. Environment error if none comes, data error if it is not HTTP.
[[nodiscard]] Result<Response> request(const Request& request, const RequestOptions& options = {});

/// The same over one connection as long as the server keeps it. Not thread-safe.
class Client {
 public:
  explicit Client(RequestOptions options) : options_(std::move(options)) {}
  [[nodiscard]] Result<Response> send(const Request& request);

 private:
  RequestOptions options_;
  Connection connection_;
  std::string connected_to_;
};

}  // namespace warpmark::http
