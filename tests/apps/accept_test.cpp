// `warpmark accept` as a person uses it.
#include <gmock/gmock.h>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::schema_errors;

class AcceptCli : public Cli {};

TEST_F(AcceptCli, accepts_this_machine_by_the_smoke_criteria) {
  const auto output = warpmark({"accept", "cpu-smoke", "--measure", "--budget", "60s", "--out", path("out")});
  // A machine that others keep busy is unreliable, never accepted and never rejected.
  EXPECT_TRUE(output.exit_code == 0 || output.exit_code == 5) << output.out << output.err;
  const auto result = json("out/acceptance.json");
  EXPECT_EQ(schema_errors(result, "acceptance.schema.json"), "");
  EXPECT_EQ(result["result"], output.exit_code == 0 ? "pass" : "unreliable");
  EXPECT_EQ(result["rows"].size(), 6U);
  for (const auto& row : result["rows"]) {
    const bool measured = row.contains("value") || row.contains("value_text");
    // A slow machine may use up the budget before the last of them, says so, and is not accepted.
    const bool left_out = output.exit_code == 5 && row.value("reason", "").find("budget") != std::string::npos;
    EXPECT_TRUE(measured || left_out) << row;
  }
  const auto criteria = read_file(std::string(WARPMARK_SOURCE_DIR) + "/acceptance/cpu-smoke.yaml");
  EXPECT_EQ(result["criteria"]["sha256"], sha256_hex(*criteria));
  EXPECT_THAT(output.out, HasSubstr("accepted by"));
  EXPECT_THAT(output.out, HasSubstr(sha256_hex(*criteria)));
  const auto html = read_file(path("out/acceptance.html"));
  EXPECT_THAT(*html, HasSubstr("Memory bandwidth"));
  EXPECT_THAT(*html, Not(HasSubstr("http://")));
  EXPECT_THAT(*read_file(path("out/acceptance.md")), HasSubstr("| pass"));

  // The session was stored: judging it again needs no measurement.
  const auto again = warpmark({"accept", "cpu-smoke", "--results", "last", "--format", "json"});
  EXPECT_EQ(again.exit_code, output.exit_code);
  EXPECT_EQ((*parse_json(again.out, "out"))["session"], result["session"]);
}

TEST_F(AcceptCli, fails_and_names_the_criterion) {
  write("c.yaml", "criteria:\n  - {title: Huge memory, fact: host_memory, operator: '>=', value: 900 TiB}\n");
  const auto output = warpmark({"accept", path("c.yaml")});
  EXPECT_EQ(output.exit_code, 1);
  EXPECT_THAT(output.out, HasSubstr("NOT ACCEPTED: 1 of 1 criteria failed"));
  EXPECT_THAT(output.out, HasSubstr("Huge memory"));
}

TEST_F(AcceptCli, says_why_a_required_criterion_cannot_be_measured) {
  write("c.yaml",
        "criteria:\n  - {workload: copy, device: 'cuda:7', metric: bandwidth, operator: '>=', value: 1 GB/s}\n");
  const auto without = warpmark({"accept", path("c.yaml")});
  EXPECT_EQ(without.exit_code, 3);
  EXPECT_THAT(without.out, HasSubstr("--measure"));
}

TEST_F(AcceptCli, ends_with_5_where_run_finds_no_device) {
  write("c.yaml",
        "criteria:\n  - {workload: copy, device: 'cuda:7', metric: bandwidth, operator: '>=', value: 1 GB/s}\n"
        "  - {title: Training, workload: command, metric: throughput, operator: '>=', value: 1 samples/s}\n");
  const auto output = warpmark({"accept", path("c.yaml"), "--measure", "--json", path("a.json")});
  EXPECT_EQ(output.exit_code, 5) << output.out << output.err;
  EXPECT_EQ(json("a.json")["rows"][0]["reason"], "no such device is here");
  EXPECT_THAT(json("a.json")["rows"][1]["reason"].get<std::string>(), HasSubstr("warpmark run -- CMD"));
}

TEST_F(AcceptCli, names_the_option_where_the_budget_is_used_up) {
  write("c.yaml",
        "criteria:\n  - {workload: copy, device: cpu, metric: bandwidth, operator: '>=', value: 1 kB/s}\n"
        "  - {workload: gemm, device: cpu, metric: time, operator: '<=', value: 90 s}\n");
  const auto output = warpmark({"accept", path("c.yaml"), "--measure", "--budget", "10ms", "--json", path("a.json")});
  EXPECT_THAT(output.out, HasSubstr("give more time with --budget")) << output.err;
}

