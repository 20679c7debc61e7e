#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <list>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "base/sha256.h"
#include "collectives/net/session.h"

namespace warpmark::collectives::net {
namespace {

/// A client whose first packet was lost sends it again after a second (RFC 6298).
constexpr double kIdle_s = 2;
constexpr double kStranger_s = 2;  ///< in which a client shows that it knows the token
constexpr auto kPauseAfterFailure = std::chrono::milliseconds(100);
constexpr double kMostBytes = 64 << 20;  ///< of a message or block that a client may ask for

double served_s(std::int64_t begin_ns) { return static_cast<double>(monotonic_ns() - begin_ns) * 1e-9; }

/// One client's connection.
class Connection {
 public:
  Connection(Socket socket, const ServerOptions& options) : socket_(std::move(socket)), options_(options) {}

  void serve() {
    const std::string peer = peer_address(socket_);
    const auto status = talk();
    if (options_.log)
      options_.log(status.ok() ? fmt::format("{} {}", peer, done_) : fmt::format("{} {}", peer, status.error().what));
  }

 private:
  Status talk() {
    WM_TRY(socket_.set_timeout(kStranger_s));
    const std::string challenge = random_token();
    WM_TRY(socket_.send_line(Json{{"warpmark", "net/2"}, {"challenge", challenge}}));
    WM_ASSIGN(const auto request, socket_.receive_line(kStranger_s));
    if (!request.is_object() || !equal(text_in(request, "answer"), answer_to(options_.token, challenge))) {
      WM_TRY(socket_.send_line(Json{{"error", "wrong token"}}));
      return usage_error("wrong token");
    }
    WM_TRY(socket_.set_timeout(10));
    const std::string kind = text_in(request, "kind");
    const double seconds = std::clamp(number_in(request, "seconds", 10), 0.0, options_.longest_s);
    if (kind == "sink") return sink(seconds, number_in(request, "streams", 1) > 1);
    if (kind == "source") return source(seconds, number_in(request, "block", kBlockBytes));
    if (kind == "echo") return echo(number_in(request, "bytes", 1));
    if (kind == "udp") return datagrams(seconds);
    if (options_.more) {
      if (auto handled = options_.more(kind, request, socket_)) return *handled;
    }
    return socket_.send_line(Json{{"error", "unknown kind '" + kind + "'"}});
  }

  static std::string text_in(const Json& json, const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
  }
  static double number_in(const Json& json, const char* key, double otherwise) {
    return json.contains(key) && json[key].is_number() ? json[key].get<double>() : otherwise;
  }
  /// In a time that does not depend on where they differ.
  static bool equal(const std::string& a, const std::string& b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
    return difference == 0;
  }
  [[nodiscard]] bool over(std::int64_t begin_ns, double seconds) const {
    return served_s(begin_ns) > seconds || (options_.interrupted != nullptr && options_.interrupted->load());
  }

  Status refuse_size() { return socket_.send_line(Json{{"error", "1 B to 64 MiB a message"}}); }

  Status sink(double seconds, bool several) {
    if (several) WM_TRY(socket_.wake_for(kWakeBytes));
    WM_TRY(socket_.send_line(Json{{"ok", true}}));
    std::vector<char> block(kBlockBytes);
    double bytes = 0;
    std::int64_t begin = 0, end = 0;
    for (std::int64_t started = monotonic_ns(); !over(started, seconds + 30);) {
      WM_ASSIGN(const auto got, socket_.receive_some(block));
      if (got == 0) break;
      end = monotonic_ns();
      if (begin == 0) begin = end;
      bytes += static_cast<double>(got);
    }
    done_ = fmt::format("sent {:.3g} GB", bytes * 1e-9);
    return socket_.send_line(Json{{"bytes", bytes}, {"seconds", static_cast<double>(end - begin) * 1e-9}});
  }

  Status source(double seconds, double block_bytes) {
    if (!(block_bytes >= 1 && block_bytes <= kMostBytes)) return refuse_size();
    WM_TRY(socket_.send_line(Json{{"ok", true}}));
    const std::vector<char> block(static_cast<std::size_t>(block_bytes), 'w');
    double bytes = 0;
    for (const std::int64_t begin = monotonic_ns(); !over(begin, seconds);) {
      WM_TRY(socket_.send_all(block));
      bytes += static_cast<double>(block.size());
    }
    done_ = fmt::format("received {:.3g} GB", bytes * 1e-9);
    socket_.end_sending();
    return {};
  }

