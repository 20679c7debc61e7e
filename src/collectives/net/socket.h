// TCP and UDP sockets with an owner, and a deadline on every wait.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/json_fwd.h"
#include "base/result.h"

namespace warpmark::collectives::net {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int handle) : handle_(handle) {}
  Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, -1)), rest_(std::move(other.rest_)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(rest_, other.rest_);
    return *this;
  }
  ~Socket();
  [[nodiscard]] int handle() const { return handle_; }

  /// All bytes, or an environment error.
  Status send_all(std::span<const char> bytes);
  /// What has come, at least one byte; 0 at the end of the stream.
  Result<std::size_t> receive_some(std::span<char> bytes);
  Status receive_all(std::span<char> bytes);
  /// One document a line, at most 64 KiB.
  Status send_line(const Json& json);
  /// Within `whole_s` from now, however slowly it comes; 0: within the time-out of each piece.
  Result<Json> receive_line(double whole_s = 0);
  /// No more is sent; the other side sees the end.
  void end_sending();
  /// Small messages leave without waiting for more (TCP_NODELAY).
  Status send_at_once();
  /// receive_some waits until so much has come, or the end: fewer wake-ups.
  Status wake_for(std::size_t bytes);
  /// Longest wait of one call from now on.
  Status set_timeout(double seconds);

 private:
  int handle_ = -1;
  std::string rest_;  ///< received behind the last line
};

struct Address {
  std::string host;  ///< name or number
  int port = 0;
};
/// "host", "host:port", "[::1]:port". Usage error.
[[nodiscard]] Result<Address> parse_address(const std::string& text, int default_port);

[[nodiscard]] Result<Socket> connect_to(const Address& address, double timeout_s);
/// Port 0 takes a free one; `port_of` tells it.
[[nodiscard]] Result<Socket> listen_on(const Address& address);
[[nodiscard]] Result<Socket> accept_from(const Socket& listener);
[[nodiscard]] int port_of(const Socket& socket);
[[nodiscard]] std::string local_address(const Socket& socket);
[[nodiscard]] std::string peer_address(const Socket& socket);

/// What the kernel counted of a connection (tcp(7), struct tcp_info).
struct TcpFacts {
  std::int64_t retransmits = 0;
  std::int64_t lost = 0;    ///< segments that it holds for lost now
  double round_trip_s = 0;  ///< smoothed
  double variation_s = 0;
  std::int64_t segment_bytes = 0;
  std::int64_t window_segments = 0;
};
[[nodiscard]] Result<TcpFacts> tcp_facts(const Socket& socket);

/// UDP on a free port of the address that the other socket has, connected to nobody.
[[nodiscard]] Result<Socket> udp_companion(const Socket& socket);
/// UDP, connected to that port of the host the other socket is connected to.
[[nodiscard]] Result<Socket> udp_to_peer_of(const Socket& socket, int port);

}  // namespace warpmark::collectives::net
