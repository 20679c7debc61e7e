// net from the command line: real processes, loopback and, where allowed, network namespaces.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <numeric>

#include "apps/cli_fixture.h"
#include "apps/in_background.h"
#include "apps/namespace_pair.h"
#include "apps/three_hosts.h"
#include "base/text.h"
#include "model/fields/fields.h"
#include "support/expect_schema.h"
#include "support/relay.h"
#include "support/report_text.h"
#include "support/schema_check.h"
#include "warpmark/scaling/net_report.h"

namespace warpmark::apps {
namespace {

namespace net = warpmark::collectives::net;
using ::testing::HasSubstr;

/// Where all who run `ps` could read it, a command line does not take the token.
const std::string kWithToken = "env WARPMARK_NET_TOKEN=secret-of-a-test " + in_quotes(kExecutable);

TEST(NetLines, of_a_second_are_those_of_iperf3) {
  EXPECT_EQ(interval_head(true), "[ ID] Interval           Transfer     Bitrate         Retr\n");
  EXPECT_EQ(interval_head(false), "[ ID] Interval           Transfer     Bitrate\n");
  // As iperf3 3.12 -i 1 wrote them, but for its window and what it leaves blank at the end.
  EXPECT_EQ(interval_line({0, 1, 750'000, 0}), "[SUM]   0.00-1.00   sec   732 KBytes  6.00 Mbits/sec    0\n");
  EXPECT_EQ(interval_line({0, 1, 128, 0}), "[SUM]   0.00-1.00   sec   128 Bytes  1.02 Kbits/sec    0\n");
  EXPECT_EQ(interval_line({1, 2, 2.16 * (1 << 30), 12}), "[SUM]   1.00-2.00   sec  2.16 GBytes  18.6 Gbits/sec   12\n");
  EXPECT_EQ(interval_line({1, 2, 38'000, -1}), "[SUM]   1.00-2.00   sec  37.1 KBytes   304 Kbits/sec\n");
  EXPECT_EQ(interval_line({9, 10, 6e9, 1043}), "[SUM]   9.00-10.00  sec  5.59 GBytes  48.0 Gbits/sec  1043\n");
}

TEST(NetLines, have_their_units_from_nothing_to_the_fastest_network) {
  EXPECT_EQ(interval_line({0, 1, 125, -1}), "[SUM]   0.00-1.00   sec   125 Bytes  1.00 Kbits/sec\n");
  EXPECT_EQ(interval_line({0, 1, 100e9, -1}), "[SUM]   0.00-1.00   sec  93.1 GBytes   800 Gbits/sec\n");
  EXPECT_EQ(interval_line({0, 1, 2e12, -1}), "[SUM]   0.00-1.00   sec  1.82 TBytes  16.0 Tbits/sec\n");
  EXPECT_EQ(interval_line({0, 1, 0, 0}), "[SUM]   0.00-1.00   sec  0.00 Bytes  0.00 bits/sec    0\n");
  EXPECT_EQ(interval_line({0, 2, 125, -1}), "[SUM]   0.00-2.00   sec   125 Bytes   500 bits/sec\n");
}

TEST(NetReport, has_the_schema_of_its_table) { testing_support::expect_schema(kNetResult); }

TEST(NetReport, has_percentiles_of_round_trips) {
  NetResult result;
  net::Latency latency{64, std::vector<double>(1000)};
  std::iota(latency.round_trips_s.begin(), latency.round_trips_s.end(), 1);
  for (auto& seconds : latency.round_trips_s) seconds *= 1e-6;  // 1 to 1000 us
  result.path.latencies.push_back(latency);
  const auto json = write(kNetResult, result)["latency"][0];
  EXPECT_NEAR(json["median"].get<double>(), 500.5e-6, 1e-12);
  EXPECT_NEAR(json["p90"].get<double>(), 900.1e-6, 1e-12);
  EXPECT_NEAR(json["p99"].get<double>(), 990.01e-6, 1e-12);
  EXPECT_DOUBLE_EQ(json["max"].get<double>(), 1e-3);
  EXPECT_NEAR(json["jitter"].get<double>(), 1e-6, 1e-12);
  const auto text = testing_support::text_of(build_net_report(result));
  EXPECT_THAT(text, HasSubstr("64 B | 500.5 µs | "));
  EXPECT_THAT(text, HasSubstr(" | 900.1 µs | 990.0 µs | 1.000 ms | "));
  result.path.latencies[0].round_trips_s.resize(20);
  EXPECT_FALSE(write(kNetResult, result)["latency"][0].contains("p99")) << "20 round trips have no 99th percentile";
}

TEST(NetReport, tells_of_datagrams_what_ping_does) {
  NetResult result;
  result.path.datagrams = net::Datagrams{.sent = 4, .round_trips_s = {1e-3, 3e-3, 2e-3}, .out_of_order = 1};
  const auto text = testing_support::text_of(build_net_report(result));
  EXPECT_THAT(text, HasSubstr("4 of 48 B sent, 1 lost (25.0 %), 1 out of order"));
  // mdev of ping: the root of the mean square less the squared mean, 0.8165 ms here.
  EXPECT_THAT(text, HasSubstr("min/avg/max/mdev 1.000 ms / 2.000 ms / 3.000 ms / 816.5 µs, median 2.000 ms"));
  EXPECT_THAT(text, HasSubstr("jitter 1.500 ms"));
  const auto json = write(kNetResult, result);
  EXPECT_EQ(testing_support::schema_errors(json, "net.schema.json"), "");
  EXPECT_NEAR(json["udp"]["mdev"].get<double>(), 0.8165e-3, 1e-7);
  EXPECT_DOUBLE_EQ(json["udp"]["max"].get<double>(), 3e-3);
  result.path.datagrams = net::Datagrams{.sent = 4};
  EXPECT_EQ(testing_support::text_of(build_net_report(result)), "4 of 48 B sent, 4 lost (100 %), 0 out of order\n")
      << "no round trip has no time";
  EXPECT_EQ(testing_support::schema_errors(write(kNetResult, result), "net.schema.json"), "");
}

/// A server that runs until the test ends, its port and the token that it made.
class NetServer : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    unsetenv("WARPMARK_NET_TOKEN");
    server_ = start_in_background("net server --port 0", path("server.txt"));
    ASSERT_TRUE(comes_to_have(path("server.txt"), "token: "));
    const auto said = read_file(path("server.txt"));
    ASSERT_TRUE(said.ok());
    const auto after = [&](const std::string& word) {
      const auto begin = said->find(word) + word.size();
      return said->substr(begin, said->find('\n', begin) - begin);
    };
    port_ = after(" port ");
    token_ = after("token: ");
    write("token", token_);
  }
  void TearDown() override {
    EXPECT_EQ(end_with_signal(server_, SIGTERM), 0) << "it ends when asked to";
    Cli::TearDown();
  }
  ProcessOutput client(const std::string& token, const std::vector<std::string>& more) {
    write("token", token + "\n");
    return warpmark(with({"net", "client", "127.0.0.1", "--port", port_, "--token-file", path("token"), "--no-store",
                          "--time", "0.2s", "--json", path("net.json")},
                         more));
  }
  pid_t server_ = 0;
  std::string port_, token_;
};

TEST_F(NetServer, without_a_token_makes_one_that_works_while_others_do_not) {
  EXPECT_EQ(token_.size(), 32U);
  EXPECT_EQ(token_.find_first_not_of("0123456789abcdef"), std::string::npos) << token_;
  EXPECT_EQ(client(token_, {"--streams", "1", "--sizes", "1", "--udp", "0"}).exit_code, 0);
  std::string wrong = token_;
  wrong[0] = wrong[0] == '0' ? '1' : '0';
  for (const std::string& guess : {wrong, std::string("secret"), token_ + "0"}) {
    const auto refused = client(guess, {});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("wrong token"));
    EXPECT_THAT(refused.err, HasSubstr("WARPMARK_NET_TOKEN"));
  }
  EXPECT_EQ(client("", {}).exit_code, 2);
  EXPECT_TRUE(comes_to_have(path("server.txt"), "127.0.0.1 wrong token"));
}

TEST_F(NetServer, waits_for_nobody_who_does_not_know_the_token) {
  const int silent = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port_)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(silent, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  // A byte now and then does not make the wait longer.
  const double begin_s = static_cast<double>(monotonic_ns()) * 1e-9;
  std::array<char, 4096> reported{};
  for (bool ended = false; !ended && static_cast<double>(monotonic_ns()) * 1e-9 - begin_s < 30;) {
    (void)::send(silent, "x", 1, MSG_NOSIGNAL);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const ssize_t got = ::recv(silent, reported.data(), reported.size(), MSG_DONTWAIT);
    ended = got == 0 || (got < 0 && errno != EAGAIN);
  }
  ::close(silent);
  EXPECT_LT(static_cast<double>(monotonic_ns()) * 1e-9 - begin_s, 15) << "2 s, and what a busy machine adds";
}

TEST_F(NetServer, is_measured_over_a_path_of_a_planted_delay_and_loss) {
  constexpr double kDelay = 0.005, kLoss = 0.1;
  const test::Relay relay({.server_port = std::stoi(port_), .delay_s = kDelay, .loss = kLoss, .seed = 5});
  ASSERT_GT(relay.port(), 0);
  test::SeededDrops drops(5, kLoss);
  int planted = 0;
  for (int i = 0; i < 100; ++i) planted += drops.next() ? 1 : 0;
  ASSERT_GT(planted, 2);
  const auto output = warpmark({"net", "client", test::Relay::kAddress, "--port", std::to_string(relay.port()),
                                "--token-file", path("token"), "--no-store", "--time", "0.2s", "--streams", "1",
                                "--sizes", "1", "--json", path("net.json")});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto result = json("net.json");
  EXPECT_GE(result["latency"][0]["min"].get<double>(), 2 * kDelay);
  EXPECT_LT(result["latency"][0]["min"].get<double>(), 2 * kDelay + 0.15);
  EXPECT_GE(result["udp"]["min"].get<double>(), 2 * kDelay);
  EXPECT_EQ(result["udp"]["returned"], 100 - planted);
  EXPECT_THAT(output.out, HasSubstr("100 of 48 B sent, " + std::to_string(planted) + " lost (" +
                                    std::to_string(planted) + ".0 %)"));
}

TEST_F(NetServer, gives_throughput_by_size_of_message_and_datagrams_of_a_size) {
  const auto output =
      client(token_, {"--streams", "1", "--sizes", "0", "--udp", "10", "--datagram", "1472", "--block", "100,64Ki"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto result = json("net.json");
  EXPECT_EQ(testing_support::schema_errors(result, "net.schema.json"), "");
  ASSERT_EQ(result["throughput"].size(), 2U);
  EXPECT_EQ(result["throughput"][0]["block"], 100);
  EXPECT_EQ(result["throughput"][1]["block"], 65536);
  EXPECT_EQ(result["udp"]["bytes"], 1472);
  EXPECT_THAT(output.out, HasSubstr("1 stream, blocks of 100 B"));
  EXPECT_THAT(output.out, HasSubstr("10 of 1472 B sent"));
  for (const auto& bad : {std::pair{"--datagram", "47"},
                          {"--datagram", "65508"},
                          {"--block", "0"},
                          {"--block", "5M"},
                          {"--block", "x"}}) {
    EXPECT_EQ(client(token_, {bad.first, bad.second}).exit_code, 2) << bad.first << " " << bad.second;
  }
}

TEST_F(Cli, net_client_and_server_meet_on_the_loopback) {
  const std::string script = kWithToken + " net server --port 0 --once > " + shell_quote(path("server.txt")) +
                             " & for i in $(seq 100); do grep -q port " + shell_quote(path("server.txt")) +
                             " && break; sleep 0.1; done; port=$(sed -n 's/.*port //p' " +
                             shell_quote(path("server.txt")) + "); " + kWithToken +
                             " net client 127.0.0.1 --port $port --time 1s --streams 1,2" + " --udp 10 --json " +
                             shell_quote(path("net.json")) + "; code=$?; wait; exit $code";
  const auto output = run_process({"sh", "-c", script}, {.deadline_s = 100});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_code, 0) << output->out << output->err;
  EXPECT_NE(output->out.find("sec"), std::string::npos);
  const auto result = json("net.json");
  EXPECT_EQ(result["throughput"].size(), 2U);
  EXPECT_EQ(result["interface"]["name"], "lo");
  EXPECT_GT(result["latency"][0]["n"], 100);
  EXPECT_EQ(testing_support::schema_errors(result, "net.schema.json"), "");
  // What was measured is stored, without the token.
  const auto stored = warpmark({"report", "last", "--format", "json"});
  ASSERT_EQ(stored.exit_code, 0) << stored.err;
  const auto session = parse_json(stored.out, "report");
  ASSERT_TRUE(session.ok());
  std::vector<std::string> workloads;
  for (const auto& run : (*session)["runs"]) workloads.push_back(run["workload"]);
  EXPECT_EQ(workloads, (std::vector<std::string>{"net_throughput", "net_throughput", "net_latency", "net_latency",
                                                 "net_latency", "net_datagrams"}));
  EXPECT_EQ((*session)["runs"][0]["params"]["peer"], "127.0.0.1");
  EXPECT_EQ(stored.out.find("secret-of-a-test"), std::string::npos);
  // The history knows them: check asks for more of it, accept judges a round trip.
  const auto check = warpmark({"check"});
  EXPECT_EQ(check.exit_code, 3) << check.err;
  EXPECT_NE(check.out.find("net_latency"), std::string::npos) << check.out;
  write("net.yaml",
        "name: net\ncriteria:\n  - workload: net_latency\n    set: {bytes: 1}\n    metric: time\n"
        "    operator: \"<=\"\n    value: 100 s\n");
  const auto accepted = warpmark({"accept", path("net.yaml")});
  EXPECT_EQ(accepted.exit_code, 0) << accepted.out << accepted.err;
}

TEST_F(Cli, net_live_shows_what_a_job_sends_and_passes_its_exit_code_on) {
  // 50 MB over the loopback within two seconds, between two ends that this job starts itself.
  write("job.py",
        "import socket, threading, time\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "def send():\n"
        "  end = socket.create_connection(server.getsockname())\n"
        "  for _ in range(50): end.sendall(b'w' * 1000000); time.sleep(0.03)\n"
        "  time.sleep(1.5)\n"
        "threading.Thread(target=send).start()\n"
        "end, _ = server.accept()\n"
        "total = 0\n"
        "while True:\n"
        "  got = end.recv(1 << 20)\n"
        "  if not got: break\n"
        "  total += len(got)\n"
        "print('job received', total)\n"
        "raise SystemExit(7)\n");
  const auto output = warpmark({"net", "live", "--json", path("live.json"), "--", "python3", path("job.py")});
  EXPECT_EQ(output.exit_code, 7) << output.err;
  EXPECT_NE(output.err.find("job received 50000000"), std::string::npos) << output.err;
  const auto live = json("live.json");
  EXPECT_EQ(testing_support::schema_errors(live, "net_live.schema.json"), "");
  double loopback = 0, peer = 0;
  for (const auto& one : live["interfaces"]) {
    if (one["name"] == "lo") loopback = one["sent"].get<double>();
  }
  for (const auto& one : live["peers"]) {
    if (one["name"] == "127.0.0.1") peer = one["sent"].get<double>();
  }
  EXPECT_GE(loopback, 50e6);
  EXPECT_GE(peer, 49e6) << "all but what a connection carried after the last look before its end";
  EXPECT_NE(output.out.find("lo "), std::string::npos) << output.out;
  EXPECT_EQ(warpmark({"net", "live", "sh"}).exit_code, 2);
  const auto failing = warpmark({"net", "live", "--", "sh", "-c", "exit 3"});
  EXPECT_EQ(failing.exit_code, 3);
  EXPECT_NE(failing.err.find("exit code 3: exit code of the command"), std::string::npos) << failing.err;
}

TEST_F(Cli, net_measures_between_two_namespaces_and_sees_their_delay_and_loss) {
  const NamespacePair hosts;
  if (!hosts.problem().empty()) GTEST_SKIP() << hosts.problem();
  // Some kernels have no netem: then a link that carries 50 Mbit/s and drops what its short queue does not hold.
  const std::string device = hosts.in_a() + "tc qdisc replace dev " + hosts.interface_of_a() + " root ";
  const auto impaired = run_process({"sh", "-c", device + "netem delay 20ms loss 10%"});
  const bool has_netem = impaired.ok() && impaired->exit_code == 0;
  const auto limited =
      has_netem ? impaired : run_process({"sh", "-c", device + "tbf rate 50mbit burst 32kb limit 48kb"});
  const bool has_rate = !has_netem && limited.ok() && limited->exit_code == 0;
  const std::string server = hosts.in_b() + kWithToken + " net server --bind 10.99.0.2 --once > " +
                             shell_quote(path("server.txt")) + " & for i in $(seq 100); do grep -q port " +
                             shell_quote(path("server.txt")) + " && break; sleep 0.1; done; ";
  const std::string client =
      hosts.in_a() + kWithToken + " net client 10.99.0.2 --time 1s --streams 1 --sizes 1 --udp 200 --json ";
  const auto output =
      run_process({"sh", "-c", server + client + shell_quote(path("net.json")) + "; code=$?; wait; exit $code"},
                  {.deadline_s = 120});
  ASSERT_TRUE(output.ok());
  ASSERT_EQ(output->exit_code, 0) << output->err;
  const auto result = json("net.json");
  EXPECT_EQ(result["interface"]["mtu"], 1500);
  EXPECT_EQ(result["interface"]["name"], hosts.interface_of_a());
  EXPECT_EQ(result["throughput"][0]["peer"], "10.99.0.2");
  if (has_rate) {
    EXPECT_LT(result["throughput"][0]["rate"].get<double>(), 60e6 / 8);
    EXPECT_GT(result["throughput"][0]["retransmits"].get<int>(), 0);
  }
  if (!has_netem) return;
  EXPECT_GE(result["latency"][0]["median"].get<double>(), 0.0199);
  EXPECT_LT(result["udp"]["returned"].get<int>(), 200);
  EXPECT_GT(result["throughput"][0]["retransmits"].get<int>(), 0);
}

TEST_F(Cli, net_server_serves_no_other_machine_unless_it_is_told_to) {
  const NamespacePair hosts;
  if (!hosts.problem().empty()) GTEST_SKIP() << hosts.problem();
  const auto served = [&](const std::string& bind) {
    const std::string output = path("server" + bind + ".txt");
    const std::string server = hosts.in_b() + kWithToken + " net server " + bind + " > " + shell_quote(output) +
                               " & server=$!; for i in $(seq 100); do grep -q " + "port " + shell_quote(output) +
                               " && break; sleep 0.1; done; ";
    const std::string client = " net client 10.99.0.2 --no-store --time 0.2s --streams 1 --sizes 1 --udp 0";
    auto seen = run_process(
        {"sh", "-c", server + hosts.in_a() + kWithToken + client + "; code=$?; kill $server; wait; exit $code"},
        {.deadline_s = 60});
    EXPECT_TRUE(seen.ok());
    return seen.ok() ? *seen : ProcessOutput{};
  };
  const auto refused = served("");
  EXPECT_EQ(refused.exit_code, 5) << refused.out;
  EXPECT_NE(refused.err.find("cannot connect to 10.99.0.2"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--bind"), std::string::npos) << "how to make it work: " << refused.err;
  EXPECT_EQ(served("--bind 10.99.0.2").exit_code, 0);
}

TEST_F(Cli, net_measures_all_pairs_of_three_hosts_and_names_the_one_whose_link_is_slow) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes network namespaces";
  if (!run_process({"mpirun", "--version"}).ok()) GTEST_SKIP() << "mpirun is not installed";
  if (!std::filesystem::exists(std::string(WARPMARK_BINARY_DIR) + "/libwarpmark_mpi.so")) {
    GTEST_SKIP() << "built without MPI";
  }
  const ThreeHosts hosts(path("."));
  if (!hosts.allowed) GTEST_SKIP() << "network namespaces are not allowed here: " << hosts.why;
  if (!hosts.limit(3, "200mbit")) GTEST_SKIP() << "this kernel limits no rate";
  write("all", hosts.host(1) + " slots=1\n" + hosts.host(2) + " slots=1\n" + hosts.host(3) + " slots=1\n");
  const auto output = run_process(
      {"sh", "-c",
       hosts.on_first("OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=" + hosts.agent() + " " + in_quotes(kExecutable) +
                      " net --hosts " + path("all") + " --json " + path("pairs.json"))},
      {.deadline_s = 150});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_code, 1) << output->err << output->out;
  const auto pairs = json("pairs.json");
  EXPECT_EQ(testing_support::schema_errors(pairs, "net_pairs.schema.json"), "");
  EXPECT_EQ(pairs["hosts"], Json({hosts.host(1), hosts.host(2), hosts.host(3)}));
  ASSERT_EQ(pairs["pairs"].size(), 3U);
  // On a busy machine another may be late; by its rate only this one is slow.
  int slow = 0;
  for (const auto& host : pairs["slow"]) slow += host["bandwidth"] < 0.8 * host["usual"].get<double>() ? 1 : 0;
  EXPECT_EQ(slow, 1) << pairs;
  EXPECT_NE(output->out.find(hosts.host(3) + " (rank 2) is slow: "), std::string::npos) << output->out;
}

}  // namespace
}  // namespace warpmark::apps
