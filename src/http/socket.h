// TCP sockets, never blocking: IPv4 and IPv6, connecting, listening, and receiving with the kernel's own time.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpmark::http {

/// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  void close();
  /// Closes so that the other side sees a reset, not an end.
  void reset();

 private:
  int fd_ = -1;
};

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  /// "127.0.0.1:8000", "[::1]:8000".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::uint16_t port() const;
};

/// All addresses of a host, in the order in which the system prefers them; not empty. Asks the system's resolver, which
/// waits as long as it is configured to for a name, and not at all for a number. Environment error for an unknown name.
[[nodiscard]] Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port);

/// Connecting has begun; it has ended when the socket is writable. No delay of small packets (TCP_NODELAY).
[[nodiscard]] Result<Socket> begin_connect(const Address& address);
/// Of a socket that became writable.
[[nodiscard]] Status outcome_of_connect(const Socket& socket, const Address& address);

/// Port 0 takes a free one. Environment error if the port is taken.
[[nodiscard]] Result<Socket> listen_on(const Address& address);
[[nodiscard]] Address local_address(const Socket& socket);
/// The next connection that waits, or one that is not open if there is none.
[[nodiscard]] Socket accept_from(const Socket& listening);

/// Asks the kernel to say when bytes arrived (SO_TIMESTAMPNS); false where it cannot.
bool ask_for_receive_times(const Socket& socket);

struct Received {
  enum class State { data, would_block, ended, failed };
  State state = State::would_block;
  std::size_t bytes = 0;
  std::int64_t kernel_time_ns = 0;  ///< CLOCK_REALTIME at which the last of them arrived; 0 where not told
  int error = 0;                    ///< errno of State::failed
};
[[nodiscard]] Received receive_from(const Socket& socket, std::span<char> into);

struct SentBytes {
  bool failed = false;
  std::size_t bytes = 0;  ///< fewer than given, or 0: the socket is full
  int error = 0;
};
[[nodiscard]] SentBytes send_to(const Socket& socket, std::string_view bytes);

/// Raises the limit of open files to what the system allows, at least to `wanted`. Environment error that says how.
[[nodiscard]] Status allow_open_files(std::size_t wanted);
/// How many this process may have open now, and whether it has them.
[[nodiscard]] std::uint64_t limit_of_open_files();
[[nodiscard]] bool open_files_are_used_up();

/// "Connection refused": the system's words for an errno.
[[nodiscard]] std::string errno_text(int code);

}  // namespace warpmark::http
