// A network that is slower and loses things, in user space: a relay between a client and a server of this machine that
// delays all it carries and drops datagrams by a seed. For kernels that have no netem.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>

namespace warpmark::test {

/// Which datagrams are lost, by their order.
class SeededDrops {
 public:
  SeededDrops(std::uint64_t seed, double share) : random_(seed), share_(share) {}
  bool next() { return static_cast<double>(random_() >> 11) * 0x1p-53 < share_; }

 private:
  std::mt19937_64 random_;
  double share_;
};

struct RelayOptions {
  int server_port = 0;  ///< of TCP, at 127.0.0.1
  double delay_s = 0;   ///< each way
  double loss = 0;      ///< share of the datagrams to the server
  std::uint64_t seed = 1;
};

/// Listens at an address of the loopback of its own, so that a port which the server tells a client (as "port" in a
/// line of JSON) is found there, too: datagrams to it are relayed as well. TCP loses nothing: what a relay drops of it
/// nobody sends again.
class Relay {
 public:
  explicit Relay(const RelayOptions& options);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  static constexpr const char* kAddress = "127.0.0.2";
  [[nodiscard]] int port() const { return port_; }       ///< 0 where it cannot listen
  [[nodiscard]] int datagrams() const { return seen_; }  ///< from the client, lost ones too
  [[nodiscard]] int dropped() const { return dropped_; }

 private:
  void accept_all();
  void pump(int from, int to, bool from_server);
  void relay_datagrams(int port);
  void start(std::thread thread);

  RelayOptions options_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> ends_{false};
  std::atomic<int> seen_{0};
  std::atomic<int> dropped_{0};
  std::mutex lock_;
  std::list<std::thread> threads_;
  std::list<int> sockets_;
};

}  // namespace warpmark::test
