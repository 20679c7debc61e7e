// `warpmark load run` against servers as there are: with a prefix cache, with few threads, closing each connection, and
// answering oddly (tests/data/serving/odd_server.py). And command lines of other load testers.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <set>

#include "apps/load_cli_fixture.h"
#include "warpmark/load/peers/peer_options.h"

namespace warpmark::apps {
namespace {

class OddServer : public LoadCli {
 protected:
  /// With so many threads; 0: one for each connection.
  void start_odd(int threads = 0) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[1], 1);
      const std::string count = std::to_string(threads);
      execlp("python3", "python3", WARPMARK_SOURCE_DIR "/tests/data/serving/odd_server.py",
             threads > 0 ? count.c_str() : nullptr, nullptr);
      _exit(99);
    }
    close(ends[1]);
    FILE* out = fdopen(ends[0], "r");
    int port = 0;
    const bool read = fscanf(out, "%d", &port) == 1;
    fclose(out);
    if (!read) GTEST_SKIP() << "python3 is not installed";
    url_ = "http://127.0.0.1:" + std::to_string(port);
  }
  void TearDown() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    LoadCli::TearDown();
  }
  /// The report of a load on a mode of the server.
  Json load(const std::string& mode, const std::vector<std::string>& more) {
    output = warpmark(with({"load", "run", "--api-base", url_ + "/" + mode, "--api-model-name", "m",
                            "--traffic-scenario", "D(50,5)", "--no-store", "--json", path("load.json")},
                           more));
    EXPECT_THAT(output.exit_code, ::testing::AnyOf(0, 1, 3, 5)) << output.err;
    const Json report = json("load.json");
    EXPECT_EQ(schema_errors(report, "load.schema.json"), "") << mode;
    return report;
  }
  static double p50_of(const Json& scenario, const std::string& metric) {
    return scenario["metrics"][metric]["percentiles"]["p50"]["value"].get<double>();
  }

  std::string url_;
  ProcessOutput output;
  pid_t child_ = -1;
};

TEST_F(OddServer, with_a_prefix_cache_has_seen_no_prompt_before) {
  start_odd();
  for (int run = 0; run < 2; ++run) {
    const Json report = load("prefix", {"--num-concurrency", "1,2", "--max-requests-per-run", "8"});
    for (const auto& scenario : report["scenarios"]) {
      EXPECT_GE(p50_of(scenario, "ttft"), 0.05) << "a millisecond for each of 50 words, in each load of each run";
      EXPECT_EQ(scenario["prompts"]["kind"], "unique");
      EXPECT_EQ(scenario["prompts"]["cached_share"], 0);
    }
  }
  // The same seed sends the same prompts: the claim is contradicted aloud.
  const std::vector<std::string> seeded{"--seed", "7", "--max-requests-per-run", "8"};
  (void)load("prefix", seeded);
  const Json again = load("prefix", seeded)["scenarios"][0];
  EXPECT_GT(again["prompts"]["cached_share"].get<double>(), 0.9);
  EXPECT_EQ(again["prompts"]["repeats"], true);
  EXPECT_THAT(output.err, HasSubstr("--seed 7: each run with it sends the same prompts"));
  EXPECT_THAT(unwrapped(output.out), HasSubstr("WARNING: prompts were sent to be unique, but the server had"));
}

TEST_F(OddServer, with_a_prefix_cache_finds_the_history_of_a_conversation) {
  start_odd();
  const Json scenario = load("prefix", {"--turns", "3", "--max-requests-per-run", "9"})["scenarios"][0];
  for (const char* metric : {"ttft_turn_1", "ttft_turn_2", "ttft_turn_3"}) {
    // What is new in a turn: a question of 50 words, and the answer of 5 to the question before.
    EXPECT_GE(p50_of(scenario, metric), 0.05) << metric;
    EXPECT_LT(p50_of(scenario, metric), 0.1) << metric << ": the whole history would take longer";
  }
  EXPECT_TRUE(scenario["metrics"].contains("tpot_turn_3"));
  EXPECT_THAT(output.out, HasSubstr("TTFT, turn 3"));
}

TEST_F(OddServer, with_few_threads_answers_every_request) {
  start_odd(3);
  const Json open =
      load("plain", {"--request-rate", "30", "--arrivals", "constant", "--max-requests-per-run", "60"})["scenarios"][0];
  EXPECT_EQ(open["requests"]["completed"], 60) << output.out;
  EXPECT_LT(p50_of(open, "ttft"), 1) << "none waits for the deadline of an idle connection";
  const Json closed = load("plain", {"--num-concurrency", "8", "--max-requests-per-run", "40"})["scenarios"][0];
  EXPECT_EQ(closed["requests"]["completed"], 40) << output.out;
}

