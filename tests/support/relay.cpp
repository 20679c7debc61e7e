#include "support/relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <vector>

namespace warpmark::test {
namespace {

using Clock = std::chrono::steady_clock;

sockaddr_in at(const char* address, int port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address, &place.sin_addr);
  return place;
}

const sockaddr* generic(const sockaddr_in& place) { return reinterpret_cast<const sockaddr*>(&place); }

Clock::time_point later(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// What waits for its time.
struct Carried {
  Clock::time_point due;
  bool to_server = false;
  std::vector<char> bytes;
};

/// The port that a server tells in its line of JSON; 0 if there is none.
int told_port(const std::string& text) {
  const auto key = text.find("\"port\":");
  return key == std::string::npos ? 0 : std::atoi(text.c_str() + key + 7);
}

/// Until something comes or `until`, 20 ms at most.
bool something_comes(pollfd* sockets, nfds_t count, Clock::time_point until) {
  const auto wait = std::chrono::duration_cast<std::chrono::microseconds>(until - Clock::now()).count();
  const long capped = std::max(0L, std::min(20'000L, static_cast<long>(wait)));
  const timespec time{0, capped * 1000};
  return ::ppoll(sockets, count, &time, nullptr) > 0;
}

}  // namespace

Relay::Relay(const RelayOptions& options) : options_(options) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place = at(kAddress, 0);
  socklen_t size = sizeof(place);
  if (::bind(listener_, generic(place), size) != 0 || ::listen(listener_, 16) != 0) return;
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size);
  port_ = ntohs(place.sin_port);
  start(std::thread([this] { accept_all(); }));
}

Relay::~Relay() {
  ends_ = true;
  for (;;) {  // a thread may start another until it has seen that it is to end
    std::thread thread;
    {
      const std::lock_guard guard(lock_);
      if (threads_.empty()) break;
      thread = std::move(threads_.front());
      threads_.pop_front();
    }
    thread.join();
  }
  for (const int socket : sockets_) ::close(socket);
  ::close(listener_);
}

void Relay::start(std::thread thread) {
  const std::lock_guard guard(lock_);
  threads_.push_back(std::move(thread));
}

void Relay::accept_all() {
  while (!ends_) {
    pollfd wait{listener_, POLLIN, 0};
    if (!something_comes(&wait, 1, later(1))) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    {
      const std::lock_guard guard(lock_);
      sockets_.insert(sockets_.end(), {client, server});
    }
    const auto place = at("127.0.0.1", options_.server_port);
    if (client < 0 || ::connect(server, generic(place), sizeof(place)) != 0) continue;
    const int yes = 1;
    for (const int socket : {client, server}) ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    start(std::thread([this, client, server] { pump(client, server, false); }));
    start(std::thread([this, client, server] { pump(server, client, true); }));
  }
}

void Relay::pump(int from, int to, bool from_server) {
  constexpr std::size_t kMostWaiting = 4096;  // pieces; beyond, the sender waits, as at a full router
  std::deque<Carried> waiting;
  std::array<char, 1 << 16> chunk{};
  std::string beginning;
  bool open = true;
  while (!ends_ && (open || !waiting.empty())) {
    pollfd wait{open && waiting.size() < kMostWaiting ? from : -1, POLLIN, 0};
    if (something_comes(&wait, 1, waiting.empty() ? later(1) : waiting.front().due)) {
      const auto got = ::recv(from, chunk.data(), chunk.size(), 0);
      open = got > 0;
      if (open) waiting.push_back({later(options_.delay_s), false, {chunk.begin(), chunk.begin() + got}});
      if (open && from_server && beginning.size() < 4096 && told_port(beginning) == 0) {
        beginning.append(chunk.data(), static_cast<std::size_t>(got));
        if (const int port = told_port(beginning); port > 0) relay_datagrams(port);
      }
    }
    while (!waiting.empty() && waiting.front().due <= Clock::now()) {
      const auto& bytes = waiting.front().bytes;
      for (std::size_t sent = 0; sent < bytes.size();) {
        const auto now = ::send(to, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (now <= 0) return;
        sent += static_cast<std::size_t>(now);
      }
      waiting.pop_front();
    }
  }
  ::shutdown(to, SHUT_WR);
}

void Relay::relay_datagrams(int port) {
  // Bound before the client learns the port.
  const int front = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int back = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  {
    const std::lock_guard guard(lock_);
    sockets_.insert(sockets_.end(), {front, back});
  }
  const auto here = at(kAddress, port), there = at("127.0.0.1", port);
  if (::bind(front, generic(here), sizeof(here)) != 0 || ::connect(back, generic(there), sizeof(there)) != 0) return;
  start(std::thread([this, front, back] {
    SeededDrops drops(options_.seed, options_.loss);
    std::deque<Carried> waiting;
    std::vector<char> message(1 << 16);
    sockaddr_in client{};
    while (!ends_) {
      std::array<pollfd, 2> wait{{{front, POLLIN, 0}, {back, POLLIN, 0}}};
      (void)something_comes(wait.data(), wait.size(), waiting.empty() ? later(1) : waiting.front().due);
      for (const bool to_server : {true, false}) {
        socklen_t size = sizeof(client);
        auto* sender = to_server ? reinterpret_cast<sockaddr*>(&client) : nullptr;
        const auto got = ::recvfrom(to_server ? front : back, message.data(), message.size(), MSG_DONTWAIT, sender,
                                    to_server ? &size : nullptr);
        if (got <= 0) continue;
        if (to_server) ++seen_;
        if (to_server && drops.next()) {
          ++dropped_;
          continue;
        }
        waiting.push_back({later(options_.delay_s), to_server, {message.begin(), message.begin() + got}});
      }
      for (; !waiting.empty() && waiting.front().due <= Clock::now(); waiting.pop_front()) {
        const auto& [due, to_server, bytes] = waiting.front();
        if (to_server) {
          (void)::send(back, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        } else {
          (void)::sendto(front, bytes.data(), bytes.size(), MSG_NOSIGNAL, generic(client), sizeof(client));
        }
      }
    }
  }));
}

}  // namespace warpmark::test
