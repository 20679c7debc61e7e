// A connection that never blocks, with TLS or without: what a reactor, a blocking client and a server have in common.
// The owner waits for the socket (epoll, poll) and calls.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/socket.h"

namespace warpmark::http {

/// TLS by OpenSSL with memory BIOs, over bytes that the caller moves, so that the socket, and with it the kernel's
/// receive times, stays ours. A client verifies certificate chain and host name, always. Settings shared by all
/// sessions of one side. Thread-safe once made.
class TlsContext {
 public:
  /// Trusts the system's certificates, or those of a PEM file. Environment error if there are none.
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> for_client(const std::string& ca_file = {});
  /// A server's certificate chain and key, PEM.
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> for_server(const std::string& certificate_file,
                                                                            const std::string& key_file);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class TlsSession;
  struct State;
  explicit TlsContext(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// One connection. Not thread-safe.
class TlsSession {
 public:
  /// `host`: the name or address that the certificate must be for; empty on a server.
  TlsSession(std::shared_ptr<const TlsContext> context, const std::string& host);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Bytes from the peer.
  void feed(std::string_view encrypted);
  /// Goes on with the handshake as far as the fed bytes reach.
  [[nodiscard]] Status handshake();
  [[nodiscard]] bool ready() const { return ready_; }
  /// Decrypted bytes; 0 if more must be fed. `ended` says that the peer closed properly.
  [[nodiscard]] Result<std::size_t> read(char* into, std::size_t size);
  [[nodiscard]] bool ended() const { return ended_; }
  /// Encrypts all of it.
  [[nodiscard]] Status write(std::string_view plain);
  /// What is to be sent to the peer; the caller removes what it sent by sent().
  [[nodiscard]] std::string_view outgoing();
  void sent(std::size_t bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::shared_ptr<const TlsContext> context_;
  std::string host_;
  bool ready_ = false;
  bool ended_ = false;
};

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
