// A connection that never blocks, with TLS or without: what a reactor, a blocking client and a server have in common.
// The owner waits for the socket (epoll, poll) and calls.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/socket.h"
#include "http/tls.h"

namespace warpmark::http {

class Connection {
 public:
  Connection() = default;
  /// Plain where `tls` is empty. `connected`: false for a socket from begin_connect.
  Connection(Socket socket, std::unique_ptr<TlsSession> tls, bool connected);

  [[nodiscard]] int fd() const { return socket_.fd(); }
  [[nodiscard]] bool open() const { return socket_.open(); }
  /// Connected and, with TLS, shaken hands.
  [[nodiscard]] bool ready() const { return connected_ && (!tls_ || tls_->ready()); }
  [[nodiscard]] bool connected() const { return connected_; }
  /// Whether to wait until the socket is writable: while connecting, and while bytes wait to be sent.
  [[nodiscard]] bool wants_write() const { return !connected_ || !pending_.empty() || tls_blocked_; }

  /// Goes on with connecting and shaking hands, after the socket became readable or writable.
  [[nodiscard]] Status advance(const Address& address);
  /// Sends what it can and keeps the rest, a copy, for flush(). Ready connections only.
  [[nodiscard]] Status send(std::string_view bytes);
  /// Sends what waits. Status of a broken connection.
  [[nodiscard]] Status flush();
  /// `into` at least 16 KiB. With TLS, call until would_block: one read of the socket may hold several records.
  [[nodiscard]] Received receive(std::span<char> into);
  /// Of the last failed receive().
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool secure() const { return tls_ != nullptr; }
  void close();
  void reset();

 private:
  [[nodiscard]] Status flush_tls();
  [[nodiscard]] Received receive_tls(std::span<char> into);

  Socket socket_;
  std::unique_ptr<TlsSession> tls_;
  std::string pending_;  ///< plain bytes that the socket did not take
  std::string problem_;
  std::int64_t kernel_time_ns_ = 0;
  bool connected_ = false;
  bool tls_blocked_ = false;
};

}  // namespace warpmark::http
