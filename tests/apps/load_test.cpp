// `warpmark load` as it is used: a server, a run against it, its files, and what goes wrong.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "apps/load_cli_fixture.h"
#include "base/clock.h"

namespace warpmark::apps {
namespace {

TEST_F(LoadCli, measures_a_server_and_writes_what_the_schema_says) {
  start();
  const auto output = warpmark(
      run({"--num-concurrency", "1,4", "--max-requests-per-run", "40", "--json", path("load.json"), "--slo",
           "ttft:p50<10s,errors<20%", "--experiment-folder-name", path("experiment"), "--html", path("load.html")}));
  // 5 where the machine was too busy for the client: the numbers are there all the same.
  EXPECT_THAT(output.exit_code, ::testing::AnyOf(0, 5)) << output.err;
  EXPECT_THAT(output.out, HasSubstr("D(20,10), 4 users"));
  EXPECT_THAT(output.out, HasSubstr("TTFT"));
  const std::string headline = split(output.out, '\n').at(2);
  EXPECT_THAT(headline, ::testing::AnyOf(::testing::StartsWith("SLO met with "), ::testing::StartsWith("Unreliable:")));
  const auto page = *read_file(path("load.html"));
  EXPECT_THAT(page, HasSubstr("SLO"));
  EXPECT_THAT(page, Not(HasSubstr("Interrupted")));
  const Json report = json("load.json");
  EXPECT_EQ(schema_errors(report, "load.schema.json"), "");
  ASSERT_EQ(report["scenarios"].size(), 2U);
  EXPECT_EQ(report["scenarios"][1]["concurrency"], 4);
  EXPECT_EQ(report["scenarios"][1]["requests"]["completed"], 40);
  EXPECT_EQ(report["scenarios"][0]["slo"][0]["verdict"], "met");
  const Json metadata = json("experiment/experiment_metadata.json");
  EXPECT_EQ(metadata["num_concurrency"], Json({1, 4}));
  std::size_t runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("experiment"))) {
    if (!entry.path().filename().string().starts_with("D20_10_text-to-text_concurrency_")) continue;
    ++runs;
    const Json run_file = json("experiment/" + entry.path().filename().string());
    EXPECT_EQ(run_file["individual_request_metrics"].size(), 40U);
    EXPECT_EQ(run_file["aggregated_metrics"]["stats"]["num_output_tokens"]["p50"], 10);
  }
  EXPECT_EQ(runs, 2U);
  EXPECT_EQ(warpmark({"report", "last"}).exit_code, 0);
}

/// What `load compare` says of two results, without their names.
TEST_F(LoadCli, compares_stored_loads_by_their_reports) {
  std::vector<std::string> files, ids;
  for (const double ttft_s : {0.004, 0.008}) {
    start({.ttft_s = ttft_s, .itl_s = 0.001});
    files.push_back(path(std::to_string(files.size()) + ".json"));
    const auto output =
        warpmark(run({"--num-concurrency", "2", "--max-requests-per-run", "60", "--json", files.back()}));
    ASSERT_THAT(output.exit_code, ::testing::AnyOf(0, 5)) << output.err;
    ids.push_back(json(std::to_string(ids.size()) + ".json")["id"]);
  }
  const auto compared = [&](const std::vector<std::string>& words) {
    const auto output = warpmark(with({"load", "compare", "--json", path("c.json")}, words));
    EXPECT_EQ(output.exit_code, 0) << output.err;
    Json comparison = json("c.json");
    comparison.erase("variants");  // their names
    comparison.erase("unreliable");
    return comparison;
  };
  EXPECT_EQ(compared(ids), compared(files));
  EXPECT_GT(compared(ids)["rows"].size(), 10U);
  EXPECT_THAT(warpmark({"compare", ids[0], ids[1]}).err,
              HasSubstr("\n  warpmark load compare " + ids[0] + " " + ids[1]));
}

