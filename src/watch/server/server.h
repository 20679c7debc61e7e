// An HTTP/1.1 server that answers GET and HEAD (Boost.Beast), with TLS if it is given a certificate. Made for a network
// in which clients may be slow, many or hostile: a request has 10 s and 16 KiB of header, has no body, and a fixed
// number of connections is open at a time; more of them are answered 503. All connections live on one thread; handlers
// run on others, so that one that takes long holds up no other client.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace warpmark::watch {

struct Answer {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string policy = "default-src 'none'";  ///< Content-Security-Policy
  bool events = false;  ///< keep the connection and send what publish() is given (server-sent events)
};

struct Asked {
  std::string path;     ///< without the query, as sent: "/metrics"
  std::string accept;   ///< the Accept header; empty without one
  std::string query{};  ///< behind the '?', as sent
};
using Handler = std::function<Answer(const Asked&)>;

struct ServerOptions {
  std::string host = "127.0.0.1";  ///< an address, or a name such as localhost
  std::uint16_t port = 0;          ///< 0: a free one
  /// With one, every request needs it: as "Authorization: Bearer TOKEN", or as the password of basic authentication.
  std::string token{};
  std::string certificate_file{};  ///< PEM, the chain; with it and its key the server speaks TLS only
  std::string key_file{};
  bool needs_tls = false;     ///< refuses to listen beyond loopback without a certificate
  bool checks_names = false;  ///< on loopback without a token: refuses requests that name another host
  std::size_t handlers = 1;   ///< threads that call the handler; above 1 it must be thread safe
  std::size_t most_connections = 256;
  std::size_t most_streams = 256;  ///< connections that are sent events
  double request_deadline_s = 10;  ///< of a request; and of each answer, or event, to be taken
};

class Server {
 public:
  /// Answers until it is destroyed. Usage error for an address that is none, one beyond loopback without a token (or
  /// without TLS where that is asked for), or a certificate that cannot be used; environment error if the port is
  /// taken.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Sends one event, a text of one line, to all that listen. Who has not taken the one before yet gets the newest
  /// later, and misses those in between; who listens from now on gets it first. Any thread.
  void publish(const std::string& data);
  /// Connections that are sent events. Any thread.
  [[nodiscard]] std::size_t streams() const;

  /// "http://127.0.0.1:40123/".
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::uint16_t port() const;

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Lets go the pages of code and constants that this process has mapped from its executable and libraries, and what
/// malloc holds and nobody uses. What is touched again comes back from the page cache, some milliseconds in all; the
/// rest (relocating, option tables, the initialization of libraries that nobody calls) stays away. Thread safe.
void give_back_unused();

}  // namespace warpmark::watch
