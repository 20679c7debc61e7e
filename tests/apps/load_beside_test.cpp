// What `warpmark load run` takes along: a tokenizer, a task, clients on other hosts.
#include <unistd.h>

#include <map>

#include "apps/load_cli_fixture.h"
#include "apps/three_hosts.h"
#include "serving/reference/scripted_answers.h"
#include "support/python_with_torch.h"

namespace warpmark::apps {
namespace {

TEST_F(LoadCli, counts_tokens_beside_the_server) {
  start();
  // The reference server counts words and adds some for its template; so does this tokenizer, whose every word is one
  // unknown token.
  write("words.json",
        R"({"model": {"type": "BPE", "unk_token": "?", "fuse_unk": true, "vocab": {"?": 0}, "merges": []},
            "pre_tokenizer": {"type": "WhitespaceSplit"}})");
  const std::vector<std::string> common{"--max-requests-per-run", "12", "--no-store", "--json", path("t.json")};
  const auto agrees = warpmark(with(run(common), {"--tokenizer", path("words.json")}));
  EXPECT_THAT(agrees.exit_code, ::testing::AnyOf(0, 5)) << agrees.err;
  const Json report = json("t.json");
  EXPECT_EQ(schema_errors(report, "load.schema.json"), "");
  const Json tokens = report["scenarios"][0]["tokens"];
  EXPECT_EQ(tokens["disagreements"], Json::array());
  EXPECT_EQ(tokens["own"]["input_mean"], tokens["input_reported_mean"]);
  EXPECT_EQ(tokens["own"]["output_mean"], 10);
  EXPECT_GT(tokens["own"]["template_tokens"], 0);
  EXPECT_THAT(unwrapped(agrees.out), HasSubstr("10.00 out a request (10.00 reported)"));

  const std::string small = WARPMARK_SOURCE_DIR "/tests/data/tokenizers/gpt2_like.json";
  const auto other = warpmark(with(run(common), {"--tokenizer", small}));
  EXPECT_EQ(json("t.json")["scenarios"][0]["tokens"]["disagreements"].size(), 2U) << other.err;
  EXPECT_THAT(unwrapped(other.out), HasSubstr("counts disagree: output tokens"));
  EXPECT_EQ(warpmark(with(run(common), {"--tokenizer", path("none.json")})).exit_code, 2);

