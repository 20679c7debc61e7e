// An HTTP/1.1 server that answers GET and HEAD from one thread (Boost.Beast). Made for a network in which clients may
// be slow, many or hostile: a request has 10 s and 16 KiB of header, has no body, and a fixed number of connections is
// open at a time; more of them are answered 503.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"

namespace warpmark::watch {

struct Answer {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

struct Asked {
  std::string path;    ///< without the query: "/metrics"
  std::string accept;  ///< the Accept header; empty without one
};
using Handler = std::function<Answer(const Asked&)>;

struct ServerOptions {
  std::string host = "127.0.0.1";  ///< a numeric address
  std::uint16_t port = 0;          ///< 0: a free one
  /// With one, every request needs it: as "Authorization: Bearer TOKEN", or as the password of basic authentication.
  std::string token;
  std::size_t most_connections = 256;
  double request_deadline_s = 10;
};

class Server {
 public:
  /// Answers until it is destroyed. `handler` is called on the server's thread, one call at a time. Usage error for an
  /// address that is none, or one beyond loopback without a token; environment error if the port is taken.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// "http://127.0.0.1:40123/".
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::uint16_t port() const;

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace warpmark::watch
