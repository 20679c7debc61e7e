#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "base/untrusted/read_fields.h"
#include "collectives/net/session.h"

namespace warpmark::collectives::net {
namespace {

double seconds_since(std::int64_t begin_ns) { return static_cast<double>(monotonic_ns() - begin_ns) * 1e-9; }

bool stopped(const ClientOptions& options) { return options.interrupted != nullptr && options.interrupted->load(); }

/// One stream of data, in a thread of its own.
struct Stream {
  Socket socket;
  std::atomic<std::int64_t> bytes{0};
  double received_bytes = 0;  ///< by the receiving side
  double seconds = 0;         ///< of the receiving side
  TcpFacts facts;
  Status status;
  std::thread thread;
};

void send_for(Stream& stream, const ThroughputOptions& how, const ClientOptions& options) {
  const std::vector<char> block(how.block_bytes, 'w');
  for (const std::int64_t begin = monotonic_ns(); seconds_since(begin) < how.seconds && !stopped(options);) {
    stream.status = stream.socket.send_all(block);
    if (!stream.status.ok()) return;
    stream.bytes.fetch_add(static_cast<std::int64_t>(block.size()));
  }
  if (auto facts = tcp_facts(stream.socket); facts.ok()) stream.facts = *facts;
  stream.socket.end_sending();
  const auto reported = stream.socket.receive_line();
  if (!reported.ok()) {
    stream.status = reported.error();
    return;
  }
  stream.received_bytes = reported->value("bytes", 0.0);
  stream.seconds = reported->value("seconds", 0.0);
}

void receive_all_of(Stream& stream, double seconds, const ClientOptions& options) {
  std::vector<char> block(kBlockBytes);
  const std::int64_t begin = monotonic_ns();
  std::int64_t first = 0, last = 0;
  while (seconds_since(begin) < seconds + 30 && !stopped(options)) {
    const auto got = stream.socket.receive_some(block);
    if (!got.ok()) {
      stream.status = got.error();
      return;
    }
    if (*got == 0) break;
    last = monotonic_ns();
    if (first == 0) first = last;
    stream.bytes.fetch_add(static_cast<std::int64_t>(*got));
  }
  if (auto facts = tcp_facts(stream.socket); facts.ok()) stream.facts = *facts;
  stream.received_bytes = static_cast<double>(stream.bytes.load());
  stream.seconds = static_cast<double>(last - first) * 1e-9;
}

std::int64_t retransmits_of(const std::vector<std::unique_ptr<Stream>>& streams) {
  std::int64_t sum = 0;
  for (const auto& stream : streams) {
    if (const auto facts = tcp_facts(stream->socket); facts.ok()) sum += facts->retransmits;
  }
  return sum;
}

/// Tells what went by in every second while the streams work.
std::vector<Second> watch(const std::vector<std::unique_ptr<Stream>>& streams, const ThroughputOptions& how,
                          const ClientOptions& options, const std::function<void(const Second&)>& tick) {
  std::vector<Second> intervals;
  const std::int64_t begin = monotonic_ns();
  double bytes_before = 0, before_s = 0;
  std::int64_t retransmits_before = 0;
  while (before_s < how.seconds && !stopped(options)) {
    const double until = std::min(std::floor(before_s) + 1, how.seconds);
    while (seconds_since(begin) < until && !stopped(options)) {
      std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(until - seconds_since(begin), 0.0, 0.1)));
    }
    const double now = seconds_since(begin);
    double bytes = 0;
    for (const auto& stream : streams) bytes += static_cast<double>(stream->bytes.load());
    const std::int64_t retransmits = how.reverse ? 0 : retransmits_of(streams);
    Second second{before_s, now, bytes - bytes_before, how.reverse ? -1 : retransmits - retransmits_before};
    before_s = now, bytes_before = bytes, retransmits_before = retransmits;
    if (second.to_s - second.from_s < 0.05) continue;
    if (tick) tick(second);
    intervals.push_back(second);
  }
  return intervals;
}

}  // namespace

Result<Opened> open_connection(const ClientOptions& options, Json request) {
  WM_ASSIGN(auto socket, connect_to(options.server, options.timeout_s));
  WM_ASSIGN(const auto hello, socket.receive_line());
  if (!hello.is_object() || hello.value("warpmark", Json()) != "net/2") {
    return data_error("the other side is no server of this version of warpmark net",
                      "run the same warpmark on both sides");
  }
  WM_ASSIGN(request["answer"], read_fields("the server's greeting", [&]() -> Result<std::string> {
              return answer_to(options.token, hello.value("challenge", ""));
            }));
  WM_TRY(socket.send_line(request));
  WM_ASSIGN(auto answer, socket.receive_line());
  if (answer.is_object() && answer.contains("error")) {
    return usage_error("the server refuses: " + dump_json(answer["error"], -1),
                       "give the token that it printed, in WARPMARK_NET_TOKEN or --token-file");
  }
  return Opened{std::move(socket), std::move(answer)};
}

