#include "watch/server/connection.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <boost/asio/post.hpp>

#include <chrono>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text.h"

namespace warpmark::watch::serving_parts {
namespace {

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

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

/// Whether an Authorization header carries the token: as "Bearer TOKEN", or as the password of "Basic ...". An empty
/// token lets everybody in. Takes a time that does not tell how much of it was right.
bool has_token(std::string_view authorization, const std::string& token) {
  if (token.empty()) return true;
  constexpr std::string_view kBearer = "Bearer ", kBasic = "Basic ";
  if (authorization.starts_with(kBearer)) return same_secret(authorization.substr(kBearer.size()), token);
  if (!authorization.starts_with(kBasic)) return false;
  const std::string pair = from_base64(authorization.substr(kBasic.size()));
  const auto colon = pair.find(':');
  return colon != std::string::npos && same_secret(std::string_view(pair).substr(colon + 1), token);
}

/// Whether a Host header names this machine to itself: "localhost", "127.0.0.1:8080", "[::1]", or none. A page from
/// elsewhere whose name was made to resolve to 127.0.0.1 (DNS rebinding) sends its own.
bool names_loopback(std::string_view host_header) {
  std::string_view name = host_header;
  if (name.starts_with('[')) {
    name = name.substr(0, name.find(']') == std::string_view::npos ? name.size() : name.find(']') + 1);
  } else {
    name = name.substr(0, name.find(':'));
  }
  if (name.empty()) return true;
  if (name.ends_with('.')) name.remove_suffix(1);  // a full name (RFC 3986, 3.2.2), which has no case either
  if (ascii_lower(name) == "localhost" || name == "[::1]") return true;
  return name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string_view::npos;
}

constexpr std::uint32_t kMostHeaderBytes = 16 << 10;

Answer refusal(unsigned status, const char* why) { return {.status = status, .body = std::string(why) + "\n"}; }

std::string text_of(const http::request<http::empty_body>& request, http::field field) {
  const auto value = request[field];
  return {value.data(), value.size()};
}

}  // namespace

template <typename Stream>
Connection<Stream>::~Connection() {
  --shared_.connections;
  shared_.forget(this);
}

template <typename Stream>
void Connection<Stream>::start() {
  if constexpr (std::is_same_v<Stream, beast::tcp_stream>) {
    read();
  } else {
    set_deadline();
    stream_.async_handshake(asio::ssl::stream_base::server, [self = this->shared_from_this()](Code code) {
      if (!code) self->read();
    });
  }
}

template <typename Stream>
void Connection<Stream>::set_deadline() {
  beast::get_lowest_layer(stream_).expires_after(
      std::chrono::milliseconds(static_cast<int>(shared_.options.request_deadline_s * 1000)));
}

template <typename Stream>
void Connection<Stream>::read() {
  parser_.emplace();
  parser_->header_limit(kMostHeaderBytes);
  parser_->body_limit(0);
  // One deadline for the whole request: a client that sends a byte now and then gains nothing.
  set_deadline();
  http::async_read(stream_, buffer_, *parser_,
                   [self = this->shared_from_this()](Code code, std::size_t) { self->have_read(code); });
}

template <typename Stream>
void Connection<Stream>::have_read(Code code) {
  if (code == http::error::header_limit) return answer(refusal(431, "header too large"), false);
  if (code == http::error::body_limit) return answer(refusal(413, "no body is taken"), false);
  if (code.category() == http::make_error_code(http::error::bad_method).category() &&
      code != http::error::end_of_stream && code != http::error::partial_message) {
    return answer(refusal(400, "this is no HTTP request"), false);
  }
  if (code) return;
  const auto& request = parser_->get();
  head_only_ = request.method() == http::verb::head;
  if (auto refused = refused_for(request)) return answer(std::move(*refused), request.keep_alive());
  const std::string target(request.target().data(), request.target().size());
  const auto mark = target.find('?');
  Asked asked{.path = target.substr(0, mark), .accept = text_of(request, http::field::accept)};
  if (mark != std::string::npos) asked.query = target.substr(mark + 1);
  // The answer comes back to this thread. While it is made nothing is read, so a connection asks one thing at a time.
  // The connection is moved through, never copied: no other thread may be the last to hold it.
  asio::post(*shared_.workers, [self = this->shared_from_this(), asked = std::move(asked),
                                keep_alive = request.keep_alive()]() mutable {
    auto made = std::make_shared<Answer>(self->shared_.handler(asked));
    const auto executor = self->stream_.get_executor();
    asio::post(executor, [self = std::move(self), made, keep_alive] { self->answer(std::move(*made), keep_alive); });
  });
}

template <typename Stream>
std::optional<Answer> Connection<Stream>::refused_for(const Request& request) const {
  if (shared_.connections > shared_.options.most_connections) return refusal(503, "too many connections");
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    return refusal(405, "only GET and HEAD are answered");
  }
  if (request.count(http::field::host) > 1) return refusal(400, "a request has one Host header (RFC 9112, 3.2)");
  if (shared_.local_names_only && !names_loopback(text_of(request, http::field::host))) {
    return refusal(421, "this server is for this machine alone: ask it as localhost");
  }
  if (!has_token(text_of(request, http::field::authorization), shared_.options.token)) {
    return refusal(401, "a token is needed");
  }
  return std::nullopt;
}

