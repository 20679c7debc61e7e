#include "watch/server/server.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

// A named namespace: the state of a Server has these as fields, and files are compiled joined.
namespace warpmark::watch {
namespace serving_parts {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;
using Code = boost::system::error_code;

constexpr std::uint32_t kMostHeaderBytes = 16 << 10;

/// What the base64 text stands for; empty for what is none (RFC 4648).
std::string from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0 || text.size() > 4096) return {};
  std::vector<unsigned char> bytes(text.size());
  const int size =
      EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return {};
  const auto padding = static_cast<std::size_t>(text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0);
  return {bytes.begin(), bytes.begin() + (size - static_cast<int>(padding))};
}

/// In a time that does not tell how much of it was right.
bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool allowed(std::string_view authorization, const std::string& token) {
  if (token.empty()) return true;
  constexpr std::string_view kBearer = "Bearer ", kBasic = "Basic ";
  if (authorization.starts_with(kBearer)) return same_secret(authorization.substr(kBearer.size()), token);
  if (!authorization.starts_with(kBasic)) return false;
  const std::string pair = from_base64(authorization.substr(kBasic.size()));
  const auto colon = pair.find(':');
  return colon != std::string::npos && same_secret(std::string_view(pair).substr(colon + 1), token);
}

struct Shared {
  ServerOptions options;
  Handler handler;
  std::size_t connections = 0;
};

/// One connection; keeps itself alive while an operation of it is under way.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, Shared& shared) : stream_(std::move(socket)), shared_(shared) {
    ++shared_.connections;
  }
  ~Connection() { --shared_.connections; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(kMostHeaderBytes);
    parser_->body_limit(0);
    // One deadline for the whole request: a client that sends a byte now and then gains nothing.
    stream_.expires_after(std::chrono::milliseconds(static_cast<int>(shared_.options.request_deadline_s * 1000)));
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](Code code, std::size_t) { self->have_read(code); });
  }

 private:
  void have_read(Code code) {
    if (code == http::error::header_limit)
      return answer({431, "text/plain; charset=utf-8", "header too large\n"}, false);
    if (code == http::error::body_limit) return answer({413, "text/plain; charset=utf-8", "no body is taken\n"}, false);
    if (code.category() == http::make_error_code(http::error::bad_method).category() &&
        code != http::error::end_of_stream && code != http::error::partial_message) {
      return answer({400, "text/plain; charset=utf-8", "this is no HTTP request\n"}, false);
    }
    if (code) return;
    const auto& request = parser_->get();
    answer(answer_to(request), request.keep_alive());
  }

  Answer answer_to(const http::request<http::empty_body>& request) {
    const auto text = [&](http::field field) {
      const auto value = request[field];
      return std::string(value.data(), value.size());
    };
    if (shared_.connections > shared_.options.most_connections) {
      return {503, "text/plain; charset=utf-8", "too many connections\n"};
    }
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
      return {405, "text/plain; charset=utf-8", "only GET and HEAD are answered\n"};
    }
    if (!allowed(text(http::field::authorization), shared_.options.token)) {
      return {401, "text/plain; charset=utf-8", "a token is needed\n"};
    }
    head_only_ = request.method() == http::verb::head;
    const std::string target(request.target().data(), request.target().size());
    return shared_.handler({.path = target.substr(0, target.find('?')), .accept = text(http::field::accept)});
  }

  void answer(Answer&& answer, bool keep_alive) {
    response_ = {};
    response_.result(answer.status);
    response_.set(http::field::content_type, answer.type);
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set("Content-Security-Policy", "default-src 'none'");
    response_.set(http::field::cache_control, "no-store");
    if (answer.status == 401) response_.set(http::field::www_authenticate, "Basic realm=\"warpmark\"");
    if (answer.status == 405) response_.set(http::field::allow, "GET, HEAD");
    response_.content_length(answer.body.size());
    if (!head_only_) response_.body() = std::move(answer.body);
    head_only_ = false;
    response_.keep_alive(keep_alive && answer.status < 500);
    http::async_write(stream_, response_, [self = shared_from_this()](Code code, std::size_t) {
      if (!code && self->response_.keep_alive()) return self->read();
      Code ignored;  // the other side may be gone
      self->stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    });
  }

  beast::tcp_stream stream_;
  Shared& shared_;
  beast::flat_buffer buffer_{kMostHeaderBytes + 4096};
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
  bool head_only_ = false;
};

}  // namespace serving_parts

using namespace serving_parts;

struct Server::State {
  Shared shared;  // outlives the connections that the context destroys
  asio::io_context context{1};
  Tcp::acceptor acceptor{context};
  asio::ip::address address;
  std::thread thread;

  void accept() {
    acceptor.async_accept([this](Code code, Tcp::socket socket) {
      if (!acceptor.is_open()) return;
      // Twice as many are let in as are served, so that those too many hear why; the rest is closed at once.
      if (!code && shared.connections < 2 * shared.options.most_connections) {
        std::make_shared<Connection>(std::move(socket), shared)->read();
      }
      accept();
    });
  }
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Handler handler) {
  auto state = std::make_unique<State>();
  Code code;
  state->address = asio::ip::make_address(options.host, code);
  if (code) return usage_error("'" + options.host + "' is no numeric address", "as in 127.0.0.1, ::1 or 0.0.0.0");
  if (!state->address.is_loopback() && options.token.empty()) {
    return usage_error("listening on " + options.host + " without a token would show this machine to all",
                       "give a file that holds one with --token-file");
  }
  state->shared.options = options;
  state->shared.handler = std::move(handler);
  const Tcp::endpoint endpoint(state->address, options.port);
  state->acceptor.open(endpoint.protocol(), code);
  if (!code) state->acceptor.set_option(Tcp::acceptor::reuse_address(true), code);
  if (!code) state->acceptor.bind(endpoint, code);
  if (!code) state->acceptor.listen(asio::socket_base::max_listen_connections, code);
  if (code) {
    return environment_error(fmt::format("cannot listen on {} port {}: {}", options.host, options.port, code.message()),
                             "--port 0 takes a free one");
  }
  state->accept();
  state->thread = std::thread([raw = state.get()] { raw->context.run(); });
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::~Server() {
  state_->context.stop();
  state_->thread.join();
}

std::uint16_t Server::port() const { return state_->acceptor.local_endpoint().port(); }

std::string Server::url() const {
  const std::string host = state_->address.to_string();
  return fmt::format("http://{}:{}/", state_->address.is_v6() ? "[" + host + "]" : host, port());
}

}  // namespace warpmark::watch
