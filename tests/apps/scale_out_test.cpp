// scale, net and links from the command line: real processes, loopback and, where allowed, network namespaces.
#include <unistd.h>

#include "analyze/step_shares.h"
#include "apps/cli_fixture.h"
#include "apps/three_hosts.h"
#include "base/text.h"
#include "collectives/calls/operation.h"
#include "collectives/results/row.h"
#include "profile/read_session.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

ProfileSession two_recorded_ranks(const std::string& name, const std::string& ending) {
  std::vector<std::filesystem::path> files;
  for (const char* rank : {".rank0", ".rank1"}) {
    files.push_back(std::string(WARPMARK_SOURCE_DIR) + "/tests/data/traces/" + name + rank + ending);
  }
  auto session = profile::read_session(files);
  EXPECT_TRUE(session.ok()) << session.error().what;
  return session.ok() ? std::move(*session) : ProfileSession();
}

TEST(RecordedStepShares, of_a_recorded_job_of_small_batches_are_communication) {
  const auto shares = analyze::step_shares(two_recorded_ranks("ddp_wide_mlp_small_batch", ".pt.trace.json.zst"));
  ASSERT_TRUE(shares.ok()) << shares.error().what;
  EXPECT_EQ(shares->ranks, 2);
  EXPECT_GT(shares->communication_s, 0.3 * shares->step_s);
  EXPECT_LT(shares->imbalance_s, 0.02 * shares->step_s);
}

TEST(RecordedStepShares, of_recorded_ranks_with_uneven_batches_are_imbalance) {
  const auto shares = analyze::step_shares(two_recorded_ranks("ddp_llama_uneven_lengths", ".wmrec"));
  ASSERT_TRUE(shares.ok()) << shares.error().what;
  EXPECT_GT(shares->imbalance_s, 0.15 * shares->step_s);
  EXPECT_GT(shares->imbalance_s, 2 * shares->communication_s);
  EXPECT_GE(shares->late_rank, 0);
}