TEST_F(OddServer, that_closes_each_connection_fails_no_request) {
  start_odd();
  const Json scenario = load("close", {"--num-concurrency", "4", "--max-requests-per-run", "20"})["scenarios"][0];
  EXPECT_EQ(scenario["requests"]["completed"], 20) << output.out;
  EXPECT_EQ(scenario["requests"]["failed"], 0);
}

TEST_F(OddServer, that_ends_answers_badly_has_failed) {
  start_odd();
  for (const char* mode : {"error", "abort", "filter"}) {
    const Json scenario = load(mode, {"--max-requests-per-run", "3"})["scenarios"][0];
    EXPECT_EQ(scenario["requests"]["failed"], 3) << mode;
    EXPECT_EQ(scenario["errors"]["finish_reason"], 3) << mode;
  }
  for (const char* mode : {"doneblank", "gzipforce", "gzipstream", "oneevent", "nousage", "zerousage"}) {
    const Json scenario = load(mode, {"--max-requests-per-run", "3"})["scenarios"][0];
    EXPECT_EQ(scenario["requests"]["completed"], 3) << mode << output.out;
  }
  load("escape", {"--max-requests-per-run", "3"});
}

TEST_F(OddServer, of_one_event_decides_objectives_on_its_first_token) {
  start_odd();
  const Json scenario =
      load("oneevent", {"--max-requests-per-run", "10", "--slo", "ttft:p50<10s,tpot:p50<1s"})["scenarios"][0];
  EXPECT_GE(p50_of(scenario, "ttft"), 0.01);
  EXPECT_EQ(scenario["slo"][0]["verdict"], "met");
  EXPECT_EQ(scenario["slo"][1]["verdict"], "undecided");
  EXPECT_EQ(scenario["slo"][1]["reason"], "answers have one token each");
}

TEST_F(OddServer, that_buffers_an_answer_shows_no_time_between_tokens) {
  start_odd();
  const Json scenario = load(
      "onesegment", {"--max-requests-per-run", "10", "--slo", "tpot:p50<1s", "--goodput", "tpot:1000"})["scenarios"][0];
  EXPECT_FALSE(scenario["metrics"].contains("tpot"));
  EXPECT_FALSE(scenario["metrics"].contains("itl"));
  EXPECT_EQ(scenario["requests"]["buffered"], 10);
  EXPECT_EQ(scenario["slo"][0]["verdict"], "undecided");
  EXPECT_EQ(scenario["metrics"]["goodput"]["mean"], 0);
  EXPECT_THAT(unwrapped(output.out), HasSubstr("10 of 10 answers were buffered by the server or a proxy"));
}

TEST_F(OddServer, that_counts_no_tokens_has_counts_of_events_and_no_zeros) {
  start_odd();
  for (const char* mode : {"nousage", "zerousage"}) {
    const Json scenario = load(mode, {"--max-requests-per-run", "5", "--vllm-json", path("v.json"), "--requests-csv",
                                      path("r.csv")})["scenarios"][0];
    EXPECT_EQ(scenario["tokens"]["source"], "events") << mode;
    EXPECT_EQ(scenario["metrics"]["output_tokens"]["mean"], 5) << mode;
    EXPECT_FALSE(scenario["metrics"].contains("input_throughput")) << mode;
    const Json vllm = json("v.json");
    EXPECT_EQ(vllm["total_output_tokens"], 25);
    EXPECT_EQ(vllm["output_tokens_by"], "events");
    EXPECT_EQ(vllm["total_input_tokens"], nullptr) << "not known, and not 0";
    EXPECT_GT(vllm["p99_ttft_ms"].get<double>(), 0) << "the value of the sample";
    EXPECT_THAT(*read_file(path("r.csv")), HasSubstr(",5,events,"));
  }
  const Json one = load("oneevent", {"--max-requests-per-run", "5", "--vllm-json", path("v.json")});
  EXPECT_EQ(json("v.json")["p99_tpot_ms"], nullptr);
}

TEST_F(OddServer, that_redirects_or_hangs_is_named_before_the_load) {
  start_odd();
  const auto redirected = warpmark({"load", "run", "--api-base", url_ + "/redirect", "--api-model-name", "m"});
  EXPECT_EQ(redirected.exit_code, 5);
  EXPECT_THAT(redirected.err, HasSubstr("307 Temporary Redirect: to /plain"));
  const auto escaped = warpmark({"load", "run", "--api-base", url_ + "/escape", "--api-model-name", "m"});
  EXPECT_THAT(escaped.err, HasSubstr("\\x1b[31mred\\x07"));
  EXPECT_THAT(escaped.err, Not(HasSubstr("\x1b[31m")));
  const auto hangs =
      warpmark({"load", "run", "--api-base", url_ + "/hang", "--api-model-name", "m", "--request-timeout", "0.3s"});
  EXPECT_EQ(hangs.exit_code, 5);
  EXPECT_THAT(hangs.err, HasSubstr("no whole answer within 0.3 s"));
}

