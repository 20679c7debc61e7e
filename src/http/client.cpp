#include "http/client.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/clock.h"
#include "http/parser.h"

namespace warpmark::http {
namespace {

class Deadline {
 public:
  Deadline(double seconds, const std::atomic<bool>* interrupted)
      : seconds_(seconds),
        at_ns_(monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9)),
        interrupted_(interrupted) {}

  [[nodiscard]] Status check() const {
    if (interrupted_ != nullptr && interrupted_->load()) return environment_error("interrupted");
    if (monotonic_ns() < at_ns_) return {};
    return environment_error(fmt::format("no whole answer within {:g} s", seconds_));
  }

  /// Until the connection can go on.
  [[nodiscard]] Status wait(const Connection& connection) const {
    for (;;) {
      WM_TRY(check());
      const std::int64_t left_ns = at_ns_ - monotonic_ns();
      pollfd ready{.fd = connection.fd(), .events = POLLIN, .revents = 0};
      if (connection.wants_write()) ready.events = static_cast<short>(ready.events | POLLOUT);
      const int slice_ms = static_cast<int>(std::min<std::int64_t>(left_ns / 1'000'000 + 1, 100));
      if (::poll(&ready, 1, slice_ms) > 0) return {};
    }
  }

 private:
  double seconds_;
  std::int64_t at_ns_;
  const std::atomic<bool>* interrupted_;
};

Result<Connection> connect_to_one(const Address& address, const Url& url, const RequestOptions& options,
                                  const Deadline& deadline) {
  WM_ASSIGN(Socket socket, begin_connect(address));
  std::unique_ptr<TlsSession> tls;
  if (url.secure()) tls = std::make_unique<TlsSession>(options.tls, url.host);
  Connection connection(std::move(socket), std::move(tls), false);
  WM_TRY(deadline.wait(connection));
  WM_TRY(connection.advance(address));
  while (!connection.ready()) {
    WM_TRY(deadline.wait(connection));
    WM_TRY(connection.advance(address));
  }
  return connection;
}

/// The first of the host's addresses that answers.
Result<Connection> connect_to(const Url& url, const RequestOptions& options, const Deadline& deadline) {
  WM_ASSIGN(const auto addresses, resolve(url.host, url.port));
  Result<Connection> connection = connect_to_one(addresses.front(), url, options, deadline);
  for (std::size_t i = 1; i < addresses.size() && !connection.ok(); ++i) {
    connection = connect_to_one(addresses[i], url, options, deadline);
  }
  return connection;
}

std::string bytes_of(const Request& request) {
  Headers headers = request.headers;
  const auto add = [&](const char* name, std::string value) {
    if (find_header(headers, name) == nullptr) headers.push_back({name, std::move(value)});
  };
  add("Host", request.url.authority());
  add("User-Agent", "warpmark");
  if (!request.body.empty() || request.method == "POST") add("Content-Length", std::to_string(request.body.size()));
  return request_head(request.method, request.url.target, headers) + request.body;
}

Status decode_body(Response& response, std::size_t most_bytes) {
  const auto decoder = content_decoder_of(response.headers);
  if (decoder == nullptr || response.body.empty()) return {};
  std::string decoded;
  const bool whole = decoder->decode(response.body, [&](std::string_view piece) {
    if (decoded.size() <= most_bytes) decoded.append(piece);
  });
  if (!whole) return data_error(decoder->problem());
  if (decoded.size() > most_bytes) return data_error(fmt::format("the answer is larger than {} bytes", most_bytes));
  response.body = std::move(decoded);
  return {};
}

/// `answered` says whether a byte came back: without one the request may be sent again.
Result<Response> exchange(Connection& connection, const Request& request, const RequestOptions& options,
                          const Deadline& deadline, bool& answered, bool& reusable) {
  WM_TRY(connection.send(bytes_of(request)));
  ResponseParser parser;
  parser.begin(request.method == "HEAD");
  Response response;
  std::string buffer(65536, '\0');
  while (!parser.done()) {
    WM_TRY(deadline.check());  // a server that never stops sending never lets us wait
    if (connection.wants_write()) WM_TRY(connection.flush());
    const Received got = connection.receive(buffer);
    if (got.state == Received::State::would_block) {
      WM_TRY(deadline.wait(connection));
      continue;
    }
    if (got.state == Received::State::failed) return environment_error(connection.problem());
    if (got.state == Received::State::ended) parser.end_of_connection();
    std::string_view bytes(buffer.data(), got.bytes);
    answered = answered || !bytes.empty();
    while (!bytes.empty() && !parser.done() && !parser.failed()) {
      const Decoded piece = parser.take(bytes);
      response.body.append(piece.body);
      bytes.remove_prefix(piece.consumed);
    }
    if (parser.failed()) return environment_error(parser.problem());
    if (response.body.size() > options.body_cap_bytes) {
      return data_error(fmt::format("the answer is larger than {} bytes", options.body_cap_bytes));
    }
  }
  reusable = parser.reusable();
  response.status = parser.head().status;
  response.reason = parser.head().reason;
  response.headers = parser.head().headers;
  WM_TRY(decode_body(response, options.body_cap_bytes));
  return response;
}

Error about(const Request& request, const Error& error) {
  return {error.kind, request.url.authority() + ": " + error.what, error.hint};
}

}  // namespace

Result<Response> request(const Request& request, const RequestOptions& options) {
  return Client(options).send(request);
}

Result<Response> Client::send(const Request& request) {
  const Deadline deadline(options_.deadline_s, options_.interrupted);
  if (request.url.secure() && !options_.tls) {
    WM_ASSIGN(options_.tls, TlsContext::for_client());
  }
  const std::string origin = request.url.scheme + "://" + request.url.authority();
  for (;;) {
    const bool kept = connection_.open() && connected_to_ == origin;
    if (!kept) {
      auto connected = connect_to(request.url, options_, deadline);
      if (!connected.ok()) return about(request, connected.error());
      connection_ = std::move(*connected);
      connected_to_ = origin;
    }
    bool answered = false, reusable = false;
    auto response = exchange(connection_, request, options_, deadline, answered, reusable);
    if (!reusable) connection_.close();
    if (response.ok()) return response;
    // A server may close a connection that was kept just as it is used again: RFC 9112, section 9.3.1.
    if (!kept || answered) return about(request, response.error());
  }
}

}  // namespace warpmark::http