  const auto counted = warpmark({"load", "tokens", path("words.json"), "--tokenizer", small, "--json", path("n.json")});
  EXPECT_EQ(counted.exit_code, 0) << counted.err;
  EXPECT_GT(json("n.json")["files"][0]["ids"].size(), 50U);
  EXPECT_EQ(warpmark({"load", "tokens", path("words.json")}).exit_code, 2);
}

TEST_F(LoadCli, takes_its_own_count_where_the_server_tells_none) {
  start({.ttft_s = 0.004, .itl_s = 0.001, .usage = serving::UsagePlace::none});
  const auto output = warpmark(run({"--max-requests-per-run", "12", "--no-store", "--json", path("t.json"),
                                    "--tokenizer", WARPMARK_SOURCE_DIR "/tests/data/tokenizers/gpt2_like.json"}));
  EXPECT_THAT(output.exit_code, ::testing::AnyOf(0, 5)) << output.err;
  const Json scenario = json("t.json")["scenarios"][0];
  EXPECT_EQ(scenario["tokens"]["source"], "tokenizer");
  EXPECT_EQ(scenario["metrics"]["output_tokens"]["mean"], 20) << "two tokens for each of its words";
  EXPECT_EQ(schema_errors(json("t.json"), "load.schema.json"), "");
}

TEST_F(LoadCli, scores_the_answers_whose_latency_it_measures) {
  write("rules.jsonl",
        "{\"when\": [\"capital of France\"], \"text\": \"It is Paris, \\u00e9videmment\"}\n"
        "{\"when\": [\"capital of Peru\"], \"text\": \"Quito\"}\n"
        "{\"when\": [\"capital of Norway\"], \"text\": \"It is Oslo and so on\", \"finish_reason\": \"length\"}\n"
        "{\"when\": [\"capital of Chad\"], \"status\": 503}\n");
  auto rules = serving::parse_scripted_answers(*read_file(path("rules.jsonl")), "rules.jsonl");
  ASSERT_TRUE(rules.ok()) << rules.error().what;
  serving::ReferenceScript script{.ttft_s = 0.004, .itl_s = 0.001};
  script.answers = *rules;
  start(script);
  write("questions.jsonl",
        "{\"id\": \"1\", \"country\": \"France\", \"answer\": \"Paris\"}\n{\"id\": \"2\", \"country\": \"Peru\", "
        "\"answer\": \"Lima\"}\n{\"id\": \"3\", \"country\": \"Norway\", \"answer\": \"Oslo\"}\n{\"id\": \"4\", "
        "\"country\": \"Chad\", \"answer\": \"N'Djamena\"}\n");
  write("task.yaml",
        "name: capitals\ndata: {file: questions.jsonl}\nprompt: What is the capital of {{country}}?\n"
        "extract: regex\npattern: 'is (\\w+)'\nmetrics: [exact_match]\n");
  const std::vector<std::string> words{"load",      "run",    "--api-base",      server_->url(), "--api-model-name",
                                       "reference", "--eval", path("task.yaml"), "--json",       path("q.json"),
                                       "--no-store"};
  const auto output = warpmark(with(words, {"--num-concurrency", "1,2"}));
  EXPECT_THAT(output.exit_code, ::testing::AnyOf(0, 5)) << output.err;
  const Json report = json("q.json");
  EXPECT_EQ(schema_errors(report, "load.schema.json"), "");
  for (const auto& scenario : report["scenarios"]) {
    EXPECT_EQ(scenario["requests"]["completed"], 3);
    EXPECT_EQ(scenario["requests"]["failed"], 1);
    const Json quality = {{"task", "capitals"}, {"questions_asked", 4}, {"questions", 4}, {"unanswered", 2}};
    EXPECT_EQ(scenario["quality"], quality)
        << "Quito has nothing to extract, Chad refused; the cut-off answer has its city";
    EXPECT_DOUBLE_EQ(scenario["metrics"]["quality.exact_match"]["mean"].get<double>(), 0.5);
    EXPECT_GT(scenario["metrics"]["ttft"]["mean"].get<double>(), 0);
  }
  EXPECT_THAT(unwrapped(output.out), HasSubstr("capitals (4 of 4 questions): exact_match 0.5"));
  const auto some = warpmark(with(words, {"--max-requests-per-run", "2"}));
  EXPECT_EQ(json("q.json")["scenarios"][0]["quality"]["questions_asked"], 2) << some.err;
  EXPECT_DOUBLE_EQ(json("q.json")["scenarios"][0]["metrics"]["quality.exact_match"]["mean"].get<double>(), 0.5);
  // Each question once, however many users there are and whichever fails; of several turns the last answer counts.
  const auto turns = warpmark(with(words, {"--turns", "1,2", "--num-concurrency", "3"}));
  const Json steps = json("q.json");
  EXPECT_EQ(steps["scenarios"][0]["requests"]["sent"], 4) << turns.err;
  EXPECT_EQ(steps["scenarios"][1]["requests"]["sent"], 7) << "three answers are checked once more";
  for (const auto& scenario : steps["scenarios"]) EXPECT_EQ(scenario["quality"]["questions_asked"], 4);
  EXPECT_EQ(warpmark(with(words, {"--endpoint", "completions"})).exit_code, 2);
}

TEST_F(LoadCli, shares_a_load_among_clients_that_mpirun_starts) {
  start();
  const auto output = warpmark(run({"--clients", "2", "--num-concurrency", "4", "--max-requests-per-run", "41",
                                    "--no-store", "--json", path("c.json")}));
  if (output.err.find("is not installed") != std::string::npos) GTEST_SKIP() << output.err;
  EXPECT_THAT(output.exit_code, ::testing::AnyOf(0, 5)) << output.err;
  EXPECT_EQ(json("c.json")["scenarios"][0]["requests"]["completed"], 41) << "one schedule, split";
}

TEST_F(LoadCli, shares_a_load_among_clients_on_several_hosts) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes network namespaces";
  if (!run_process({"mpirun", "--version"}).ok()) GTEST_SKIP() << "mpirun is not installed";
  const ThreeHosts hosts(path("."));
  if (!hosts.allowed) GTEST_SKIP() << "network namespaces are not allowed here: " << hosts.why;
  const std::string program = in_quotes(kExecutable);
  const std::string server =
      hosts.on_first("exec " + program +
                     " load server --host 10.97.0.1 --port 0 --ttft 4ms --itl 1ms --duration 100s") +
      " > " + path("server.txt") + " & server=$!; for i in $(seq 100); do grep -q listening " + path("server.txt") +
      " && break; sleep 0.1; done; port=$(sed -n \"s/.*10.97.0.1:\\([0-9]*\\).*/\\1/p\" " + path("server.txt") + "); ";
  const std::string load = hosts.on_first(
      "OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=" + path("agent") + " " + program +
      " load run --api-base http://10.97.0.1:'$port' --api-model-name m --traffic-scenario \"D(20,10)\" " +
      "--num-concurrency 4 --max-requests-per-run 41 --clients 2 --hosts " + path("hostfile") + " --no-store --json " +
      path("m.json"));
  const auto output = run_process({"sh", "-c", server + load + "; code=$?; kill $server; wait $server; exit $code"},
                                  {.deadline_s = 150});
  ASSERT_TRUE(output.ok());
  EXPECT_THAT(output->exit_code, ::testing::AnyOf(0, 5)) << output->err;
  const Json report = json("m.json");
  EXPECT_EQ(schema_errors(report, "load.schema.json"), "");
  EXPECT_EQ(report["scenarios"][0]["requests"]["completed"], 41) << "one schedule, split";
  std::map<std::string, int> shares;
  for (const auto& share : report["scenarios"][0]["client"]["clients"]) shares[share["host"]] = share["requests"];
  EXPECT_EQ(shares, (std::map<std::string, int>{{hosts.host(2), 21}, {hosts.host(3), 20}}));
}