TEST_F(LoadCli, has_one_value_in_its_page_and_in_the_history) {
  start();
  const auto output =
      warpmark(run({"--num-concurrency", "4", "--max-requests-per-run", "80", "--json", path("load.json")}));
  ASSERT_THAT(output.exit_code, ::testing::AnyOf(0, 5)) << output.err;
  const Json metrics = json("load.json")["scenarios"][0]["metrics"];
  ASSERT_EQ(warpmark({"report", "last", "--format", "json", "--output", path("session.json")}).exit_code, 0);
  std::size_t found = 0;
  const Json session = json("session.json");
  for (const auto& metric : session["runs"][0]["metrics"]) {
    if (!metrics.contains(metric["id"])) continue;
    const Json& shown = metrics[metric["id"].get<std::string>()];
    const Json& value = shown.contains("percentiles") ? shown["percentiles"]["p50"]["value"] : shown["mean"];
    EXPECT_NEAR(metric["median"].get<double>(), value.get<double>(), 1e-12) << metric["id"];
    const Json interval = shown.contains("percentiles") ? shown["percentiles"]["p50"] : shown["mean_interval"];
    const char* low = interval.contains("low") ? "low" : "ci_low";
    EXPECT_EQ(metric.value("ci_low", Json()), interval.value(low, Json())) << metric["id"];
    ++found;
  }
  EXPECT_GE(found, 4U);
}

TEST_F(LoadCli, sends_at_a_rate_and_fails_the_gate_of_a_missed_objective) {
  start({.ttft_s = 0.05, .itl_s = 0.001});
  const auto output = warpmark(run({"--request-rate", "40", "--arrivals", "constant", "--max-time-per-run", "2s",
                                    "--slo", "ttft:p50<20ms", "--no-store"}));
  EXPECT_THAT(output.exit_code, ::testing::AnyOf(1, 5)) << output.err;
  EXPECT_THAT(output.out, HasSubstr("SLO ttft:p50<20ms"));
  EXPECT_THAT(output.out, HasSubstr("missed: 5"));
  EXPECT_THAT(output.out, HasSubstr("40 requests/s, constant"));
  EXPECT_THAT(output.out, ::testing::AnyOf(HasSubstr("\nSLO missed at 40 requests/s, constant: ttft:p50<20ms (5"),
                                           HasSubstr("\nUnreliable at 40 requests/s, constant: the client was late")))
      << "the verdict comes first";
}

TEST_F(LoadCli, ends_at_the_limit_of_open_files_and_says_what_to_do) {
  start({.ttft_s = 3, .itl_s = 0.001});  // does not keep up: requests pile up
  const auto output = run_process(with({"bash", "-c", "ulimit -n 80; exec \"$0\" \"$@\"", kExecutable},
                                       run({"--request-rate", "200", "--max-time-per-run", "20s", "--drain", "1s",
                                            "--no-calibrate", "--no-store", "--json", path("load.json")})),
                                  {.deadline_s = 120});
  ASSERT_TRUE(output.ok()) << output.error().what;
  EXPECT_THAT(unwrapped(output->out), HasSubstr("no more")) << output->err;
  const Json load = json("load.json")["scenarios"][0];
  EXPECT_THAT(
      load["stopped_because"].get<std::string>(),
      ::testing::AllOf(HasSubstr("requests are under way, and 80 files may be open"), HasSubstr("--max-in-flight")));
  const Json requests = load["requests"];
  EXPECT_EQ(requests["failed"], 0) << "the limit is no fault of the server";
  EXPECT_GT(requests["censored"], 20);
  EXPECT_GT(requests["never_sent"], 0);
}