template <typename Stream>
void Connection<Stream>::fill_header(const Answer& answer) {
  response_ = {};
  response_.result(answer.status);
  response_.set(http::field::content_type, answer.type);
  response_.set("X-Content-Type-Options", "nosniff");
  response_.set("Content-Security-Policy", answer.policy);
  response_.set("Referrer-Policy", "no-referrer");
  response_.set("Cross-Origin-Resource-Policy", "same-origin");
  response_.set(http::field::cache_control, "no-store");
  if (answer.status == 401) response_.set(http::field::www_authenticate, "Basic realm=\"warpmark\"");
  if (answer.status == 405) response_.set(http::field::allow, "GET, HEAD");
}

template <typename Stream>
void Connection<Stream>::answer(Answer&& answer, bool keep_alive) {
  if (answer.events && shared_.streams >= shared_.options.most_streams) answer = refusal(503, "too many listen");
  fill_header(answer);
  if (answer.events && !head_only_) return begin_events();
  response_.content_length(answer.body.size());
  if (!head_only_) response_.body() = std::move(answer.body);
  head_only_ = false;
  response_.keep_alive(keep_alive && answer.status < 500);
  set_deadline();
  http::async_write(stream_, response_, [self = this->shared_from_this()](Code code, std::size_t) {
    if (!code && self->response_.keep_alive()) return self->read();
    self->finish();
  });
}

/// Says that no more comes.
template <typename Stream>
void Connection<Stream>::finish() {
  if constexpr (std::is_same_v<Stream, beast::tcp_stream>) {
    Code ignored;  // the other side may be gone
    stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
  } else {
    set_deadline();
    stream_.async_shutdown([self = this->shared_from_this()](Code) {});
  }
}

template <typename Stream>
void Connection<Stream>::begin_events() {
  response_.keep_alive(false);
  header_.emplace(response_);
  set_deadline();
  http::async_write_header(stream_, *header_, [self = this->shared_from_this()](Code code, std::size_t) {
    if (code) return;
    self->shared_.remember(self.get());
    beast::get_lowest_layer(self->stream_).expires_never();
    self->wait_for_end();
    if (!self->shared_.newest_event.empty()) self->send(self->shared_.newest_event);
  });
}

/// Clients of events have nothing more to say: whatever they send is dropped, and their end is noticed here.
template <typename Stream>
void Connection<Stream>::wait_for_end() {
  stream_.async_read_some(asio::buffer(dropped_), [self = this->shared_from_this()](Code code, std::size_t) {
    if (code) return self->close();
    self->wait_for_end();
  });
}

template <typename Stream>
void Connection<Stream>::send(const std::string& event) {
  if (sending_) {
    waiting_ = event;  // a slow client misses what lies between
    return;
  }
  sending_ = true;
  event_ = event;
  set_deadline();
  asio::async_write(stream_, asio::buffer(event_), [self = this->shared_from_this()](Code code, std::size_t) {
    self->sending_ = false;
    if (code) return self->close();
    beast::get_lowest_layer(self->stream_).expires_never();
    if (self->waiting_.empty()) return;
    const std::string next = std::exchange(self->waiting_, {});
    self->send(next);
  });
}

template <typename Stream>
void Connection<Stream>::close() {
  shared_.forget(this);
  beast::get_lowest_layer(stream_).close();
}

template class Connection<beast::tcp_stream>;
template class Connection<beast::ssl_stream<beast::tcp_stream>>;

}  // namespace warpmark::watch::serving_parts