TEST_F(Cli, scale_measures_a_command_and_fits_its_serial_part) {
  // 0.02 s of serial work and 0.2 s that is split: sleeping needs no processor.
  const auto output =
      warpmark({"scale", "--gpus", "1,2,4", "--rounds", "3", "--warmup", "0", "--no-store", "--json", path("s.json"),
                "--", "sh", "-c", "case {gpus} in 1) sleep 0.22;; 2) sleep 0.12;; 4) sleep 0.07;; esac"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const auto scaling = json("s.json");
  ASSERT_EQ(scaling["points"].size(), 3U);
  EXPECT_EQ(scaling["points"][2]["throughput"].size(), 3U);
  EXPECT_EQ(scaling["fits"][0]["law"], "Amdahl");
  EXPECT_TRUE(scaling["fits"][0]["parameters"].contains("serial fraction"));
  EXPECT_EQ(scaling["forecasts"].back()["workers"], 1024);
  EXPECT_EQ(testing_support::schema_errors(scaling, "scaling.schema.json"), "");
}

TEST_F(Cli, scale_reads_throughput_and_names_what_is_lost) {
  const auto output =
      warpmark({"scale",
                "--gpus",
                "1,2",
                "--rounds",
                "2",
                "--warmup",
                "0",
                "--no-store",
                "--unit",
                "samples",
                "--throughput",
                "rate ([0-9.]+)",
                "--part",
                "communication=comm ([0-9.]+)",
                "--part",
                "step=step ([0-9.]+)",
                "--min-efficiency",
                "90%",
                "--",
                "sh",
                "-c",
                "case {gpus} in 1) echo rate 100 comm 0.0 step 1.0;; 2) echo rate 120 comm 0.6 step 1.0;; esac"});
  EXPECT_EQ(output.exit_code, 1) << output.err;
  EXPECT_NE(output.out.find("communication: 60"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("moderate"), std::string::npos) << output.out;
  EXPECT_EQ(warpmark({"scale", "--gpus", "1,2", "--no-store", "--", "false"}).exit_code, 2);
  EXPECT_EQ(warpmark({"scale", "--gpus", "1", "--", "true"}).exit_code, 2);
  EXPECT_EQ(warpmark({"scale", "--", "true"}).exit_code, 2);
}

TEST_F(Cli, scale_in_weak_mode_counts_the_work_of_all_workers) {
  const auto output =
      warpmark({"scale", "--gpus", "1,2,4", "--mode", "weak", "--work", "100", "--unit", "samples", "--rounds", "3",
                "--warmup", "0", "--no-store", "--json", path("s.json"), "--", "sleep", "0.2"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto scaling = json("s.json");
  EXPECT_EQ(scaling["mode"], "weak");
  EXPECT_EQ(scaling["fits"][0]["law"], "Gustafson");
  for (const auto& point : scaling["points"]) {
    const int workers = point["workers"];
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(point["throughput"][i].get<double>() * point["seconds"][i].get<double>(), 100 * workers, 1e-6);
    }
    EXPECT_GT(point["efficiency"]["value"].get<double>(), 0.7) << "as long with more workers, and so more work";
  }
  EXPECT_NE(output.out.find("Weak scaling"), std::string::npos) << output.out;
  EXPECT_EQ(warpmark({"scale", "--gpus", "1,2", "--mode", "odd", "--", "true"}).exit_code, 2);
}

TEST_F(Cli, scale_starts_ranks_of_our_own_benchmark) {
  if (!run_process({"mpirun", "--version"}).ok()) GTEST_SKIP() << "mpirun is not installed";
  const auto output = warpmark({"scale",
                                "--ranks",
                                "1,2",
                                "--oversubscribe",
                                "--mode",
                                "weak",
                                "--rounds",
                                "1",
                                "--warmup",
                                "0",
                                "--no-store",
                                "--timeout",
                                "2m",
                                "--json",
                                path("s.json"),
                                "--",
                                kExecutable,
                                "run",
                                "copy",
                                "--device",
                                "cpu",
                                "--rounds",
                                "1",
                                "--no-store",
                                "--set",
                                "size=1MiB"});
  ASSERT_EQ(output.exit_code, 0) << output.err << output.out;
  const auto scaling = json("s.json");
  EXPECT_EQ(scaling["worker"], "rank");
  ASSERT_EQ(scaling["points"].size(), 2U);
  for (const auto& point : scaling["points"]) {
    EXPECT_EQ(point["failures"], 0) << point;
    EXPECT_GT(point["median"].get<double>(), 0);
    EXPECT_GT(point["peak_memory"].get<double>(), 0);
  }
}

TEST_F(Cli, scale_records_no_profiles_of_other_hosts_and_says_what_does) {
  write("hosts.txt", "a\nb\n");
  const auto output =
      warpmark({"scale", "--ranks", "1,2", "--hosts", path("hosts.txt"), "--profile", path("why"), "--", "true"});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.err.find("--profile records on this host alone"), std::string::npos) << output.err;
  EXPECT_NE(output.err.find("warpmark profile --hosts FILE --ranks N --out N.wmrec"), std::string::npos) << output.err;
}

TEST_F(Cli, scale_splits_the_loss_of_a_job_that_was_recorded) {
  const std::string traces = std::string(WARPMARK_SOURCE_DIR) + "/tests/data/traces/";
  const std::vector<std::string> words{
      "scale",  "--gpus",       "1,2",          "--rounds",      "2", "--warmup", "0", "--no-store", "--no-energy",
      "--json", path("s.json"), "--throughput", "rate ([0-9.]+)"};
  const std::vector<std::string> command{"--", "sh", "-c", "case {gpus} in 1) echo rate 100;; 2) echo rate 90;; esac"};
  auto profiled = with(words, {"--profiled", "1=" + traces + "wide_mlp_healthy.pt.trace.json.zst", "--profiled",
                               "2=" + traces + "ddp_wide_mlp_small_batch.rank0.pt.trace.json.zst", "--profiled",
                               "2=" + traces + "ddp_wide_mlp_small_batch.rank1.pt.trace.json.zst"});
  const auto output = warpmark(with(profiled, command));
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_NE(output.out.find("Efficiency lost to"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("communication: 40"), std::string::npos) << output.out;
  const auto scaling = json("s.json");
  EXPECT_EQ(testing_support::schema_errors(scaling, "scaling.schema.json"), "");
  const auto& lost = scaling["points"][1]["lost"];
  double sum = 0;
  for (const auto& part : lost) sum += part.get<double>();
  EXPECT_NEAR(sum, 0.55, 1e-9);
  EXPECT_GT(lost["communication"].get<double>(), 0.35);
  EXPECT_EQ(scaling["points"][1]["profile"]["ranks"], 2);
  const auto none = warpmark(with(with(words, {"--profiled", "2=" + path("nothing.json")}), command));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("does not exist"), std::string::npos) << none.err;
}

TEST_F(Cli, net_client_and_server_meet_on_the_loopback) {
  const std::string script =
      in_quotes(kExecutable) + " net server --port 0 --once --token t > " + shell_quote(path("server.txt")) +
      " & for i in $(seq 100); do grep -q port " + shell_quote(path("server.txt")) +
      " && break; sleep 0.1; done; port=$(sed -n 's/.*port //p' " + shell_quote(path("server.txt")) + "); " +
      in_quotes(kExecutable) + " net client 127.0.0.1 --port $port --token t --time 1s --streams 1,2" +
      " --udp 10 --json " + shell_quote(path("net.json")) + "; code=$?; wait; exit $code";
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
  EXPECT_EQ(stored.out.find("--token t"), std::string::npos);
  EXPECT_NE(stored.out.find("--token '***'"), std::string::npos);
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
}

TEST_F(Cli, net_measures_between_two_namespaces_and_sees_their_delay_and_loss) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes network namespaces";
  const std::string id = std::to_string(getpid());
  const std::string a = "wma" + id, b = "wmb" + id;
  const std::string setup = "ip netns add " + a + " && ip netns add " + b + " && ip link add va" + id + " netns " + a +
                            " type veth peer name vb" + id + " netns " + b + " && ip -n " + a +
                            " addr add 10.99.0.1/24 dev va" + id + " && ip -n " + b + " addr add 10.99.0.2/24 dev vb" +
                            id + " && ip -n " + a + " link set va" + id + " up && ip -n " + b + " link set vb" + id +
                            " up";
  const std::string clean = "ip netns del " + a + "; ip netns del " + b;
  const auto made = run_process({"sh", "-c", setup});
  if (!made.ok() || made->exit_code != 0) {
    (void)run_process({"sh", "-c", clean});
    GTEST_SKIP() << "network namespaces are not allowed here: " << (made.ok() ? made->err : "");
  }
  // Some kernels have no netem: then a link that carries 50 Mbit/s and drops what its short queue does not hold.
  const auto impaired =
      run_process({"sh", "-c", "ip netns exec " + a + " tc qdisc add dev va" + id + " root netem delay 20ms loss 10%"});
  const bool has_netem = impaired.ok() && impaired->exit_code == 0;
  const auto limited = run_process(
      {"sh", "-c",
       "ip netns exec " + a + " tc qdisc replace dev va" + id + " root tbf rate 50mbit burst 32kb limit 48kb"});
  const bool has_rate = !has_netem && limited.ok() && limited->exit_code == 0;
  const std::string server = "ip netns exec " + b + " " + in_quotes(kExecutable) +
                             " net server --bind 10.99.0.2 --once --token t > /dev/null & sleep 1; ";
  const std::string client = "ip netns exec " + a + " " + in_quotes(kExecutable) +
                             " net client 10.99.0.2 --token t --time 1s --streams 1 --sizes 1 --udp 200 --json ";
  const auto output =
      run_process({"sh", "-c", server + client + shell_quote(path("net.json")) + "; code=$?; wait; exit $code"},
                  {.deadline_s = 120});
  (void)run_process({"sh", "-c", clean});
  ASSERT_TRUE(output.ok());
  ASSERT_EQ(output->exit_code, 0) << output->err;
  const auto result = json("net.json");
  EXPECT_EQ(result["interface"]["mtu"], 1500);
  EXPECT_EQ(result["interface"]["name"], "va" + id);
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