TEST_F(LoadCli, says_what_is_wrong_before_it_sends_a_load) {
  start();
  const auto expect = [&](const std::vector<std::string>& words, int code, const std::string& text) {
    const auto output = warpmark(words);
    EXPECT_EQ(output.exit_code, code) << output.err;
    EXPECT_THAT(output.err, HasSubstr(text));
  };
  expect({"load"}, 2, "load needs an action");
  expect({"load", "rum"}, 2, "did you mean 'run'");
  expect({"load", "run"}, 2, "--api-base");
  expect({"load", "run", "--api-base", server_->url()}, 2, "--api-model-name");
  expect({"load", "run", "--api-base", server_->url() + "/v1"}, 2, "the server has 'reference'");
  expect(run({"--traffic-scenario", "D(1 2)"}), 2, "no traffic scenario");
  expect(run({"--num-concurrency", "2", "--request-rate", "3"}), 2, "not both");
  expect(run({"--num-concurrency", "2,,3"}), 2, "--num-concurrency: '' is not a whole number");
  expect(run({"--request-rate", "1e9"}), 2, "--request-rate must be above 0 and at most 1000000");
  expect(run({"--header", "Content-Length: 3"}), 2, "written by the client itself");
  expect(run({"--task", "text-to-embeddings"}), 2, "does not fit");
  expect(run({"--dataset-path", path("none.txt")}), 2, "none.txt");
  expect(run({"--slo", "ttft"}), 2, "no objective");
  ASSERT_TRUE(write_file(path("config.json"), R"({"source": {"type": 5, "path": ["x"]}})").ok());
  expect(run({"--dataset-config", path("config.json")}), 2, "only a source of type file");
  expect(run({"--json", path("no/folder.json")}), 5, "no/folder.json");
  expect({"load", "run", "--api-base", "http://127.0.0.1:1", "--api-model-name", "m"}, 5, "refused");
  expect(
      {"load", "run", "--api-base", server_->url() + "/nowhere/at/all", "--api-model-name", "m", "--endpoint", "nope"},
      2, "no endpoint");
}

