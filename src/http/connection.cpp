#include "http/connection.h"

#include <utility>

namespace warpmark::http {
namespace {

Error broken(int code) { return environment_error("the connection broke: " + errno_text(code)); }

}  // namespace

Connection::Connection(Socket socket, std::unique_ptr<TlsSession> tls, bool connected)
    : socket_(std::move(socket)), tls_(std::move(tls)), connected_(connected) {}

Status Connection::advance(const Address& address) {
  if (!connected_) {
    WM_TRY(outcome_of_connect(socket_, address));
    connected_ = true;
  }
  if (!tls_ || tls_->ready()) return {};
  char buffer[16384];
  for (;;) {
    const Status shaken = tls_->handshake();
    WM_TRY(flush_tls());  // also an alert that says why it failed
    WM_TRY(shaken);
    if (tls_->ready()) return {};
    const Received got = receive_from(socket_, buffer);
    if (got.state == Received::State::would_block) return {};
    if (got.state == Received::State::failed) return broken(got.error);
    if (got.state == Received::State::ended) {
      return environment_error("the connection ended within the TLS handshake",
                               "does the server use https on this port?");
    }
    tls_->feed({buffer, got.bytes});
  }
}

Status Connection::send(std::string_view bytes) {
  if (tls_) {
    WM_TRY(tls_->write(bytes));
    return flush_tls();
  }
  if (pending_.empty()) {
    const SentBytes sent = send_to(socket_, bytes);
    if (sent.failed) return broken(sent.error);
    bytes.remove_prefix(sent.bytes);
  }
  pending_.append(bytes);
  return {};
}

Status Connection::flush() {
  if (tls_) return flush_tls();
  if (pending_.empty()) return {};
  const SentBytes sent = send_to(socket_, pending_);
  if (sent.failed) return broken(sent.error);
  pending_.erase(0, sent.bytes);
  return {};
}

Status Connection::flush_tls() {
  tls_blocked_ = false;
  for (auto outgoing = tls_->outgoing(); !outgoing.empty(); outgoing = tls_->outgoing()) {
    const SentBytes sent = send_to(socket_, outgoing);
    if (sent.failed) return broken(sent.error);
    tls_->sent(sent.bytes);
    if (sent.bytes < outgoing.size()) {
      tls_blocked_ = true;
      return {};
    }
  }
  return {};
}

Received Connection::receive(std::span<char> into) {
  Received got = tls_ ? receive_tls(into) : receive_from(socket_, into);
  if (got.state == Received::State::failed && got.error != 0) problem_ = broken(got.error).what;
  return got;
}

Received Connection::receive_tls(std::span<char> into) {
  char buffer[32768];
  for (;;) {
    const auto plain = tls_->read(into.data(), into.size());
    if (!plain.ok()) {
      problem_ = plain.error().what;
      return {Received::State::failed, 0, 0, 0};
    }
    if (*plain > 0) return {Received::State::data, *plain, kernel_time_ns_, 0};
    if (tls_->ended()) return {Received::State::ended, 0, 0, 0};
    const Received got = receive_from(socket_, buffer);
    if (got.state != Received::State::data) return got;
    kernel_time_ns_ = got.kernel_time_ns;
    tls_->feed({buffer, got.bytes});
  }
}

void Connection::close() { socket_.close(); }
void Connection::reset() { socket_.reset(); }

}  // namespace warpmark::http
