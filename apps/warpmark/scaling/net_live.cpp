#include "warpmark/scaling/net_live.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <ostream>
#include <thread>

#include "base/clock.h"
#include "base/subprocess.h"
#include "base/units.h"
#include "collectives/net/live.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

namespace net = warpmark::collectives::net;

struct Poll {
  std::int64_t at_ns = 0;
  std::vector<net::Interface> interfaces;
  std::vector<device::TcpConnection> peers;
};

/// Without peers where the kernel does not tell them; `problem` says why.
Poll probe(std::string& problem) {
  Poll now{monotonic_ns(), net::interfaces(), {}};
  for (auto& port : net::infiniband_ports()) now.interfaces.push_back(std::move(port));
  auto connections = device::tcp_connections();
  if (connections.ok()) {
    now.peers = std::move(*connections);
  } else {
    problem = "no peers: " + connections.error().what;
  }
  return now;
}

/// The command beside us, in a thread that waits for it.
class Job {
 public:
  Job(Context& context, const std::vector<std::string>& words) {
    if (words.empty()) return;
    const auto pass_on = [this, &context](std::string_view text) {
      const std::lock_guard guard(lock_);
      context.err << text << std::flush;
    };
    thread_ = std::thread([this, words, &context, pass_on] {
      constexpr double kAMonth = 30 * 86'400;
      auto output = run_process(words, {.deadline_s = kAMonth,
                                        .output_cap_bytes = 64 << 10,
                                        .own_group = true,
                                        .interrupted = &context.interrupted,
                                        .should_stop = [this] { return stop_.load(); },
                                        .on_out = pass_on,
                                        .on_err = pass_on,
                                        .grace_s = 3});
      const std::lock_guard guard(lock_);
      output_ = std::move(output);
    });
  }
  ~Job() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  [[nodiscard]] bool over() {
    const std::lock_guard guard(lock_);
    return output_.has_value();
  }
  /// Ends it, and tells its exit code.
  Result<int> end() {
    if (!thread_.joinable()) return kSuccess;
    stop_ = true;
    thread_.join();
    if (!output_->ok()) return output_->error();
    return (*output_)->exit_code;
  }

 private:
  std::thread thread_;
  std::mutex lock_;
  std::atomic<bool> stop_{false};
  std::optional<Result<ProcessOutput>> output_;
};

void print_head(std::ostream& out) {
  out << fmt::format("{:>9}  {:<16} {:>14} {:>14} {:>9} {:>8}\n", "", "interface", "received", "sent", "errors/s",
                     "used");
}

void print_poll(std::ostream& out, double at_s, const std::vector<net::Traffic>& traffic,
                const std::vector<net::PeerTraffic>& peers) {
  constexpr std::size_t kMostPeers = 5;
  for (const auto& one : traffic) {
    if (one.received + one.sent <= 0 && one.errors <= 0) continue;
    const double used = one.speed > 0 ? std::max(one.received, one.sent) / one.speed : -1;
    out << fmt::format("{:>7.1f} s  {:<16} {:>14} {:>14} {:>9.1f} {:>8}\n", at_s, one.name,
                       format_si(one.received * 8, "bit/s"), format_si(one.sent * 8, "bit/s"), one.errors,
                       used < 0 ? "-" : format_percent(used));
  }
  for (std::size_t i = 0; i < std::min(peers.size(), kMostPeers); ++i) {
    const auto& one = peers[i];
    if (one.received + one.sent <= 0) break;
    out << fmt::format("             {:<14} {:>14} {:>14} {:>9.1f} {:>8}\n", one.host,
                       format_si(one.received * 8, "bit/s"), format_si(one.sent * 8, "bit/s"), one.retransmits,
                       format_seconds(one.round_trip_s));
  }
  out << std::flush;
}

/// Which interface has which address, of the connections that there are.
std::map<std::string, std::string> interfaces_of(const std::vector<device::TcpConnection>& peers,
                                                 std::map<std::string, std::string>& known) {
  for (const auto& peer : peers) {
    if (!known.contains(peer.local)) known[peer.local] = net::interface_of(peer.local);
  }
  return known;
}

}  // namespace

Result<int> show_live(Context& context, const ParsedOptions& options, const std::vector<std::string>& command) {
  double left_s = -1;
  if (options.has("--time")) {
    WM_ASSIGN(left_s, parse_duration_s(options.get("--time")));
    if (!(left_s > 0)) return usage_error("--time must be above 0");
  }
  WM_ASSIGN(const auto format, format_of(options));
  WM_TRY(check_outputs(options));
  set_grace(6);
  const bool prints = format == "text";
  if (prints) print_head(context.out);
  net::TrafficLog log;
  std::map<std::string, std::string> addresses;
  std::string problem;
  auto before = probe(problem);
  if (!problem.empty()) context.err << "warpmark: " << problem << '\n';
  const std::int64_t begin = before.at_ns;
  Job job(context, command);
  bool ends = false;
  while (!ends) {
    for (int i = 0; i < 20 && !ends; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const double elapsed = static_cast<double>(monotonic_ns() - begin) * 1e-9;
      ends = context.interrupted || (left_s >= 0 && elapsed >= left_s) || job.over();
    }
    auto now = probe(problem);
    const double seconds = static_cast<double>(now.at_ns - before.at_ns) * 1e-9;
    const auto traffic = net::traffic_between(before.interfaces, now.interfaces, seconds);
    const auto peers = net::peer_traffic_between(before.peers, now.peers, seconds, interfaces_of(now.peers, addresses));
    log.add(traffic, peers, seconds);
    if (prints) print_poll(context.out, static_cast<double>(now.at_ns - begin) * 1e-9, traffic, peers);
    before = std::move(now);
  }
  WM_ASSIGN(const int code, job.end());
  const auto shown = shown_as([&] { return log.to_json(); }, log.report());
  if (prints) context.out << '\n';
  WM_TRY(show(context, shown, format));
  WM_TRY(write_report(options, "traffic", shown));
  if (!command.empty()) return command_exit_code(context, code);
  return context.interrupted && left_s >= 0 ? static_cast<int>(kInterrupted) : static_cast<int>(kSuccess);
}

}  // namespace warpmark::apps