TEST_F(LoadCli, writes_what_it_can_where_a_disk_is_full) {
  if (!std::filesystem::is_character_file("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  start();
  std::filesystem::create_symlink("/dev/full", path("full.json"));
  const auto output = warpmark(run({"--num-concurrency", "1,2", "--max-requests-per-run", "10", "--json",
                                    path("full.json"), "--requests-csv", path("requests.csv")}));
  EXPECT_EQ(output.exit_code, 5) << output.err;
  EXPECT_THAT(output.err, HasSubstr("full.json: No space left on device"));
  const auto rows = read_file(path("requests.csv"));
  ASSERT_TRUE(rows.ok()) << "the other file was written";
  EXPECT_GE(split(*rows, '\n').size(), 11U);
  EXPECT_EQ(warpmark({"report", "last"}).exit_code, 0) << "and what was measured is stored";
}

TEST_F(LoadCli, keeps_the_key_out_of_everything) {
  serving::ReferenceScript script{.ttft_s = 0.004, .itl_s = 0.001};
  script.key = "sk-very-secret";
  start(script);
  write("key", "sk-very-secret\n");
  EXPECT_EQ(warpmark(run({"--max-requests-per-run", "3", "--no-store"})).exit_code, 5) << "without a key it is refused";
  const auto by_file =
      warpmark(run({"--api-key-file", path("key"), "--max-requests-per-run", "3", "--json", path("a.json")}));
  EXPECT_THAT(by_file.exit_code, ::testing::AnyOf(0, 5)) << by_file.err;
  setenv("LOAD_TEST_KEY", "sk-very-secret", 1);
  const auto by_variable =
      warpmark(run({"--api-key", "env:LOAD_TEST_KEY", "--max-requests-per-run", "3", "--json", path("b.json")}));
  const auto by_header =
      warpmark(run({"--header", "Authorization: env:LOAD_TEST_BEARER", "--max-requests-per-run", "3"}));
  EXPECT_EQ(by_header.exit_code, 2) << "the variable is not set";
  unsetenv("LOAD_TEST_KEY");
  for (const char* name : {"a.json", "b.json", "test.db"}) {
    EXPECT_THAT(*read_file(path(name)), Not(HasSubstr("very-secret"))) << name;
  }
  EXPECT_EQ(json("b.json")["scenarios"][0]["requests"]["completed"], 3) << by_variable.err;
  for (const auto& words : {std::vector<std::string>{"--api-key", "sk-very-secret"},
                            std::vector<std::string>{"--header", "Authorization: Bearer sk-very-secret"},
                            std::vector<std::string>{"--header", "X-Api-Key: sk-very-secret"}}) {
    const auto refused = warpmark(run(words));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("seen by everybody"));
    EXPECT_THAT(refused.err, Not(HasSubstr("very-secret")));
  }
}

TEST_F(LoadCli, signs_requests_by_a_profile) {
  start();
  const std::string key = WARPMARK_SOURCE_DIR "/tests/data/signing/oracle_example_key.pem";
  write("config",
        "[DEFAULT]\nuser=u\ntenancy=t\nfingerprint=f\nregion=us-chicago-1\nkey_file=" + key + "\n[bare]\nuser=u\n");
  const std::vector<std::string> words{
      "load",          "run",          "--api-base",    server_->url() + "/v1", "--api-model-name",       "m",
      "--api-backend", "oci-openai",   "--config-file", path("config"),         "--max-requests-per-run", "3",
      "--json",        path("o.json"), "--no-store"};
  const auto signed_by = warpmark(words);
  EXPECT_THAT(signed_by.exit_code, ::testing::AnyOf(0, 5)) << signed_by.err;
  EXPECT_EQ(json("o.json")["scenarios"][0]["requests"]["completed"], 3);
  const auto bare = warpmark(with(words, {"--oci-profile", "bare"}));
  EXPECT_EQ(bare.exit_code, 2);
  EXPECT_THAT(bare.err, HasSubstr("lacks key_file, tenancy, fingerprint"));
  EXPECT_EQ(warpmark(with(words, {"--auth", "instance_principal"})).exit_code, 2);
}

TEST_F(LoadCli, replays_a_trace_and_a_data_set) {
  start();
  write("trace.jsonl",
        "{\"timestamp\": 0, \"input_length\": 20, \"output_length\": 4, \"hash_ids\": [1]}\n"
        "{\"timestamp\": 50, \"input_length\": 30, \"output_length\": 5, \"hash_ids\": [1, 2]}\n");
  const auto traced = warpmark(run({"--trace", path("trace.jsonl"), "--json", path("t.json"), "--no-store"}));
  EXPECT_THAT(traced.exit_code, ::testing::AnyOf(0, 5)) << traced.err;
  EXPECT_EQ(json("t.json")["scenarios"][0]["requests"]["completed"], 2);
  write("prompts.txt", "what is a warp?\nand a mark?\n");
  const auto asked =
      warpmark({"load", "run", "--api-base", server_->url(), "--api-model-name", "m", "--dataset-path",
                path("prompts.txt"), "--max-requests-per-run", "4", "--json", path("d.json"), "--no-store"});
  EXPECT_THAT(asked.exit_code, ::testing::AnyOf(0, 5)) << asked.err;
  EXPECT_EQ(json("d.json")["scenarios"][0]["requests"]["completed"], 4);
}

TEST_F(LoadCli, keeps_what_was_measured_at_ctrl_c) {
  start();
  const auto words = run({"--max-time-per-run", "60s", "--json", path("c.json"), "--no-store"});
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> arguments{const_cast<char*>(kExecutable.c_str())};
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    if (freopen("/dev/null", "w", stdout) == nullptr || freopen("/dev/null", "w", stderr) == nullptr) _exit(98);
    execv(kExecutable.c_str(), arguments.data());
    _exit(99);
  }
  for (int i = 0; i < 600 && server_->counts().answered.load() < 20; ++i) usleep(50'000);
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 130);
  const Json report = json("c.json");
  EXPECT_EQ(report["complete"], false);
  EXPECT_GE(report["scenarios"][0]["requests"]["completed"].get<int>(), 10);
}