TEST_F(OddServer, that_fails_too_often_ends_the_load) {
  start_odd();
  const Json scenario = load(
      "error", {"--max-requests-per-run", "1000", "--num-concurrency", "8", "--max-error-rate", "10%"})["scenarios"][0];
  EXPECT_EQ(output.exit_code, 5) << "nothing was answered";
  EXPECT_LT(scenario["requests"]["sent"].get<int>(), 100);
  EXPECT_THAT(scenario["stopped_because"].get<std::string>(), HasSubstr("more than --max-error-rate 10%"));
}

TEST_F(OddServer, is_compared_with_itself_by_all_parameters) {
  start_odd();
  (void)load("plain", {"--turns", "1,2", "--num-concurrency", "1,2", "--max-requests-per-run", "12", "--html",
                       path("load.html")});
  EXPECT_THAT(*read_file(path("load.html")), ::testing::AllOf(HasSubstr("<svg"), HasSubstr("TTFT, turn 2")));
  const auto compared = warpmark({"load", "compare", path("load.json"), path("load.json"), "--json", path("c.json")});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  std::set<std::string> loads;
  const Json comparison = json("c.json");
  for (const auto& row : comparison["rows"]) {
    loads.insert(row["load"].get<std::string>());
    EXPECT_EQ(row["variants"][1].value("ratio", 1.0), 1) << row;
  }
  EXPECT_EQ(loads, (std::set<std::string>{"1 user", "2 users", "1 user, turns 2", "2 users, turns 2"}));
}

TEST_F(OddServer, is_not_mixed_with_another_in_a_folder) {
  start_odd();
  const std::vector<std::string> folder{
      "--experiment-base-dir", path("made/here"), "--experiment-folder-name", "e", "--max-requests-per-run", "6"};
  (void)load("plain", with(folder, {"--request-rate", "50,60"}));
  std::size_t runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("made/here/e"))) {
    runs += entry.path().filename().string().find("_time_") != std::string::npos ? 1U : 0U;
  }
  EXPECT_EQ(runs, 2U) << "a file for each rate";
  const auto again =
      warpmark(with({"load", "run", "--api-base", url_ + "/plain", "--api-model-name", "m", "--no-store"}, folder));
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("holds an experiment already"));
  EXPECT_EQ(warpmark({"load", "excel", "--experiment-folder", path("made/here/e")}).exit_code, 0);
}

TEST_F(OddServer, takes_a_command_line_of_genai_bench) {
  start_odd();
  const std::string line = "load run --api-backend openai --api-base " + url_ +
                           "/plain --api-model-name m --model Llama-3 --model-tokenizer meta-llama/Llama-3 --task "
                           "text-to-text --max-time-per-run 1 --max-requests-per-run 5 --num-concurrency 1 "
                           "--num-concurrency 2 --traffic-scenario D(20,5) --num-workers 0 --server-engine vLLM "
                           "--server-gpu-type H100 --server-version v0.6 --server-gpu-count 4 --upload-results "
                           "--storage-bucket b --no-store";
  output = warpmark(with(split(line, ' '), {"--experiment-base-dir", path("genai"), "--json", path("g.json")}));
  EXPECT_THAT(output.exit_code, ::testing::AnyOf(0, 5)) << output.err;
  EXPECT_THAT(output.err, HasSubstr("--upload-results of genai-bench is passed over"));
  EXPECT_THAT(output.err, HasSubstr("tokens are counted by the server"));
  const Json report = json("g.json");
  EXPECT_EQ(report["scenarios"].size(), 2U);
  EXPECT_TRUE(report["scenarios"][0]["metrics"].contains("output_throughput_per_gpu"));
}

