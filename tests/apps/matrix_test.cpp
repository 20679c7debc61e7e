// `warpmark matrix` as a person uses it, killed in the middle too.
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <map>
#include <thread>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "store/sqlite/sqlite_store.h"
#include "support/schema_check.h"

extern char** environ;

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using testing_support::schema_errors;

class MatrixCli : public Cli {
 protected:
  /// A program that tells its speed, leaves a line for each run, fails or hangs where it is told to.
  void write_matrix(const std::string& name, const std::string& more = "", const std::string& pause = "0.01") {
    write("prog.sh",
          "#!/bin/sh\necho \"$1 $2\" >> " + in_quotes(path("runs.txt")) + "\nsleep " + pause +
              "\n[ \"$1\" = bad ] && { echo no such precision >&2; exit 7; }\n[ \"$1\" = hang ] && sleep 30\n"
              "echo '{\"rate\": '$((100 * $2))', \"latencies\": [0.01, 0.02, 0.03]}'\n");
    write(name, "command:\n  run: [/bin/sh, " + in_quotes(path("prog.sh")) +
                    ", '{precision}', '{batch}']\n  timeout: 2s\n  metrics:\n"
                    "    - {name: throughput, unit: 1/s, better: higher, json: rate}\n"
                    "    - {name: p99, unit: s, json: latencies, percentile: 99}\n"
                    "axes: {precision: [f32, bf16], batch: [1, 8]}\nbaseline: {precision: f32, batch: 1}\n"
                    "rounds: 4\nwarmup: 0\nprice_per_hour: 2\ncurrency: USD\n" +
                    more);
  }
  std::map<std::string, int> runs() {
    std::map<std::string, int> counts;
    const auto text = read_file(path("runs.txt"));
    if (!text.ok()) return counts;
    for (const auto& line : split(*text, '\n')) {
      if (!line.empty()) ++counts[line];
    }
    return counts;
  }
  std::vector<store::RunPoint> stored(const std::string& metric) {
    return store::open_sqlite(path("test.db")).value()->find({.metric = metric}).value();
  }
  int started() {
    int sum = 0;
    for (const auto& [variant, count] : runs()) sum += count;
    return sum;
  }
};

TEST_F(MatrixCli, measures_all_variants_and_marks_the_front) {
  write_matrix("m.yaml");
  const auto output = warpmark({"matrix", path("m.yaml"), "--out", path("out")});
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  const auto result = json("out/matrix.json");
  EXPECT_EQ(schema_errors(result, "matrix.schema.json"), "");
  ASSERT_EQ(result["variants"].size(), 4U);
  for (const auto& variant : result["variants"]) EXPECT_EQ(variant["runs"], 4);
  for (const auto& [variant, count] : runs()) EXPECT_EQ(count, 4) << variant;
  EXPECT_THAT(output.out, HasSubstr("throughput"));
  EXPECT_THAT(output.out, HasSubstr("Pareto front"));
  EXPECT_THAT(*read_file(path("out/report.md")), HasSubstr("precision"));
  EXPECT_THAT(*read_file(path("out/heat-map-0.svg")), HasSubstr("<svg"));
  EXPECT_THAT(*read_file(path("out/report.html")), HasSubstr("class=\"heat "));
}

TEST_F(MatrixCli, judges_by_the_metric_that_the_command_declares) {
  write("own.yaml",
        "command:\n  run: 'echo value {mean}'\n  shell: true\n  metrics:\n"
        "    - {name: latency, unit: s, better: lower, regex: 'value ([0-9.]+)'}\n"
        "axes: {mean: ['1', '1.05']}\nbaseline: {mean: '1'}\nrounds: 4\nwarmup: 0\n");
  const auto output = warpmark({"matrix", path("own.yaml")});
  EXPECT_THAT(output.out, HasSubstr("Verdict: latency")) << output.err;
  EXPECT_THAT(output.out, HasSubstr(" x1.05"));
  EXPECT_THAT(output.out, HasSubstr("1.050 s"));
}

TEST_F(MatrixCli, shows_the_plan_without_running_anything) {
  write_matrix("m.yaml");
  const auto output = warpmark({"matrix", path("m.yaml"), "--plan"});
  EXPECT_EQ(output.exit_code, 0);
  EXPECT_THAT(output.out, HasSubstr("precision=f32 batch=1  (baseline)"));
  EXPECT_TRUE(runs().empty());
}

