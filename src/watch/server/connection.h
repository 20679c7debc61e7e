// One connection of the server, over TCP or TLS. Internal to the server; all of it runs on the server's thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "watch/server/server.h"

// A named namespace: the state of a Server has these as fields, and files are compiled joined.
namespace warpmark::watch::serving_parts {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Code = boost::system::error_code;

/// Who is sent events.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void send(const std::string& event) = 0;
};

struct Shared {
  ServerOptions options;
  Handler handler;
  bool local_names_only = false;
  std::size_t connections = 0;
  std::set<Listener*> listeners;
  std::atomic<std::size_t> streams = 0;
  std::string newest_event;  ///< as it is sent; empty before the first
  asio::thread_pool* workers = nullptr;

  void remember(Listener* listener) {
    listeners.insert(listener);
    streams = listeners.size();
  }
  void forget(Listener* listener) {
    listeners.erase(listener);
    streams = listeners.size();
  }
};

namespace beast = boost::beast;
namespace http = boost::beast::http;

/// Keeps itself alive while an operation of it is under way. `Stream` is one of those named below.
template <typename Stream>
class Connection final : public Listener, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  template <typename... Arguments>
  explicit Connection(Shared& shared, Arguments&&... arguments)
      : shared_(shared), stream_(std::forward<Arguments>(arguments)...) {
    ++shared_.connections;
  }
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  /// An event, to one that listens; see Server::publish.
  void send(const std::string& event) override;

 private:
  using Request = http::request<http::empty_body>;

  void set_deadline();
  void read();
  void have_read(Code code);
  [[nodiscard]] std::optional<Answer> refused_for(const Request& request) const;
  void answer(Answer&& answer, bool keep_alive);
  void fill_header(const Answer& answer);
  void finish();
  void begin_events();
  void wait_for_end();
  void close();

  Shared& shared_;
  Stream stream_;
  beast::flat_buffer buffer_{20 << 10};
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
  std::optional<http::response_serializer<http::string_body>> header_;
  bool head_only_ = false;
  bool sending_ = false;
  std::string event_, waiting_;
  char dropped_[64] = {};
};

using PlainConnection = Connection<beast::tcp_stream>;
using TlsConnection = Connection<beast::ssl_stream<beast::tcp_stream>>;

}  // namespace warpmark::watch::serving_parts