TEST_F(AcceptCli, limits_tests_of_other_tools_and_metrics_of_models) {
  write("tests.json",
        R"({"results":[{"command":"parse","mean":0.0125,"times":[0.0125,0.0126,0.0124,0.0125,0.0125,0.0125]}]})");
  write("c.yaml", "criteria:\n  - {title: Parse, workload: parse, metric: time, operator: '<=', value: 20 ms}\n");
  const auto met = warpmark({"accept", path("c.yaml"), "--results", path("tests.json")});
  EXPECT_EQ(met.exit_code, 0) << met.out << met.err;
  write("c.yaml",
        "criteria:\n  - {title: Parse, workload: parse, metric: time, operator: '<=', value: 10 ms}\n"
        "  - {title: Load, workload: load, metric: samples_rate, operator: '>=', value: 400 1/s}\n");
  const auto missed = warpmark({"accept", path("c.yaml"), "--results", path("tests.json"), "--json", path("a.json")});
  EXPECT_EQ(missed.exit_code, 1) << missed.out << missed.err;
  EXPECT_EQ(json("a.json")["rows"][1]["state"], "not measurable") << "the file has no such test";
}

TEST_F(AcceptCli, names_what_is_wrong_with_the_criteria) {
  write("c.yaml", "criteria:\n  - {workload: cpoy, metric: bandwidth, operator: '>=', value: 1 GB/s}\n");
  const auto typo = warpmark({"accept", path("c.yaml")});
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_THAT(typo.err, HasSubstr("line 2"));
  EXPECT_THAT(typo.err, HasSubstr("did you mean 'copy'?"));

  write("p.yaml",
        "criteria:\n  - {workload: copy, set: {sice: 1MiB}, metric: bandwidth, operator: '>=', value: 1 GB/s}\n");
  const auto param = warpmark({"accept", path("p.yaml")});
  EXPECT_EQ(param.exit_code, 2);
  EXPECT_THAT(param.err, HasSubstr("did you mean 'size'?"));

  const auto unknown = warpmark({"accept", "cpu-smok"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'cpu-smoke'?"));
  EXPECT_EQ(warpmark({"accept"}).exit_code, 2);
  EXPECT_EQ(warpmark({"accept", "cpu-smoke", "--results", "nothing"}).exit_code, 2);
}

TEST_F(AcceptCli, sets_results_of_nodes_against_each_other) {
  setenv("OMP_NUM_THREADS", "1", 1);  // what is measured does not matter
  ASSERT_EQ(
      warpmark(with({"run", "copy", "--no-store", "--set", "size=16KiB", "--json", path("n0.json")}, kShort)).exit_code,
      0);
  unsetenv("OMP_NUM_THREADS");
  // Four nodes that are this one with small made-up differences, and one that takes twice as long.
  const double factors[] = {1.0, 1.004, 0.997, 1.002, 2.0};
  std::vector<std::string> words{"accept", "--across", "--out", path("out")};
  for (int i = 0; i < 5; ++i) {
    auto session = json("n0.json");
    session["id"] = "20260301-00000" + std::to_string(i) + "-0000";
    session["machine"]["hostname"] = "node" + std::to_string(i);
    for (auto& run : session["runs"]) {
      run["outcome"] = "passed";
      run.erase("reason");
      for (auto& metric : run["metrics"]) {
        if (metric["id"] != "time") continue;
        for (auto& sample : metric["samples"]) sample = sample.get<double>() * factors[i];
        for (const char* key : {"median", "ci_low", "ci_high"}) {
          if (metric.contains(key)) metric[key] = metric[key].get<double>() * factors[i];
        }
      }
    }
    write("node" + std::to_string(i) + ".json", session.dump());
    words.push_back(path("node" + std::to_string(i) + ".json"));
  }
  const auto output = warpmark(words);
  EXPECT_EQ(output.exit_code, 1) << output.out << output.err;
  EXPECT_THAT(output.out, HasSubstr("node4 cpu is slow"));
  EXPECT_THAT(output.out, Not(HasSubstr("node1 cpu is slow")));
  EXPECT_EQ(schema_errors(json("out/across.json"), "across.schema.json"), "");

  words.pop_back();
  const auto equal = warpmark(words);
  EXPECT_EQ(equal.exit_code, 0) << equal.out;
  EXPECT_EQ(warpmark({"accept", "--across", path("node1.json")}).exit_code, 2);
}

}  // namespace
}  // namespace warpmark::apps