TEST_F(MatrixCli, reports_variants_that_fail_or_hang_and_goes_on) {
  write_matrix("m.yaml");
  auto text = *read_file(path("m.yaml"));
  text.replace(text.find("[f32, bf16]"), 11, "[f32, bad, hang]");
  text.replace(text.find("batch: [1, 8]"), 13, "batch: [1]");
  write("m.yaml", text);
  const auto output = warpmark({"matrix", path("m.yaml"), "--json", path("m.json")});
  EXPECT_EQ(output.exit_code, 3) << output.out << output.err;  // nothing is left beside the baseline
  EXPECT_THAT(output.out, HasSubstr("was stopped"));
  const auto result = json("m.json");
  EXPECT_EQ(result["variants"][0]["runs"], 4);
  EXPECT_EQ(result["variants"][1]["failures"], 2);
  EXPECT_THAT(result["variants"][1].value("hint", ""), HasSubstr("no such precision"));
  EXPECT_EQ(result["variants"][2]["failures"], 2);
}

TEST_F(MatrixCli, goes_on_after_kill_9_and_loses_and_repeats_nothing) {
  write_matrix("m.yaml", "", "0.1");
  const std::string file = path("m.yaml");
  // Killed while some run is in progress: 16 are wanted.
  for (const int kill_after : {3, 7, 11}) {
    std::vector<std::string> words{kExecutable, "matrix", file};
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    ASSERT_EQ(posix_spawn(&child, kExecutable.c_str(), nullptr, nullptr, arguments.data(), environ), 0);
    for (int waited_ms = 0; started() < kill_after && waited_ms < 60'000; waited_ms += 5) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
  }
  const auto output = warpmark({"matrix", file, "--json", path("m.json")});
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  const auto result = json("m.json");
  int lost = 0;
  for (const auto& variant : result["variants"]) EXPECT_EQ(variant["runs"], 4) << variant["name"];
  for (const auto& [variant, count] : runs()) lost += count - 4;
  // A run in progress when the kill came is repeated; nothing else is.
  EXPECT_LE(lost, 3);
  EXPECT_GE(lost, 0);
  const auto points = stored("throughput");
  ASSERT_EQ(points.size(), 4U);  // in the history each variant is there once, with each of its samples once
  for (const auto& point : points) EXPECT_EQ(point.n, 4) << point.params;
}

TEST_F(MatrixCli, stores_each_variant_as_a_series_with_the_values_of_the_axes) {
  write_matrix("m.yaml");
  for (int i = 0; i < 2; ++i) {
    const auto output = warpmark({"matrix", path("m.yaml")});
    ASSERT_EQ(output.exit_code, 0) << output.err;
    EXPECT_THAT(output.err, HasSubstr("stored as "));
  }
  const auto points = stored("throughput");
  ASSERT_EQ(points.size(), 8U);
  EXPECT_EQ(stored("time").size(), 8U);
  for (const auto& point : points) {
    EXPECT_EQ(point.n, 4);
    EXPECT_EQ(point.better, Better::higher);
    EXPECT_EQ(point.workload, "command");
    EXPECT_EQ(point.fingerprint.size(), 16U);
    const std::map<std::string, double> rates{{"matrix=m precision=f32 batch=1", 100},
                                              {"matrix=m precision=f32 batch=8", 800},
                                              {"matrix=m precision=bf16 batch=1", 100},
                                              {"matrix=m precision=bf16 batch=8", 800}};
    ASSERT_TRUE(rates.contains(point.params)) << point.params;
    EXPECT_EQ(point.median, rates.at(point.params));
  }
  const auto trend = warpmark({"trend", "throughput", "--branch", "all", "--dirty"});
  EXPECT_EQ(trend.exit_code, 0) << trend.err;
  EXPECT_THAT(trend.out, HasSubstr("m precision=bf16"));
  EXPECT_THAT(warpmark({"history", "show", "last"}).out, HasSubstr("bf16 batch=8"));
  EXPECT_EQ(warpmark({"matrix", path("m.yaml"), "--no-store"}).exit_code, 0);
  EXPECT_EQ(stored("throughput").size(), 8U);
}

TEST_F(MatrixCli, stores_nothing_twice_when_it_was_killed_after_storing) {
  write_matrix("m.yaml");
  ASSERT_EQ(warpmark({"matrix", path("m.yaml")}).exit_code, 0);
  for (const auto& entry : std::filesystem::directory_iterator(path("matrix"))) {
    auto text = *read_file(entry.path());
    const auto end = text.find("{\"complete\":true}");
    ASSERT_NE(end, std::string::npos);
    ASSERT_TRUE(write_file(entry.path(), text.substr(0, end)).ok());
  }
  ASSERT_EQ(warpmark({"matrix", path("m.yaml")}).exit_code, 0);
  EXPECT_EQ(started(), 16);
  EXPECT_EQ(stored("throughput").size(), 4U);
}

TEST_F(MatrixCli, stores_what_the_budget_let_finish_and_the_rest_as_a_session_of_its_own) {
  write_matrix("m.yaml");  // 4 rounds of 4 runs of at least 10 ms each
  const auto part = warpmark({"matrix", path("m.yaml"), "--budget", "0.05s"});
  ASSERT_EQ(part.exit_code, 0) << part.err;
  EXPECT_THAT(part.err, HasSubstr("stored as "));
  EXPECT_THAT(part.err, HasSubstr("the budget of 0.05 s was used up; run the same command again to resume"));
  const auto samples = [&] {
    std::map<std::string, std::vector<std::int64_t>> counts;
    for (const auto& point : stored("throughput")) counts[point.params].push_back(point.n);
    return counts;
  };
  const auto first = samples();
  ASSERT_EQ(first.size(), 4U);
  const std::int64_t rounds = first.begin()->second.front();
  EXPECT_LT(rounds, 4);
  // Killed after it had said what belongs together and before it was stored: the next process does it.
  std::filesystem::remove(path("test.db"));
  std::filesystem::remove(path("test.db-wal"));
  const auto rest = warpmark({"matrix", path("m.yaml")});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("going on after"));
  EXPECT_EQ(started(), 16);
  const auto all = samples();
  ASSERT_EQ(all.size(), 4U);
  for (const auto& [variant, counts] : all) {
    EXPECT_THAT(counts, ::testing::UnorderedElementsAre(rounds, 4 - rounds)) << variant;
  }
}

