#include "device/cpu/tcp_connections.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

namespace warpmark::device {
namespace {

constexpr unsigned kEstablished = 1U << 1;  // TCP_ESTABLISHED of the kernel's tcp_states.h

// Of the kernel's struct tcp_info (linux/tcp.h, whose names clash with those of the C library; the kernel appends to it
// and never changes it).
constexpr std::size_t kRoundTripMicroseconds = 68;
constexpr std::size_t kTotalRetransmits = 100;
constexpr std::size_t kBytesAcked = 120;
constexpr std::size_t kBytesReceived = 128;

class DiagSocket {
 public:
  DiagSocket() : fd_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    if (fd_ >= 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~DiagSocket() {
    if (fd_ >= 0) ::close(fd_);
  }
  DiagSocket(const DiagSocket&) = delete;
  DiagSocket& operator=(const DiagSocket&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

bool ask_for(int fd, int family) {
  struct {
    nlmsghdr head;
    inet_diag_req_v2 body;
  } request{};
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = static_cast<std::uint8_t>(family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  request.body.idiag_states = kEstablished;
  return ::send(fd, &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request);
}

/// An address of a socket: an IPv4 one also where the socket is of IPv6. Whether it is the loopback's.
bool name_address(int family, const void* words, std::string& into) {
  const auto* bytes = static_cast<const unsigned char*>(words);
  bool four = family == AF_INET, loopback = false;
  if (!four) {
    constexpr std::array<unsigned char, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    loopback = IN6_IS_ADDR_LOOPBACK(reinterpret_cast<const in6_addr*>(bytes));
    if (std::equal(kMapped.begin(), kMapped.end(), bytes)) {
      four = true;
      bytes += kMapped.size();
    }
  }
  if (four) loopback = bytes[0] == 127;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_ntop(four ? AF_INET : AF_INET6, bytes, text.data(), text.size()) != nullptr) into = text.data();
  return loopback;
}

template <typename Number>
Number number_at(const char* info, std::size_t offset) {
  Number number{};
  std::memcpy(&number, info + offset, sizeof number);
  return number;
}

void add_connection(const nlmsghdr& head, std::vector<TcpConnection>& into) {
  if (head.nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg))) return;
  inet_diag_msg message{};
  std::memcpy(&message, NLMSG_DATA(&head), sizeof message);
  TcpConnection connection;
  connection.cookie = static_cast<std::uint64_t>(message.id.idiag_cookie[1]) << 32 | message.id.idiag_cookie[0];
  name_address(message.idiag_family, message.id.idiag_src, connection.local);
  connection.loopback = name_address(message.idiag_family, message.id.idiag_dst, connection.peer);
  std::size_t left = head.nlmsg_len - NLMSG_LENGTH(sizeof message);
  const auto* at = static_cast<const char*>(NLMSG_DATA(&head)) + NLMSG_ALIGN(sizeof message);
  while (left >= sizeof(rtattr)) {
    rtattr attribute{};
    std::memcpy(&attribute, at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > left) return;
    if (attribute.rta_type == INET_DIAG_INFO &&
        attribute.rta_len >= RTA_LENGTH(kBytesReceived + sizeof(std::uint64_t))) {
      const char* info = at + RTA_LENGTH(0);
      connection.sent = number_at<std::uint64_t>(info, kBytesAcked);
      connection.received = number_at<std::uint64_t>(info, kBytesReceived);
      connection.retransmits = number_at<std::uint32_t>(info, kTotalRetransmits);
      connection.round_trip_s = 1e-6 * number_at<std::uint32_t>(info, kRoundTripMicroseconds);
      into.push_back(connection);
      return;
    }
    const std::size_t step = RTA_ALIGN(attribute.rta_len);
    if (step >= left) return;
    at += step;
    left -= step;
  }
}

Status dump_family(int fd, int family, std::vector<TcpConnection>& into) {
  if (!ask_for(fd, family)) return unsupported_error(std::string("sock_diag: ") + std::strerror(errno));
  alignas(nlmsghdr) std::array<char, 1 << 15> buffer{};
  while (true) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return unsupported_error(std::string("sock_diag: ") + std::strerror(errno));
    auto left = static_cast<std::size_t>(got);
    const auto* head = reinterpret_cast<const nlmsghdr*>(buffer.data());
    while (left >= sizeof(nlmsghdr) && head->nlmsg_len >= sizeof(nlmsghdr) && head->nlmsg_len <= left) {
      if (head->nlmsg_type == NLMSG_DONE) return {};
      if (head->nlmsg_type == NLMSG_ERROR) return unsupported_error("the kernel does not list connections");
      if (into.size() < kMostConnections) add_connection(*head, into);
      const std::size_t step = std::min<std::size_t>(NLMSG_ALIGN(head->nlmsg_len), left);
      left -= step;
      head = reinterpret_cast<const nlmsghdr*>(reinterpret_cast<const char*>(head) + step);
    }
  }
}

}  // namespace

Result<std::vector<TcpConnection>> tcp_connections() {
  const DiagSocket socket;
  if (socket.fd() < 0) return unsupported_error(std::string("sock_diag: ") + std::strerror(errno));
  std::vector<TcpConnection> found;
  for (const int family : {AF_INET, AF_INET6}) WM_TRY(dump_family(socket.fd(), family, found));
  return found;
}

std::vector<PeerBytes> peer_bytes_between(const std::vector<TcpConnection>& before,
                                          const std::vector<TcpConnection>& after) {
  std::map<std::uint64_t, const TcpConnection*> known;
  for (const auto& one : before) known[one.cookie] = &one;
  const TcpConnection nothing;
  std::map<std::string, PeerBytes> peers;
  for (const auto& one : after) {
    const auto then = known.find(one.cookie);
    const TcpConnection& from = then == known.end() ? nothing : *then->second;
    auto& peer = peers[one.peer];
    peer.peer = one.peer;
    peer.local = one.local;
    ++peer.connections;
    peer.received += one.received - from.received;
    peer.sent += one.sent - from.sent;
    peer.retransmits += one.retransmits - from.retransmits;
    peer.round_trip_s = std::max(peer.round_trip_s, one.round_trip_s);
  }
  std::vector<PeerBytes> busiest;
  for (auto& [address, peer] : peers) busiest.push_back(std::move(peer));
  std::stable_sort(busiest.begin(), busiest.end(),
                   [](const auto& a, const auto& b) { return a.received + a.sent > b.received + b.sent; });
  return busiest;
}

}  // namespace warpmark::device
