// The two sides of `warpmark net`. Every connection begins with a challenge: the server sends a number, the client the
// hash of token and number, so that nobody without the token makes a server send or receive. Nothing is encrypted.
//
//   {"kind": "sink", "seconds": 10, "streams": 4}         the client sends until it ends; the server tells what came
//   {"kind": "source", "seconds": 10, "block": 131072}    the server sends, so much a call
//   {"kind": "echo", "bytes": 64}        the server returns every message
//   {"kind": "udp", "seconds": 10}       the server returns datagrams on a port that it tells
//   {"kind": "clock"}                    the server answers each message with its time (clock.h)
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "collectives/net/socket.h"

namespace warpmark::collectives::net {

inline constexpr int kDefaultPort = 5801;
inline constexpr std::size_t kBlockBytes = 128 << 10;  ///< of a call to send, as iperf3's

/// Of several streams each has a thread, and those that share a processor interrupt each other for every piece that
/// comes: beside iperf3, whose one thread looks at all, four streams reached 0.86 of its rate, and 1.0 with this.
inline constexpr std::size_t kWakeBytes = 64 << 10;

struct ServerOptions {
  std::string token;
  double longest_s = 3600;  ///< of one connection
  int most_connections = 128;
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(const std::string&)> log{};  ///< one line a connection. Any thread
  bool once = false;                              ///< end when the first client's connections have ended
  /// Further kinds, as recorded ranks need; nothing for a kind that it does not know. Any thread
  std::function<std::optional<Status>(const std::string& kind, const Json& request, Socket& socket)> more{};
};
/// Serves until interrupted.
[[nodiscard]] Status serve(Socket listener, const ServerOptions& options);

struct ClientOptions {
  Address server;
  std::string token;
  double timeout_s = 10;  ///< of connecting and of every answer
  const std::atomic<bool>* interrupted = nullptr;
};

struct Opened {
  Socket socket;
  Json answer;
};
/// A connection of that kind ("kind" of the request) that the server has accepted. Usage error for a wrong token.
[[nodiscard]] Result<Opened> open_connection(const ClientOptions& options, Json request);

/// One second, or what was left, of all streams together.
struct Second {
  double from_s = 0;
  double to_s = 0;
  double bytes = 0;
  std::int64_t retransmits = 0;  ///< -1: not known, as the other side sends
};

struct ThroughputOptions {
  int streams = 1;
  double seconds = 5;
  bool reverse = false;                   ///< the server sends
  std::size_t block_bytes = kBlockBytes;  ///< of a call to send
};

struct Throughput {
  int streams = 1;
  bool reverse = false;
  std::size_t block_bytes = kBlockBytes;
  double bytes = 0;    ///< that the receiver got
  double seconds = 0;  ///< of the receiver
  std::int64_t retransmits = 0;
  TcpFacts facts;  ///< of the first stream, at the end
  std::vector<Second> intervals;
  std::vector<double> stream_rates;  ///< B/s
  std::string local;
  std::string peer;
};
/// Sends for so long over so many streams. `tick` gets every second as it ends.
[[nodiscard]] Result<Throughput> measure_throughput(const ClientOptions& options, const ThroughputOptions& how,
                                                    const std::function<void(const Second&)>& tick);

struct Latency {
  std::size_t bytes = 0;              ///< of the message, both ways
  std::vector<double> round_trips_s;  ///< in order
};
/// Messages over TCP, one after another, until `count` or `seconds` is over.
[[nodiscard]] Result<Latency> measure_latency(const ClientOptions& options, std::size_t bytes, int count,
                                              double seconds);

inline constexpr std::size_t kDatagramBytes = 48;         ///< at least: what tells one from another
inline constexpr std::size_t kMostDatagramBytes = 65507;  ///< that UDP over IPv4 carries

struct DatagramOptions {
  int count = 100;
  double interval_s = 0.01;
  std::size_t bytes = kDatagramBytes;  ///< of each, kDatagramBytes to kMostDatagramBytes
};

struct Datagrams {
  int sent = 0;
  std::vector<double> round_trips_s;  ///< of those that came back
  int out_of_order = 0;
  std::size_t bytes = kDatagramBytes;
};
/// UDP every `interval_s`, as ping sends; waits a second for stragglers.
[[nodiscard]] Result<Datagrams> measure_datagrams(const ClientOptions& options, const DatagramOptions& how);

/// Mean difference of successive values (RFC 3550's jitter without its smoothing).
[[nodiscard]] double jitter(const std::vector<double>& values);

/// 32 hexadecimal digits from the kernel.
[[nodiscard]] std::string random_token();
[[nodiscard]] std::string answer_to(const std::string& token, const std::string& challenge);

}  // namespace warpmark::collectives::net
