#include "collectives/net/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"

namespace warpmark::collectives::net {
namespace {

Error socket_error(const std::string& doing) {
  const int code = errno;
  const bool late = code == EAGAIN || code == EWOULDBLOCK || code == ETIMEDOUT;
  return environment_error(fmt::format("{}: {}", doing, late ? "no answer in time" : std::strerror(code)),
                           late ? "is the other side still running, and no firewall between?" : "");
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> resolve(const Address& address, bool listens) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = listens ? AI_PASSIVE : 0;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (code != 0) {
    return usage_error(fmt::format("there is no host '{}': {}", address.host, ::gai_strerror(code)),
                       "give a name or an address that this machine can resolve");
  }
  return Addresses(list);
}

/// Connects without waiting longer than asked for; true once connected.
bool connect_in_time(int handle, const addrinfo& to, double timeout_s) {
  const int flags = ::fcntl(handle, F_GETFL);
  ::fcntl(handle, F_SETFL, flags | O_NONBLOCK);
  int code = ::connect(handle, to.ai_addr, to.ai_addrlen);
  if (code != 0 && errno == EINPROGRESS) {
    pollfd wait{handle, POLLOUT, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(timeout_s * 1000));
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(handle, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = ready == 0 ? ETIMEDOUT : error;
    code = ready == 1 && error == 0 ? 0 : -1;
  }
  const int why = errno;
  ::fcntl(handle, F_SETFL, flags);
  errno = why;
  return code == 0;
}

using NameCall = int (*)(int, sockaddr*, socklen_t*);

std::string address_text(int handle, NameCall call) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  std::array<char, 128> host{};
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (call(handle, address, &size) != 0) return {};
  if (::getnameinfo(address, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return host.data();
}

int port_in(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

void set_port(sockaddr_storage& storage, int port) {
  const auto number = htons(static_cast<std::uint16_t>(port));
  if (storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = number;
  } else {
    reinterpret_cast<sockaddr_in*>(&storage)->sin_port = number;
  }
}

}  // namespace

Socket::~Socket() {
  if (handle_ >= 0) ::close(handle_);
}

Status Socket::send_all(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(handle_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return socket_error("cannot send");
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<std::size_t> Socket::receive_some(std::span<char> bytes) {
  if (!rest_.empty()) {
    const std::size_t taken = std::min(bytes.size(), rest_.size());
    std::memcpy(bytes.data(), rest_.data(), taken);
    rest_.erase(0, taken);
    return taken;
  }
  for (;;) {
    const ssize_t got = ::recv(handle_, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return socket_error("cannot receive");
    return static_cast<std::size_t>(got);
  }
}

Status Socket::receive_all(std::span<char> bytes) {
  while (!bytes.empty()) {
    WM_ASSIGN(const auto got, receive_some(bytes));
    if (got == 0) return environment_error("the other side ended the connection");
    bytes = bytes.subspan(got);
  }
  return {};
}

Status Socket::send_line(const Json& json) { return send_all(dump_json(json, -1) + "\n"); }

Result<Json> Socket::receive_line(double whole_s) {
  constexpr std::size_t kLongest = 64 << 10;
  const std::int64_t begin_ns = monotonic_ns();
  std::string line = std::exchange(rest_, {});
  std::array<char, 4096> chunk{};
  auto end = line.find('\n');
  while (end == std::string::npos) {
    if (line.size() > kLongest) return data_error("the other side sends no lines", "is it warpmark net?");
    const double left_s = whole_s - static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
    if (whole_s > 0 && left_s <= 0) return environment_error("the other side sends no whole line in time");
    if (whole_s > 0) WM_TRY(set_timeout(std::max(left_s, 1e-3)));
    WM_ASSIGN(const auto got, receive_some(chunk));
    if (got == 0) return environment_error("the other side ended the connection", "its output says why");
    line.append(chunk.data(), got);
    end = line.find('\n');
  }
  rest_ = line.substr(end + 1);
  line.resize(end);
  return parse_json(line, "what the other side sends");
}

void Socket::end_sending() { ::shutdown(handle_, SHUT_WR); }

Status Socket::send_at_once() {
  const int yes = 1;
  if (::setsockopt(handle_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) == 0) return {};
  return environment_error(std::string("TCP_NODELAY: ") + std::strerror(errno));
}

Status Socket::wake_for(std::size_t bytes) {
  const int least = static_cast<int>(bytes);
  if (::setsockopt(handle_, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) == 0) return {};
  return environment_error(std::string("SO_RCVLOWAT: ") + std::strerror(errno));
}

Status Socket::set_timeout(double seconds) {
  const timeval time{static_cast<time_t>(seconds),
                     static_cast<suseconds_t>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e6)};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    if (::setsockopt(handle_, SOL_SOCKET, option, &time, sizeof(time)) != 0)
      return socket_error("cannot set a time-out");
  }
  return {};
}

Result<Address> parse_address(const std::string& text, int default_port) {
  Address address{text, default_port};
  std::string port;
  if (text.starts_with("[")) {
    const auto end = text.find(']');
    if (end == std::string::npos) return usage_error("'" + text + "' is no address", "such as [::1]:5801");
    address.host = text.substr(1, end - 1);
    if (end + 1 < text.size() && text[end + 1] == ':') port = text.substr(end + 2);
  } else if (const auto colon = text.find(':'); colon != std::string::npos && text.rfind(':') == colon) {
    address.host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) return usage_error("'" + text + "' has no port behind the colon", "such as node7:5801");
  }
  if (address.host.empty()) return usage_error("'" + text + "' names no host", "such as node7 or node7:5801");
  if (port.empty()) return address;
  const auto number = parse_integer(port);
  if (!number.ok() || *number < 0 || *number > 65535) return usage_error("'" + port + "' is no port", "0 to 65535");
  address.port = static_cast<int>(*number);
  return address;
}

Result<Socket> connect_to(const Address& address, double timeout_s) {
  WM_ASSIGN(const auto list, resolve(address, false));
  for (const addrinfo* item = list.get(); item != nullptr; item = item->ai_next) {
    Socket socket(::socket(item->ai_family, item->ai_socktype | SOCK_CLOEXEC, item->ai_protocol));
    if (socket.handle() < 0 || !connect_in_time(socket.handle(), *item, timeout_s)) continue;
    WM_TRY(socket.set_timeout(timeout_s));
    return socket;
  }
  auto error = socket_error(fmt::format("cannot connect to {} port {}", address.host, address.port));
  error.hint = "start the other side there: warpmark net server --bind ADDRESS; and look for a firewall between";
  return error;
}

Result<Socket> listen_on(const Address& address) {
  WM_ASSIGN(const auto list, resolve(address, true));
  for (const addrinfo* item = list.get(); item != nullptr; item = item->ai_next) {
    Socket socket(::socket(item->ai_family, item->ai_socktype | SOCK_CLOEXEC, item->ai_protocol));
    const int yes = 1;
    if (socket.handle() < 0) continue;
    ::setsockopt(socket.handle(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (::bind(socket.handle(), item->ai_addr, item->ai_addrlen) != 0) continue;
    if (::listen(socket.handle(), 64) == 0) return socket;
  }
  auto error = socket_error(fmt::format("cannot listen on {} port {}", address.host, address.port));
  error.hint = "choose an address of this machine with --bind, and a free --port";
  return error;
}

Result<Socket> accept_from(const Socket& listener) {
  const int handle = ::accept4(listener.handle(), nullptr, nullptr, SOCK_CLOEXEC);
  if (handle < 0) return socket_error("cannot accept a connection");
  return Socket(handle);
}

int port_of(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (::getsockname(socket.handle(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  return port_in(storage);
}

std::string local_address(const Socket& socket) { return address_text(socket.handle(), ::getsockname); }
std::string peer_address(const Socket& socket) { return address_text(socket.handle(), ::getpeername); }

Result<TcpFacts> tcp_facts(const Socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (::getsockopt(socket.handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return socket_error("no TCP_INFO");
  return TcpFacts{info.tcpi_total_retrans, info.tcpi_lost,    info.tcpi_rtt * 1e-6,
                  info.tcpi_rttvar * 1e-6, info.tcpi_snd_mss, info.tcpi_snd_cwnd};
}

Result<Socket> udp_companion(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (::getsockname(socket.handle(), reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    return socket_error("no address");
  set_port(storage, 0);
  Socket udp(::socket(storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (::bind(udp.handle(), reinterpret_cast<sockaddr*>(&storage), size) != 0) return socket_error("cannot bind UDP");
  return udp;
}

Result<Socket> udp_to_peer_of(const Socket& socket, int port) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (::getpeername(socket.handle(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) return socket_error("no peer");
  set_port(storage, port);
  Socket udp(::socket(storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (::connect(udp.handle(), reinterpret_cast<sockaddr*>(&storage), size) != 0) return socket_error("cannot use UDP");
  return udp;
}

}  // namespace warpmark::collectives::net