TEST_F(LoadCli, goes_on_where_it_was_interrupted) {
  start();
  const std::vector<std::string> common{"--max-requests-per-run", "10",      "--no-store", "--json",
                                        path("r.json"),           "--resume"};
  auto first = common, second = common;
  first.insert(first.end(), {"--num-concurrency", "1"});
  second.insert(second.end(), {"--num-concurrency", "1,2"});
  EXPECT_THAT(warpmark(run(first)).exit_code, ::testing::AnyOf(0, 5));
  const Json done = json("r.json")["scenarios"][0];
  const auto before = server_->counts().requests.load();
  const auto output = warpmark(run(second));
  EXPECT_THAT(output.exit_code, ::testing::AnyOf(0, 5)) << output.err;
  EXPECT_THAT(output.err, HasSubstr("1 loads are done already"));
  EXPECT_LT(server_->counts().requests.load() - before, 20) << "only the second load was measured";
  const Json report = json("r.json");
  ASSERT_EQ(report["scenarios"].size(), 2U);
  EXPECT_EQ(report["scenarios"][0].dump(), done.dump()) << "what was read is written again as it was";
  EXPECT_EQ(report["scenarios"][1]["concurrency"], 2);
  EXPECT_EQ(schema_errors(report, "load.schema.json"), "");
  const auto other = warpmark({"load", "run", "--api-base", server_->url(), "--api-model-name", "another", "--resume",
                               "--json", path("r.json"), "--no-store"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("of another load"));
  Json damaged = report;
  damaged["scenarios"][0]["wall_s"] = "long";
  ASSERT_TRUE(write_file(path("r.json"), damaged.dump()).ok());
  const auto refused = warpmark(run(second));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("r.json is no report of a load: scenarios[0].wall_s must be a number"));
}

TEST_F(LoadCli, judges_a_run_by_the_rules_of_mlperf) {
  start();
  const auto output = warpmark(run({"--mlperf", "SingleStream", "--min-duration", "1s", "--min-queries", "64",
                                    "--no-store", "--json", path("m.json")}));
  const Json verdict = json("m.json")["scenarios"][0]["mlperf"];
  EXPECT_EQ(schema_errors(json("m.json"), "load.schema.json"), "");
  // INVALID where the machine kept the client from being in time, and for that alone.
  for (const auto& check : verdict["checks"]) {
    if (check["name"] == "client in time") continue;
    EXPECT_EQ(check["met"], true) << check;
  }
  EXPECT_THAT(output.out, ::testing::AnyOf(HasSubstr("SingleStream: VALID"), HasSubstr("SingleStream: INVALID")));
  EXPECT_GE(verdict["early_stopping_estimate"].get<double>(), 0.01);
  const auto offline = warpmark(run({"--mlperf", "offline", "--min-duration", "0.01s", "--max-requests-per-run", "40",
                                     "--min-queries", "40", "--no-store", "--json", path("o.json")}));
  EXPECT_EQ(json("o.json")["scenarios"][0]["mlperf"]["queries"], 40) << offline.err;
  const auto multi = warpmark(run({"--mlperf", "MultiStream", "--min-duration", "0.2s", "--min-queries", "5",
                                   "--no-store", "--json", path("s.json")}));
  EXPECT_GE(json("s.json")["scenarios"][0]["mlperf"]["queries"].get<int>(), 5) << multi.err;
  EXPECT_EQ(warpmark(run({"--mlperf", "Server", "--no-store"})).exit_code, 2) << "it needs a rate";
  EXPECT_EQ(warpmark(run({"--min-duration", "1s", "--no-store"})).exit_code, 2) << "it belongs to --mlperf";
}