  Status echo(double bytes) {
    if (!(bytes >= 1 && bytes <= kMostBytes)) return refuse_size();
    WM_TRY(socket_.send_line(Json{{"ok", true}}));
    WM_TRY(socket_.send_at_once());
    std::vector<char> message(static_cast<std::size_t>(bytes));
    std::int64_t count = 0;
    for (const std::int64_t begin = monotonic_ns(); !over(begin, options_.longest_s); ++count) {
      WM_ASSIGN(const auto first, socket_.receive_some(message));
      if (first == 0) break;
      WM_TRY(socket_.receive_all(std::span(message).subspan(first)));
      WM_TRY(socket_.send_all(message));
    }
    done_ = fmt::format("{} messages of {:.0f} bytes", count, bytes);
    return {};
  }

  Status datagrams(double seconds) {
    WM_ASSIGN(auto udp, udp_companion(socket_));
    WM_TRY(udp.set_timeout(0.2));
    const std::string mark = random_token();
    WM_TRY(socket_.send_line(Json{{"ok", true}, {"port", port_of(udp)}, {"mark", mark}}));
    std::vector<char> message(kMostDatagramBytes);
    int count = 0;
    for (const std::int64_t begin = monotonic_ns(); !over(begin, seconds + 2);) {
      sockaddr_storage from{};
      socklen_t size = sizeof(from);
      const auto got =
          ::recvfrom(udp.handle(), message.data(), message.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
      // Only what carries this connection's mark is returned: others make no use of the port.
      if (got < static_cast<ssize_t>(mark.size()) || mark.compare(0, mark.size(), message.data(), mark.size()) != 0) {
        continue;
      }
      if (::sendto(udp.handle(), message.data(), static_cast<std::size_t>(got), 0, reinterpret_cast<sockaddr*>(&from),
                   size) > 0)
        ++count;
    }
    done_ = fmt::format("{} datagrams", count);
    return {};
  }

  Socket socket_;
  const ServerOptions& options_;
  std::string done_ = "said nothing";
};

struct Served {
  std::thread thread;
  std::shared_ptr<std::atomic<bool>> done;
};

}  // namespace

Status serve(Socket listener, const ServerOptions& options) {
  std::list<Served> served;
  bool any = false;
  std::int64_t busy_ns = 0;  // when somebody was served last
  const auto stops = [&] { return options.interrupted != nullptr && options.interrupted->load(); };
  while (!stops()) {
    for (auto item = served.begin(); item != served.end();) {
      if (!item->done->load()) {
        ++item;
        continue;
      }
      item->thread.join();
      item = served.erase(item);
    }
    pollfd wait{listener.handle(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, 200);
    if (!served.empty()) busy_ns = monotonic_ns();
    const bool idle = any && served.empty() && static_cast<double>(monotonic_ns() - busy_ns) * 1e-9 > kIdle_s;
    if (ready == 0 && options.once && idle) break;
    if (ready <= 0) continue;
    auto socket = accept_from(listener);
    if (!socket.ok()) {  // at the limit of open files the next attempt would fail at once, too
      std::this_thread::sleep_for(kPauseAfterFailure);
      continue;
    }
    if (served.size() >= static_cast<std::size_t>(options.most_connections)) {
      if (options.log) options.log(peer_address(*socket) + " refused: too many connections");
      continue;
    }
    any = true;
    auto done = std::make_shared<std::atomic<bool>>(false);
    served.push_back({std::thread([connection = std::make_shared<Connection>(std::move(*socket), options), done] {
                        connection->serve();
                        done->store(true);
                      }),
                      done});
  }
  for (auto& item : served) item.thread.join();
  return {};
}

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string answer_to(const std::string& token, const std::string& challenge) {
  return sha256_hex(sha256_hex(token + ":" + challenge) + ":" + token);
}

}  // namespace warpmark::collectives::net
