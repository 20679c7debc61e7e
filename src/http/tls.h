// TLS over bytes that the caller moves: OpenSSL with memory BIOs, so that the socket, and with it the kernel's receive
// times, stays ours. A client verifies certificate chain and host name, always.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpmark::http {

/// Settings shared by all sessions of one side. Thread-safe once made.
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

}  // namespace warpmark::http
