#include "http/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <system_error>

namespace warpmark::http {
namespace {

void set_option(const Socket& socket, int level, int name) {
  const int on = 1;
  // What does not take the option works all the same.
  (void)::setsockopt(socket.fd(), level, name, &on, sizeof on);
}

Result<Socket> new_socket(const Address& address) {
  Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.open()) return socket;
  return environment_error("cannot open a socket: " + errno_text(errno),
                           errno == EMFILE ? "raise the limit of open files: ulimit -n 65536" : "");
}

std::int64_t kernel_time_of(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec time{};
    std::memcpy(&time, CMSG_DATA(part), sizeof time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
  return 0;
}

}  // namespace

std::string errno_text(int code) { return std::generic_category().message(code); }

void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Socket::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  if (fd_ >= 0) (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

std::string Address::text() const {
  char host[NI_MAXHOST], service[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), size, host, sizeof host, service, sizeof service,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "an unknown address";
  }
  return storage.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, service) : fmt::format("{}:{}", host, service);
}

std::uint16_t Address::port() const {
  if (storage.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* item = failure == 0 ? list : nullptr; item != nullptr; item = item->ai_next) {
    Address address;
    std::memcpy(&address.storage, item->ai_addr, item->ai_addrlen);
    address.size = item->ai_addrlen;
    addresses.push_back(address);
  }
  if (addresses.empty()) {
    return environment_error(fmt::format("the host {} is not known: {}", host, ::gai_strerror(failure)),
                             "check the name, or give its address");
  }
  return addresses;
}

Result<Socket> begin_connect(const Address& address) {
  WM_ASSIGN(Socket socket, new_socket(address));
  set_option(socket, IPPROTO_TCP, TCP_NODELAY);
  const auto* where = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(socket.fd(), where, address.size) == 0 || errno == EINPROGRESS || errno == EINTR) return socket;
  const std::string hint =
      errno == EADDRNOTAVAIL ? "all local ports are in use; let the server keep connections alive" : "";
  return environment_error(fmt::format("cannot connect to {}: {}", address.text(), errno_text(errno)), hint);
}

Status outcome_of_connect(const Socket& socket, const Address& address) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0) return {};
  return environment_error(fmt::format("cannot connect to {}: {}", address.text(), errno_text(error)),
                           error == ECONNREFUSED ? "is the server running, and is the port right?" : "");
}

Result<Socket> listen_on(const Address& address) {
  WM_ASSIGN(Socket socket, new_socket(address));
  set_option(socket, SOL_SOCKET, SO_REUSEADDR);
  if (address.storage.ss_family == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY);
  const auto* where = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::bind(socket.fd(), where, address.size) != 0 || ::listen(socket.fd(), 65535) != 0) {
    return environment_error(fmt::format("cannot listen on {}: {}", address.text(), errno_text(errno)),
                             errno == EADDRINUSE ? "take another port; 0 takes a free one" : "");
  }
  return socket;
}

Address local_address(const Socket& socket) {
  Address address;
  address.size = sizeof address.storage;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) address.size = 0;
  return address;
}

Socket accept_from(const Socket& listening) {
  Socket socket(::accept4(listening.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.open()) set_option(socket, IPPROTO_TCP, TCP_NODELAY);
  return socket;
}

bool ask_for_receive_times(const Socket& socket) {
  const int on = 1;
  return ::setsockopt(socket.fd(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
}

Received receive_from(const Socket& socket, std::span<char> into) {
  iovec piece{into.data(), into.size()};
  alignas(cmsghdr) char control[128];
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket.fd(), &message, 0);
  if (got > 0) return {Received::State::data, static_cast<std::size_t>(got), kernel_time_of(message), 0};
  if (got == 0) return {Received::State::ended, 0, 0, 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {};
  return {Received::State::failed, 0, 0, errno};
}

SentBytes send_to(const Socket& socket, std::string_view bytes) {
  const ssize_t sent = ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return {false, static_cast<std::size_t>(sent), 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {};
  return {true, 0, errno};
}

std::uint64_t limit_of_open_files() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

bool open_files_are_used_up() {
  const Socket probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return !probe.open() && errno == EMFILE;
}

Status allow_open_files(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  if (limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max) {
    const rlimit before = limit;
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit = before;
  }
  if (limit.rlim_cur >= wanted) return {};
  return environment_error(fmt::format("{} connections need {} open files, and {} are allowed", wanted, wanted,
                                       static_cast<std::uint64_t>(limit.rlim_cur)),
                           fmt::format("ulimit -n {}, or fewer connections", wanted));
}

}  // namespace warpmark::http