Result<Throughput> measure_throughput(const ClientOptions& options, const ThroughputOptions& how,
                                      const std::function<void(const Second&)>& tick) {
  std::vector<std::unique_ptr<Stream>> open_streams;
  for (int i = 0; i < how.streams; ++i) {
    Json request{{"kind", how.reverse ? "source" : "sink"},
                 {"seconds", how.seconds},
                 {"streams", how.streams},
                 {"block", how.block_bytes}};
    WM_ASSIGN(auto opened, open_connection(options, std::move(request)));
    open_streams.push_back(std::make_unique<Stream>());
    open_streams.back()->socket = std::move(opened.socket);
    if (how.reverse && how.streams > 1) WM_TRY(open_streams.back()->socket.wake_for(kWakeBytes));
    WM_TRY(open_streams.back()->socket.set_timeout(options.timeout_s + 5));
  }
  Throughput result{.streams = how.streams, .reverse = how.reverse, .block_bytes = how.block_bytes};
  result.local = local_address(open_streams.front()->socket);
  result.peer = peer_address(open_streams.front()->socket);
  for (auto& stream : open_streams) {
    stream->thread = std::thread([&stream = *stream, &how, &options] {
      how.reverse ? receive_all_of(stream, how.seconds, options) : send_for(stream, how, options);
    });
  }
  result.intervals = watch(open_streams, how, options, tick);
  for (auto& stream : open_streams) stream->thread.join();
  for (const auto& stream : open_streams) {
    if (!stream->status.ok()) return stream->status.error();
    result.bytes += stream->received_bytes;
    result.seconds = std::max(result.seconds, stream->seconds);
    result.retransmits += how.reverse ? 0 : stream->facts.retransmits;
    result.stream_rates.push_back(stream->seconds > 0 ? stream->received_bytes / stream->seconds : 0);
  }
  result.facts = open_streams.front()->facts;
  return result;
}

Result<Latency> measure_latency(const ClientOptions& options, std::size_t bytes, int count, double seconds) {
  WM_ASSIGN(auto opened, open_connection(options, Json{{"kind", "echo"}, {"bytes", bytes}}));
  Socket& socket = opened.socket;
  WM_TRY(socket.send_at_once());
  std::vector<char> message(bytes, 'w');
  Latency latency{bytes, {}};
  constexpr int kWarmups = 10;
  const std::int64_t begin = monotonic_ns();
  for (int i = 0; i < count + kWarmups && seconds_since(begin) < seconds && !stopped(options); ++i) {
    const std::int64_t sent = monotonic_ns();
    WM_TRY(socket.send_all(message));
    WM_TRY(socket.receive_all(message));
    if (i >= kWarmups) latency.round_trips_s.push_back(seconds_since(sent));
  }
  socket.end_sending();
  return latency;
}

Result<Datagrams> measure_datagrams(const ClientOptions& options, const DatagramOptions& how) {
  const double whole = how.count * how.interval_s + 1;
  WM_ASSIGN(auto opened, open_connection(options, Json{{"kind", "udp"}, {"seconds", whole}}));
  int port = 0;
  std::string mark;
  WM_TRY(read_fields("the server's answer", [&]() -> Status {
    port = opened.answer.at("port").get<int>();
    mark = opened.answer.at("mark").get<std::string>();
    return {};
  }));
  WM_ASSIGN(auto udp, udp_to_peer_of(opened.socket, port));
  struct Packet {
    std::array<char, 32> mark{};
    std::int64_t number = 0;
    std::int64_t sent_ns = 0;
  };
  static_assert(sizeof(Packet) == kDatagramBytes);
  std::vector<char> message(std::clamp(how.bytes, kDatagramBytes, kMostDatagramBytes), 'w');
  Datagrams result{.bytes = message.size()};
  std::int64_t newest = -1;
  std::set<std::int64_t> seen;
  const std::int64_t begin = monotonic_ns();
  while (seconds_since(begin) < whole && !stopped(options)) {
    const double due = result.sent * how.interval_s;
    if (result.sent < how.count && seconds_since(begin) >= due) {
      Packet packet{{}, result.sent, monotonic_ns()};
      std::copy_n(mark.begin(), std::min(mark.size(), packet.mark.size()), packet.mark.begin());
      std::memcpy(message.data(), &packet, sizeof(packet));
      // What the path could not take yet was not lost on it: it is tried again.
      const auto left = ::send(udp.handle(), message.data(), message.size(), MSG_NOSIGNAL);
      if (left < 0 && errno == EMSGSIZE) {
        return usage_error(fmt::format("datagrams of {} bytes are too large for this path", message.size()),
                           "a smaller --datagram");
      }
      if (left == static_cast<ssize_t>(message.size())) ++result.sent;
    }
    if (result.sent == how.count && seen.size() == static_cast<std::size_t>(how.count)) break;
    const double next = result.sent * how.interval_s - seconds_since(begin);
    WM_TRY(udp.set_timeout(result.sent < how.count ? std::max(next, 1e-5) : 0.05));
    const auto got = ::recv(udp.handle(), message.data(), message.size(), 0);
    if (got != static_cast<ssize_t>(message.size())) continue;
    Packet packet;
    std::memcpy(&packet, message.data(), sizeof(packet));
    if (packet.number < 0 || packet.number >= result.sent || !seen.insert(packet.number).second) continue;
    result.round_trips_s.push_back(seconds_since(packet.sent_ns));
    if (packet.number < newest) ++result.out_of_order;
    newest = std::max(newest, packet.number);
  }
  return result;
}

double jitter(const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 1; i < values.size(); ++i) sum += std::fabs(values[i] - values[i - 1]);
  return values.size() < 2 ? 0 : sum / static_cast<double>(values.size() - 1);
}

}  // namespace warpmark::collectives::net