TEST_F(LoadCli, shows_sessions_of_more_and_more_steps_over_a_chain_of_servers) {
  start();
  const auto other = serving::ReferenceServer::start({.script = {.ttft_s = 0.004, .itl_s = 0.001}});
  ASSERT_TRUE(other.ok());
  const std::vector<std::string> common{
      "--max-requests-per-run", "12", "--tool-time", "5ms", "--no-store", "--json", path("s.json")};
  const auto output = warpmark(
      with(run(common), {"--api-base", (*other)->url(), "--chain", "--turns", "1,2,3", "--think-time", "1ms"}));
  EXPECT_THAT(output.exit_code, ::testing::AnyOf(0, 5)) << output.err;
  const Json report = json("s.json");
  EXPECT_EQ(schema_errors(report, "load.schema.json"), "");
  ASSERT_EQ(report["scenarios"].size(), 3U);
  EXPECT_FALSE(report["scenarios"][0].contains("turns"));
  EXPECT_EQ(report["scenarios"][2]["turns"], 3);
  const Json metrics = report["scenarios"][2]["metrics"];
  EXPECT_EQ(metrics["session"]["n"], 4);
  EXPECT_GT(metrics["session_tool_share"]["mean"].get<double>(), 0);
  EXPECT_GT(metrics["session_transfer_share"]["mean"].get<double>(), 0);
  EXPECT_THAT(output.out, HasSubstr("1 user, 3 turns"));
  EXPECT_EQ(warpmark(with(run(common), {"--chain"})).exit_code, 2) << "one server is no chain";
  EXPECT_EQ(warpmark(with(run(common), {"--turns", "0"})).exit_code, 2);
}

TEST_F(LoadCli, asks_a_network_by_the_scenarios_of_mlperf) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& text) {
    const auto output = warpmark(with({"load", "run", "--no-store"}, more));
    EXPECT_EQ(output.exit_code, 2);
    EXPECT_THAT(output.err, HasSubstr(text));
  };
  refused({"--workload", "gpt2"}, "LoadGen's scenarios");
  refused({"--workload", "gemm", "--mlperf", "SingleStream"}, "is no network");
  refused({"--workload", "gpt2", "--mlperf", "SingleStream", "--slo", "ttft:p99<1s"}, "have no ttft");
  refused({"--workload", "gpt2", "--mlperf", "SingleStream", "--set", "pass=train"}, "infers");
  WM_NEEDS_TORCH();
  const std::string python = "python=" + testing_support::python_with_torch();
  refused({"--workload", "gpt2", "--mlperf", "SingleStream", "--set", "batch=4", "--set", python}, "has 1 samples");
  const auto run_of = [&](const std::string& scenario, const std::vector<std::string>& more) {
    return warpmark(with({"load", "run", "--workload", "resnet50", "--set", python, "--mlperf", scenario,
                          "--min-duration", "0.05s", "--min-queries", "6", "--no-store", "--json", path("w.json")},
                         more));
  };
  const auto multi = run_of("MultiStream", {});
  EXPECT_EQ(multi.exit_code, 1) << "INVALID: too few for early stopping\n" << multi.err;
  EXPECT_EQ(schema_errors(json("w.json"), "load.schema.json"), "");
  const Json scenario = json("w.json")["scenarios"][0];
  const int queries = scenario["mlperf"]["queries"];
  EXPECT_GE(queries, 6);
  EXPECT_EQ(scenario["requests"]["completed"], 8 * queries);
  EXPECT_GT(json("w.json")["first_probe"]["first_s"].get<double>(), 0);
  EXPECT_THAT(multi.out, HasSubstr("8 samples a query"));
  const auto offline = run_of("Offline", {"--max-requests-per-run", "20", "--set", "batch=6"});
  EXPECT_EQ(json("w.json")["scenarios"][0]["requests"]["completed"], 20) << offline.err;
  const auto served = run_of("Server", {"--request-rate", "200", "--slo", "e2e:p99<100s"});
  EXPECT_GE(json("w.json")["scenarios"][0]["mlperf"]["queries"].get<int>(), 6) << served.err;
}

}  // namespace
}  // namespace warpmark::apps
