#include "watch/exporter/peers.h"

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

namespace warpmark::watch {
namespace {

constexpr unsigned kEstablished = 1U << 1;  // TCP_ESTABLISHED of the kernel's tcp_states.h

// Of the kernel's struct tcp_info (linux/tcp.h, whose names clash with those of the C library; the kernel appends to it
// and never changes it).
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

void name_peer(const inet_diag_msg& message, TcpConnection& connection) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto* bytes = reinterpret_cast<const unsigned char*>(message.id.idiag_dst);
  bool four = message.idiag_family == AF_INET;
  if (!four) {
    constexpr std::array<unsigned char, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    connection.loopback = IN6_IS_ADDR_LOOPBACK(reinterpret_cast<const in6_addr*>(bytes));
    if (std::equal(kMapped.begin(), kMapped.end(), bytes)) {
      four = true;
      bytes += kMapped.size();
    }
  }
  if (four) connection.loopback = bytes[0] == 127;
  if (::inet_ntop(four ? AF_INET : AF_INET6, bytes, text.data(), text.size()) != nullptr) connection.peer = text.data();
}

void add_connection(const nlmsghdr& head, std::vector<TcpConnection>& into) {
  if (head.nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg))) return;
  inet_diag_msg message{};
  std::memcpy(&message, NLMSG_DATA(&head), sizeof message);
  TcpConnection connection;
  connection.cookie = static_cast<std::uint64_t>(message.id.idiag_cookie[1]) << 32 | message.id.idiag_cookie[0];
  name_peer(message, connection);
  std::size_t left = head.nlmsg_len - NLMSG_LENGTH(sizeof message);
  const auto* at = static_cast<const char*>(NLMSG_DATA(&head)) + NLMSG_ALIGN(sizeof message);
  while (left >= sizeof(rtattr)) {
    rtattr attribute{};
    std::memcpy(&attribute, at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > left) return;
    if (attribute.rta_type == INET_DIAG_INFO &&
        attribute.rta_len >= RTA_LENGTH(kBytesReceived + sizeof(std::uint64_t))) {
      std::memcpy(&connection.sent, at + RTA_LENGTH(kBytesAcked), sizeof connection.sent);
      std::memcpy(&connection.received, at + RTA_LENGTH(kBytesReceived), sizeof connection.received);
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
      if (head->nlmsg_type == NLMSG_ERROR) return unsupported_error("the kernel does not tell of connections");
      if (into.size() < kMostConnections) add_connection(*head, into);
      const std::size_t step = std::min<std::size_t>(NLMSG_ALIGN(head->nlmsg_len), left);
      left -= step;
      head = reinterpret_cast<const nlmsghdr*>(reinterpret_cast<const char*>(head) + step);
    }
  }
}

struct PeerTraffic {
  double received = 0, sent = 0;  // bytes since the look before
  double connections = 0;
};

}  // namespace

Result<std::vector<TcpConnection>> tcp_connections() {
  const DiagSocket socket;
  if (socket.fd() < 0) return unsupported_error(std::string("sock_diag: ") + std::strerror(errno));
  std::vector<TcpConnection> found;
  for (const int family : {AF_INET, AF_INET6}) WM_TRY(dump_family(socket.fd(), family, found));
  return found;
}

std::vector<Family> PeerLook::families(std::int64_t monotonic_ns) {
  const auto now = source_();
  if (!now.ok()) return {};
  const double elapsed_s = last_ns_ == 0 ? 0 : static_cast<double>(monotonic_ns - last_ns_) * 1e-9;
  std::map<std::string, PeerTraffic> by_peer;
  std::map<std::uint64_t, TcpConnection> seen;
  for (const auto& connection : *now) {
    if (connection.loopback && !loopback_) continue;
    auto& peer = by_peer[connection.peer];
    ++peer.connections;
    const auto before = before_.find(connection.cookie);
    if (before != before_.end()) {
      peer.received += static_cast<double>(connection.received - before->second.received);
      peer.sent += static_cast<double>(connection.sent - before->second.sent);
    } else if (last_ns_ != 0) {  // opened since
      peer.received += static_cast<double>(connection.received);
      peer.sent += static_cast<double>(connection.sent);
    }
    seen[connection.cookie] = connection;
  }
  before_ = std::move(seen);
  last_ns_ = monotonic_ns;
  std::vector<std::pair<std::string, PeerTraffic>> peers(by_peer.begin(), by_peer.end());
  std::stable_sort(peers.begin(), peers.end(), [](const auto& a, const auto& b) {
    return a.second.received + a.second.sent > b.second.received + b.second.sent;
  });
  if (peers.size() > kMostPeers) peers.resize(kMostPeers);
  Family received{"warpmark_network_peer_received_bytes_per_second",
                  "Bytes received from the peer over TCP connections that are open, a second since the last scrape.",
                  FamilyType::gauge,
                  {}};
  Family sent{"warpmark_network_peer_sent_bytes_per_second",
              "Bytes that the peer acknowledged over them, a second since the last scrape.",
              FamilyType::gauge,
              {}};
  Family connections{"warpmark_network_peer_connections", "TCP connections with the peer.", FamilyType::gauge, {}};
  for (const auto& [name, traffic] : peers) {
    const Labels labels = {{"peer", name}};
    connections.samples.push_back({labels, traffic.connections});
    if (elapsed_s <= 0) continue;
    received.samples.push_back({labels, traffic.received / elapsed_s});
    sent.samples.push_back({labels, traffic.sent / elapsed_s});
  }
  return {std::move(received), std::move(sent), std::move(connections)};
}

}  // namespace warpmark::watch