TEST_F(OddServer, takes_a_command_line_of_vllm) {
  start_odd();
  const std::string line = "load run --backend openai-chat --base-url " + url_ +
                           "/plain --endpoint /v1/chat/completions --model m --dataset-name random --random-input-len "
                           "30 --random-output-len 4 --num-prompts 12 --request-rate inf --max-concurrency 3 "
                           "--ignore-eos --goodput ttft:500 tpot:50 --percentile-metrics ttft,tpot,itl,e2el "
                           "--metric-percentiles 50,99 --save-result --result-filename out.json --disable-tqdm "
                           "--no-store";
  output = warpmark(with(split(line, ' '), {"--result-dir", path("results"), "--json", path("v.json")}));
  EXPECT_THAT(output.exit_code, ::testing::AnyOf(0, 5)) << output.err;
  const Json scenario = json("v.json")["scenarios"][0];
  EXPECT_EQ(scenario["scenario"], "D(30,4)");
  EXPECT_EQ(scenario["concurrency"], 3);
  EXPECT_EQ(scenario["requests"]["completed"], 12);
  EXPECT_TRUE(scenario["metrics"].contains("goodput"));
  EXPECT_EQ(json("results/out.json")["completed"], 12);
}

/// The page that lists what is accepted; WARPMARK_UPDATE=1 writes it.
TEST(PeerOptions, are_listed_for_people) {
  const std::string file = WARPMARK_SOURCE_DIR "/docs/load-command-lines.md";
  const std::string begin = "<!-- options -->\n";
  auto page = read_file(file);
  ASSERT_TRUE(page.ok()) << page.error().what;
  const auto at = page->find(begin);
  ASSERT_NE(at, std::string::npos);
  const std::string wanted = page->substr(0, at) + begin + peer_options_table();
  const char* update = std::getenv("WARPMARK_UPDATE");
  if (update != nullptr && std::string(update) == "1") {
    ASSERT_TRUE(write_file(file, wanted).ok());
  } else {
    EXPECT_TRUE(*page == wanted) << "WARPMARK_UPDATE=1 rewrites it";
  }
}

TEST(PeerOptions, are_translated) {
  const auto words_of = [](const std::vector<std::string>& words) {
    auto own = own_words(words);
    EXPECT_TRUE(own.ok()) << own.error().what;
    return join(own->words, " ");
  };
  EXPECT_EQ(words_of({"run", "--model", "m", "--num-prompts", "50", "--request-rate", "5", "--burstiness", "0.5",
                      "--max-concurrency", "8"}),
            "run --model m --api-base http://127.0.0.1:8000 --endpoint completions --max-requests-per-run 50 "
            "--request-rate 5 --max-in-flight 8 --arrivals gamma:0.5 --traffic-scenario D(1024,128)");
  EXPECT_EQ(words_of({"run",
                      "--backend",
                      "vllm",
                      "--model",
                      "m",
                      "--host",
                      "h",
                      "--port",
                      "9",
                      "--dataset-name",
                      "random",
                      "--random-input-len",
                      "100",
                      "--random-output-len",
                      "10",
                      "--random-range-ratio",
                      "0.5",
                      "--random-prefix-len",
                      "20",
                      "--num-prompts=7",
                      "--temperature",
                      "0.5",
                      "--seed",
                      "3"}),
            "run --model m --seed 3 --api-base http://h:9 --endpoint completions --max-requests-per-run 7 "
            "--num-concurrency 7 --traffic-scenario U(70,170)/(5,15) --prefix-len 20 --additional-request-params "
            "{\"temperature\":0.5}");
  const auto length_of = [&](const std::string& more) {
    const std::string own =
        words_of(with({"run", "--model", "m", "--num-prompts", "5", "--dataset-path", "f.jsonl"}, split(more, ' ')));
    const auto at = own.find(" --additional-request-params ");
    return at == std::string::npos ? "" : own.substr(own.rfind(' ') + 1);
  };
  EXPECT_EQ(length_of("--dataset-name custom"), R"({"max_tokens":256})") << "vLLM's own default";
  EXPECT_EQ(length_of("--dataset-name custom --custom-output-len 32"), R"({"max_tokens":32})");
  EXPECT_EQ(length_of("--dataset-name custom --custom-output-len -1"), "") << "as the rows say";
  EXPECT_EQ(length_of("--dataset-name sharegpt"), "") << "as the conversations say";
  EXPECT_EQ(length_of("--dataset-name sharegpt --sharegpt-output-len 9"), R"({"max_tokens":9})");
  EXPECT_EQ(words_of({"run", "--api-base", "u", "--seed", "3"}), "run --api-base u --seed 3");
  EXPECT_EQ(words_of({"server", "--port", "9"}), "server --port 9") << "its own options";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "--num-prompts", "5", "--insecure"},
                                                {"run", "--aws-secret-access-key", "x"},
                                                {"run", "--dataset-name", "hf", "--num-prompts", "5"},
                                                {"run", "--backend", "tgi"}}) {
    EXPECT_FALSE(own_words(words).ok()) << join(words, " ");
  }
}

}  // namespace
}  // namespace warpmark::apps