TEST_F(MatrixCli, stores_nothing_where_the_budget_let_nothing_finish_and_with_no_store_only_later) {
  write_matrix("m.yaml");
  const auto none = warpmark({"matrix", path("m.yaml"), "--budget", "1ns"});
  EXPECT_EQ(none.exit_code, 2) << "nothing could be measured";
  EXPECT_TRUE(stored("*").empty());
  ASSERT_EQ(warpmark({"matrix", path("m.yaml"), "--budget", "0.05s", "--no-store"}).exit_code, 0);
  EXPECT_TRUE(stored("*").empty());
  ASSERT_EQ(warpmark({"matrix", path("m.yaml")}).exit_code, 0);
  const auto points = stored("throughput");
  ASSERT_EQ(points.size(), 4U);
  for (const auto& point : points) EXPECT_EQ(point.n, 4) << "all runs of both, as none was stored before";
}

TEST_F(MatrixCli, counts_failures_among_what_it_stores) {
  write_matrix("m.yaml");
  auto text = *read_file(path("m.yaml"));
  text.replace(text.find("[f32, bf16]"), 11, "[f32, bad]");
  write("m.yaml", text);
  ASSERT_EQ(warpmark({"matrix", path("m.yaml")}).exit_code, 0);
  EXPECT_EQ(stored("throughput").size(), 2U);
  const auto shown = warpmark({"report", "last", "--format", "json"});
  const auto session = *parse_json(shown.out, "report");
  ASSERT_EQ(session["runs"].size(), 4U);
  EXPECT_EQ(session["runs"][2]["outcome"], "error");
  EXPECT_THAT(session["runs"][2].value("reason", ""), HasSubstr("exit code 7"));
}

TEST_F(MatrixCli, names_what_is_wrong_with_the_file) {
  write("m.yaml", "command: {run: prog}\naxis: {a: [1, 2]}\n");
  const auto output = warpmark({"matrix", path("m.yaml")});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("line 2"));
  EXPECT_THAT(output.err, HasSubstr("did you mean 'axes'?"));
  EXPECT_EQ(warpmark({"matrix"}).exit_code, 2);
  EXPECT_NE(warpmark({"matrix", path("missing.yaml")}).exit_code, 0);
}

}  // namespace
}  // namespace warpmark::apps
