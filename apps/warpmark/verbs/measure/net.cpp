// The network between two machines, between all of several, and live.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "collectives/net/pairs.h"
#include "collectives/start/launch.h"
#include "model/fields/fields.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/command.h"
#include "warpmark/scaling/net_live.h"
#include "warpmark/scaling/net_report.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_runs.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

namespace net = warpmark::collectives::net;

constexpr std::int64_t kMostBlock = 4 << 20;  // of which each stream has one; larger ones tell nothing more

constexpr OptionSpec kNetOptions[] = {
    {"--token-file", "FILE",
     "holds the server's secret (default: WARPMARK_NET_TOKEN; a server without one makes and prints one)",
     of("server, client")},
    {"--bind", "ADDRESS", "where to listen (default 127.0.0.1, this machine alone)", of("server")},
    {"--port", "N", "port of the server (default 5801)", of("server, client")},
    {"--once", "", "end after the first client", of("server")},
    {"--streams", "N,N,...", "numbers of TCP streams (default 1,4)", of("client")},
    {"--time", "TIME", "of each throughput test (default 5s)", of("client")},
    {"--time", "TIME", "how long (default until Ctrl-C)", of("live")},
    {"--reverse", "", "the server sends", of("client")},
    {"--block", "BYTES,...", "bytes of one call to send (default 128Ki); several: throughput by message size",
     of("client")},
    {"--sizes", "BYTES,...", "sizes of messages for round trips (default 1,1Ki,64Ki); 0 leaves them out", of("client")},
    {"--udp", "N", "datagrams for loss and jitter, one every 10 ms (default 100); 0 leaves them out", of("client")},
    {"--datagram", "BYTES", "of each datagram (default and least 48, up to 65507)", of("client")},
    {"--hosts", "FILE", "test all pairs of these hosts, one a line, through mpirun"},
    {"--ranks", "N", "with --hosts: ranks (default: one a host)"},
    {"--launcher-arg", "WORD", "a further word for mpirun", true},
    {"--as-rank", "", "be one of the ranks of --hosts; what the launcher starts"},
    {"--json", "[FILE]", "write the results as JSON (warpmark.net/1, net_pairs/1, net_live/1)",
     of("client, live, --hosts")},
    {"--html", "FILE", "write the report as an HTML page", of("client, live, --hosts")},
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json", of("client, live, --hosts"),
     "text md html json"},
    {"--no-store", "", "do not store the runs in the history", of("client, --hosts")},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or your own file)", of("client, --hosts")},
};

Result<std::string> secret_of(const Context& context, const ParsedOptions& options) {
  if (options.has("--token-file")) {
    WM_ASSIGN(const auto text, read_file(options.get("--token-file"), 1 << 16));
    return std::string(trim(text));
  }
  const char* value = context.environment("WARPMARK_NET_TOKEN");
  return std::string(value != nullptr ? value : "");
}

Result<int> be_server(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto port, count_of(options, "--port", net::kDefaultPort, 0, 65535));
  WM_ASSIGN(auto token, secret_of(context, options));
  WM_ASSIGN(auto listener, net::listen_on({options.get("--bind", "127.0.0.1"), static_cast<int>(port)}));
  const bool made = token.empty();
  if (made) token = net::random_token();
  context.out << fmt::format("listening on {} port {}\n", net::local_address(listener), net::port_of(listener));
  if (made) context.out << "token: " << token << "\n";
  context.out << std::flush;
  set_grace(5);
  std::mutex lock;
  WM_TRY(net::serve(std::move(listener), {.token = token,
                                          .interrupted = &context.interrupted,
                                          .log =
                                              [&](const std::string& line) {
                                                const std::lock_guard guard(lock);
                                                context.out << line << '\n' << std::flush;
                                              },
                                          .once = options.has("--once")}));
  return kSuccess;
}

Result<std::vector<std::int64_t>> numbers_of(const std::string& text, const char* option, bool bytes) {
  std::vector<std::int64_t> numbers;
  for (const auto& part : split(text, ',')) {
    const auto number = bytes ? parse_bytes(trim(part)) : parse_integer(trim(part));
    if (!number.ok() || *number < 0 || *number > (64 << 20)) {
      return usage_error(fmt::format("{} {} is no list of numbers", option, text), "such as 1,4");
    }
    numbers.push_back(*number);
  }
  return numbers;
}

/// What the client is asked to measure.
struct PathPlan {
  std::vector<std::int64_t> streams, sizes, blocks;
  net::DatagramOptions datagrams;
  double seconds = 0;
  bool reverse = false;
};