TEST_F(LoadCli, shows_an_experiment_in_other_forms) {
  start();
  const auto measured =
      warpmark(run({"--num-concurrency", "1,2", "--max-requests-per-run", "30", "--no-store",
                    "--experiment-folder-name", path("e"), "--gpu-hour-price", "2", "--server-gpu-count", "4",
                    "--requests-csv", path("q.csv"), "--vllm-json", path("v.json")}));
  EXPECT_THAT(measured.exit_code, ::testing::AnyOf(0, 5)) << measured.err;
  EXPECT_THAT(unwrapped(measured.out), HasSubstr("per million output tokens"));
  const auto rows = *read_file(path("q.csv"));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 1 + 2 * 30) << "a title, and a row for each request";
  const Json last = json("v.json");
  EXPECT_EQ(last["max_concurrency"], 2);
  EXPECT_EQ(last["num_prompts"], 30);
  EXPECT_EQ(last["completed"].get<int>() + last["failed"].get<int>(), 30);
  for (const char* list : {"input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times", "errors"}) {
    EXPECT_EQ(last[list].size(), 30U) << list;
  }
  std::int64_t words = 0;
  for (const auto& one : last["output_lens"]) words += one.get<std::int64_t>();
  EXPECT_EQ(last["total_output_tokens"], words);
  EXPECT_GE(last["mean_e2el_ms"].get<double>(), last["mean_ttft_ms"].get<double>());
  EXPECT_EQ(warpmark({"load", "excel", "--experiment-folder", path("e"), "--excel-name", path("b.xlsx")}).exit_code, 0);
  EXPECT_EQ(read_file(path("b.xlsx"))->substr(0, 2), "PK");
  const auto page = warpmark({"load", "plot", "--experiments-folder", path("e")});
  EXPECT_EQ(page.exit_code, 0);
  EXPECT_THAT(page.out, HasSubstr("8 plots in " + path("e/plots.html") + "; open it in a browser"));
  const auto drawn =
      warpmark({"load", "plot", "--experiments-folder", path("e"), "--format", "svg", "--out", path("svg")});
  EXPECT_THAT(drawn.out, HasSubstr("  " + path("svg/plot-01-")));
  EXPECT_THAT(drawn.out, HasSubstr("\n  warpmark load plot --experiments-folder " + path("e") + "\n"));
  EXPECT_THAT(*read_file(path("e/plots.html")), HasSubstr("<svg"));
  const auto png = warpmark({"load", "plot", "--experiments-folder", path("e"), "--preset", "simple_2x2", "--format",
                             "png", "--out", path("p")});
  EXPECT_THAT(png.exit_code, ::testing::AnyOf(0, 5)) << png.err;
  if (png.exit_code == 5) {
    EXPECT_THAT(png.err, HasSubstr("rsvg-convert"));
  }
  const auto compared = warpmark({"load", "compare", path("e"), path("e"), "--json", path("k.json")});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("TTFT p50"));
  EXPECT_EQ(schema_errors(json("k.json"), "load_comparison.schema.json"), "");
  EXPECT_EQ(warpmark({"load", "compare", path("e")}).exit_code, 2);
  EXPECT_EQ(warpmark({"load", "plot", "--experiments-folder", path("none")}).exit_code, 2);
  EXPECT_EQ(warpmark({"load", "plot", "--experiments-folder", path("e"), "--preset", "2x5"}).exit_code, 2);
}

TEST_F(LoadCli, steps_embeddings_by_their_batch_size) {
  start();
  const auto output = warpmark({"load", "run", "--api-base", server_->url(), "--api-model-name", "m", "--task",
                                "text-to-embeddings", "--traffic-scenario", "E(20)", "--batch-size", "1,4",
                                "--max-requests-per-run", "5", "--no-store", "--experiment-folder-name", path("e")});
  EXPECT_THAT(output.exit_code, ::testing::AnyOf(0, 5)) << output.err;
  EXPECT_THAT(output.out, HasSubstr("1 user, 4 documents"));
  const Json metadata = json("e/experiment_metadata.json");
  EXPECT_EQ(metadata["batch_size"], Json({1, 4}));
  EXPECT_EQ(metadata["iteration_type"], "batch_size");
  EXPECT_EQ(metadata["max_requests_per_run"], 5);
  EXPECT_EQ(metadata["api_backend"], "openai");
  EXPECT_EQ(warpmark({"load", "excel", "--experiment-folder", path("e")}).exit_code, 0);
  EXPECT_EQ(warpmark({"load", "plot", "--experiments-folder", path("e")}).exit_code, 0);
}

TEST_F(LoadCli, tests_itself_and_writes_what_the_schema_says) {
  const auto output =
      warpmark({"load", "selftest", "--streams", "20", "--duration", "1s", "--json", path("self.json")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const Json report = json("self.json");
  EXPECT_EQ(schema_errors(report, "load_selftest.schema.json"), "");
  EXPECT_EQ(report["points"][0]["failed"], 0);
  EXPECT_GT(report["points"][0]["first_token_error"]["n"].get<int>(), 0);
}

}  // namespace
}  // namespace warpmark::apps