Result<PathPlan> path_plan(const ParsedOptions& options) {
  PathPlan plan{.reverse = options.has("--reverse")};
  WM_ASSIGN(plan.streams, numbers_of(options.get("--streams", "1,4"), "--streams", false));
  WM_ASSIGN(plan.sizes, numbers_of(options.get("--sizes", "1,1Ki,64Ki"), "--sizes", true));
  WM_ASSIGN(plan.blocks, numbers_of(options.get("--block", "128Ki"), "--block", true));
  WM_ASSIGN(const auto datagrams, count_of(options, "--udp", 100, 0, 100'000));
  plan.datagrams.count = static_cast<int>(datagrams);
  WM_ASSIGN(const auto bytes, parse_bytes(options.get("--datagram", "48")));
  if (bytes < static_cast<std::int64_t>(net::kDatagramBytes) ||
      bytes > static_cast<std::int64_t>(net::kMostDatagramBytes)) {
    return usage_error(fmt::format("--datagram is {} to {} bytes", net::kDatagramBytes, net::kMostDatagramBytes));
  }
  plan.datagrams.bytes = static_cast<std::size_t>(bytes);
  WM_ASSIGN(plan.seconds, parse_duration_s(options.get("--time", "5s")));
  if (!(plan.seconds > 0 && plan.seconds <= 3600)) return usage_error("--time is above 0 and up to an hour");
  for (const auto count : plan.streams) {
    if (count < 1 || count > 100) return usage_error("--streams are 1 to 100");
  }
  for (const auto block : plan.blocks) {
    if (block < 1 || block > kMostBlock) return usage_error("--block is 1 B to 4 MiB");
  }
  return plan;
}

Status measure_throughputs(Context& context, const PathPlan& plan, const net::ClientOptions& client, bool prints,
                           net::PathResult& path) {
  for (const auto count : plan.streams) {
    for (const auto block : plan.blocks) {
      if (context.interrupted) return {};
      if (prints) {
        const std::string of = plan.blocks.size() > 1 ? ", blocks of " + format_bytes(static_cast<double>(block)) : "";
        context.out << fmt::format("{} stream{}{}\n", count, count == 1 ? "" : "s", of) << interval_head(!plan.reverse)
                    << std::flush;
      }
      const net::ThroughputOptions how{static_cast<int>(count), plan.seconds, plan.reverse,
                                       static_cast<std::size_t>(block)};
      WM_ASSIGN(auto throughput, net::measure_throughput(client, how, [&](const net::Second& second) {
                  if (prints) context.out << interval_line(second) << std::flush;
                }));
      path.throughputs.push_back(std::move(throughput));
    }
  }
  return {};
}

Result<NetResult> measure_path(Context& context, const PathPlan& plan, const net::ClientOptions& client, bool prints) {
  NetResult result;
  result.environment = net::network_environment(context.environment);
  for (const auto size : plan.sizes) {
    if (size == 0 || context.interrupted) continue;
    WM_ASSIGN(auto latency, net::measure_latency(client, static_cast<std::size_t>(size), 2000, 5));
    result.path.latencies.push_back(std::move(latency));
  }
  if (plan.datagrams.count > 0 && !context.interrupted) {
    WM_ASSIGN(result.path.datagrams, net::measure_datagrams(client, plan.datagrams));
  }
  WM_TRY(measure_throughputs(context, plan, client, prints, result.path));
  if (!result.path.throughputs.empty()) {
    const auto name = net::interface_of(result.path.throughputs.front().local);
    for (auto& one : net::interfaces()) {
      if (one.name == name) result.interface = std::move(one);
    }
  }
  return result;
}

Result<int> be_client(Context& context, const ParsedOptions& options, const std::string& host) {
  WM_ASSIGN(const auto port, count_of(options, "--port", net::kDefaultPort, 1, 65535));
  WM_ASSIGN(const auto address, net::parse_address(host, static_cast<int>(port)));
  WM_ASSIGN(const auto format, format_of(options));
  WM_TRY(check_outputs(options));
  WM_ASSIGN(const auto token, secret_of(context, options));
  const net::ClientOptions client{address, token, 10, &context.interrupted};
  if (client.token.empty()) {
    return usage_error("the server's token is needed, which it prints",
                       "WARPMARK_NET_TOKEN=TOKEN warpmark net client " + host);
  }
  WM_ASSIGN(const auto plan, path_plan(options));
  set_grace(8);
  WM_ASSIGN(const auto result, measure_path(context, plan, client, format == "text"));
  const auto shown = shown_as([&] { return write(kNetResult, result); }, build_net_report(result));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_report(options, "net", shown));
  WM_TRY(store_runs(context, options, net::runs_of(result.path, host), !context.interrupted,
                    "the time or count that was asked for", format));
  return context.interrupted ? kInterrupted : kSuccess;
}

int be_a_pair_rank(Context& context) {
  const auto pairs = net::measure_pairs();
  if (!pairs.ok()) {
    context.err << "warpmark: " << pairs.error().what << "\n  " << pairs.error().hint << "\n" << std::flush;
    return exit_code_of(pairs.error());
  }
  if (!pairs->results.empty()) context.out << collectives::message_line("pairs", net::to_json(*pairs)) << std::flush;
  return kSuccess;
}

Result<int> test_pairs(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto text, read_file(options.get("--hosts"), 1 << 20));
  const auto lines = split(text, '\n');
  const auto hosts = std::count_if(
      lines.begin(), lines.end(), [](const auto& line) { return !trim(line).empty() && !trim(line).starts_with("#"); });
  if (hosts < 1) return data_error(options.get("--hosts") + " names no host", "one host a line");
  WM_ASSIGN(const auto ranks, count_of(options, "--ranks", hosts, 2, 10'000));
  WM_ASSIGN(const auto format, format_of(options));
  WM_TRY(check_outputs(options));
  collectives::LaunchOptions launch{.ranks = static_cast<int>(ranks), .launcher = "mpirun"};
  launch.hosts = options.get("--hosts");
  launch.more = options.all("--launcher-arg");
  WM_ASSIGN(auto words, collectives::launcher_words(launch, collectives::launch_place(context.environment)));
  WM_ASSIGN(const auto self, own_executable());
  words.insert(words.end(), {"--map-by", "node", self.string(), "net", "pairs", "--as-rank"});
  set_grace(6);
  WM_ASSIGN(const auto output, run_process(words, {.deadline_s = 60 + 5.0 * static_cast<double>(ranks * ranks),
                                                   .own_group = true,
                                                   .interrupted = &context.interrupted,
                                                   .grace_s = 3}));
  for (const auto& line : split(output.out, '\n')) {
    const auto message = collectives::message_of(line);
    if (!message || message->kind != "pairs") continue;
    WM_ASSIGN(const auto json, parse_json(message->text, "pairs"));
    WM_ASSIGN(const auto pairs, net::pairs_from_json(json));
    const auto shown = shown_as([&] { return net::to_json(pairs); }, net::build_report(pairs));
    WM_TRY(show(context, shown, format));
    WM_TRY(write_report(options, "pairs", shown));
    WM_TRY(store_runs(context, options, net::runs_of(pairs), true, "all pairs were measured", format));
    const auto slow = net::slow_hosts(pairs);
    if (slow.empty()) return kSuccess;
    return exit_because(context, kGateFailed, fmt::format("{} slow of {}: see the table", slow.size(), ranks));
  }
  const std::string death = collectives::death_in(output.err);
  return environment_error(
      "the pairs were not measured: " + (death.empty() ? std::string(trim(output.err)) : death),
      "can this machine log in to all hosts without a password, and is warpmark at the same place?");
}

Result<int> live(Context& context, const ParsedOptions& options) {
  const auto command = command_after_dashes(context.words);
  if (options.positionals().size() != 1 + command.size()) {
    return usage_error("live takes a command behind --", "warpmark net live -- mpirun -n 16 ./train");
  }
  return show_live(context, options, command);
}

Result<int> run_net(Context& context, const ParsedOptions& options) {
  const auto& words = options.positionals();
  if (options.has("--as-rank")) return be_a_pair_rank(context);
  if (options.has("--hosts")) return test_pairs(context, options);
  const std::string what = words.empty() ? "" : words[0];
  if (what == "server" && words.size() == 1) return be_server(context, options);
  if (what == "client" && words.size() == 2) return be_client(context, options, words[1]);
  if (what == "live") return live(context, options);
  if (what == "client") return usage_error("which server?", "WARPMARK_NET_TOKEN=TOKEN warpmark net client HOST");
  return usage_error("server, client HOST, live, or --hosts FILE is needed", "see --help");
}

}  // namespace

extern const Command net_command{
    .id = "net",
    .summary = "measure the network between machines: throughput, latency, loss",
    .details =
        "`net server` on one machine and `net client HOST` on another measure TCP throughput over one and several "
        "streams with retransmits (one line per second, as in iperf3), percentiles of round trips by message size, "
        "and loss and jitter of datagrams. They also show interface, driver, MTU and the variables that NCCL and MPI "
        "read. `--hosts FILE` tests all pairs of hosts through mpirun and names the slow host. `net live` shows the "
        "traffic of interfaces (InfiniBand ports included) and peers until Ctrl-C, or while a command after -- runs.\n"
        "\n"
        "The server listens on this machine only unless --bind names another address, and serves only clients with "
        "its token. Nothing is encrypted. Results are stored for compare, check and trend.\n"
        "\n"
        "Exit code 0: measured; 1: a slow host; 2: bad input or a wrong token; 5: no connection.",
    .options = kNetOptions,
    .positional = {"WHAT", "server, client HOST, or live", true, "server client live"},
    .examples =
        "warpmark net server --bind 0.0.0.0\n"
        "WARPMARK_NET_TOKEN=5f1c... warpmark net client node7 --streams 1,8\n"
        "warpmark net --hosts hosts.txt\n"
        "warpmark net live -- mpirun -n 16 ./train",
    .run = run_net,
};

}  // namespace warpmark::apps
