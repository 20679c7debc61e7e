// `warpmark analyze` as a person uses it: on the example trace, on two ranks, and on files that are no profiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

const std::string kExample =
    std::string(WARPMARK_SOURCE_DIR) + "/examples/traces/resnet18_slow_loading.pt.trace.json.gz";

using AnalyzeCli = Cli;

TEST_F(AnalyzeCli, names_the_bottleneck_of_the_example) {
  const auto output = warpmark({"analyze", kExample, "--json", path("a.json"), "--html", path("a.html")});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("data_loading"));
  EXPECT_THAT(output.out, HasSubstr("num_workers"));
  const auto json = parse_json(*read_file(path("a.json")), "a.json");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["schema"], "warpmark.analysis/1");
  EXPECT_EQ((*json)["findings"][0]["rule"], "data_loading");
  EXPECT_EQ(testing_support::schema_errors(*json, "analysis.schema.json"), "");
  EXPECT_THAT(*read_file(path("a.html")), HasSubstr("</html>"));
}

TEST_F(AnalyzeCli, prints_each_format) {
  EXPECT_THAT(warpmark({"analyze", kExample, "--format", "md"}).out, HasSubstr("## Summary"));
  const auto page = warpmark({"analyze", kExample, "--format", "html", "--html", path("a.html")});
  EXPECT_THAT(page.out, HasSubstr("<!DOCTYPE html>"));
  EXPECT_EQ(page.out, *read_file(path("a.html"))) << "with the timeline, too";
  EXPECT_TRUE(parse_json(warpmark({"analyze", kExample, "--format", "json"}).out, "out").ok());
  const auto unknown = warpmark({"analyze", kExample, "--format", "pdf"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("formats: text, md, html, json"));
}

class AnalyzeCounters : public Cli {
 protected:
  /// The rules of the findings on a file of counters alone, most severe first.
  std::vector<std::string> rules_on(const std::string& text) {
    std::ofstream(path("counters.txt")) << text;
    const auto output = warpmark({"analyze", path("counters.txt"), "--format", "json"});
    EXPECT_EQ(output.exit_code, 0) << output.err;
    const auto json = parse_json(output.out, "counters.txt");
    EXPECT_TRUE(json.ok());
    std::vector<std::string> rules;
    if (!json.ok()) return rules;
    EXPECT_EQ(testing_support::schema_errors(*json, "analysis.schema.json"), "");
    for (const auto& finding : (*json)["findings"]) rules.push_back(finding["rule"].get<std::string>());
    return rules;
  }
};

TEST_F(AnalyzeCounters, of_nvidia_smi_show_throttling_and_a_full_link) {
  const std::string header =
      "# gpu    pwr  gtemp   mclk   pclk  pviol  tviol  rxpci\n"
      "# Idx      W      C    MHz    MHz      %   bool   MB/s\n";
  const std::string hot = "    0    480     90   2619   1200      0      1      3\n";
  const std::string powered = "    0    700     60   2619   1410    100      0      3\n";
  const std::string copying = "    0    300     50   2619   1980      0      0  49000\n";
  const std::string fine = "    0    480     50   2619   1980      0      0      3\n";
  EXPECT_THAT(rules_on(header + fine + hot + hot + hot), testing::ElementsAre("thermal_throttle"));
  EXPECT_THAT(rules_on(header + fine + powered + powered), testing::ElementsAre("power_throttle"));
  EXPECT_THAT(rules_on(header + fine + copying + copying), testing::ElementsAre("pcie_saturated"));
  EXPECT_THAT(rules_on(header + fine + fine), testing::IsEmpty());
}

TEST_F(AnalyzeCounters, of_dcgmi_show_throttling_and_a_full_link) {
  // DVCCTE holds NVML's bits: 0x40 hardware thermal slowdown, 0x4 software power cap.
  const std::string header = "#Entity   SMCLK   POWER   DVCCTE   PCIRX\nID\n";
  const auto row = [](const char* clock, const char* reasons, const char* received) {
    return std::string("GPU 0     ") + clock + "    600     " + reasons + "    " + received + "\n";
  };
  const std::string fine = row("1980", "0", "1000000");
  EXPECT_THAT(rules_on(header + fine + row("1100", "64", "0") + row("1100", "64", "0")),
              testing::ElementsAre("thermal_throttle"));
  EXPECT_THAT(rules_on(header + fine + row("1300", "4", "0") + row("1300", "4", "0")),
              testing::ElementsAre("power_throttle"));
  EXPECT_THAT(rules_on(header + fine + row("1980", "0", "49000000000")), testing::ElementsAre("pcie_saturated"));
  // Fields 240 and 241: nanoseconds that add up.
  EXPECT_THAT(
      rules_on("#Entity   SMCLK   PVIOL   TVIOL\nID\nGPU 0     1980    0    0\nGPU 0     1200    0    700000000\n"
               "GPU 0     1200    0    1400000000\n"),
      testing::ElementsAre("thermal_throttle"));
}

TEST_F(AnalyzeCli, fails_the_gate_above_the_severity_that_was_named) {
  EXPECT_EQ(warpmark({"analyze", kExample, "--fail-above", "critical"}).exit_code, 1);
  EXPECT_EQ(warpmark({"analyze", kExample, "--fail-above", "0.1"}).exit_code, 1);
  EXPECT_EQ(warpmark({"analyze", kExample, "--fail-above", "1"}).exit_code, 0);
  const auto unknown = warpmark({"analyze", kExample, "--fail-above", "bad"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("critical"));
}

TEST_F(AnalyzeCli, refuses_what_is_no_profile_and_says_what_it_looks_like) {
  std::ofstream(path("page.json")) << "<!DOCTYPE html><html><body>404</body></html>";
  const std::ofstream empty(path("empty.json"));
  const auto page = warpmark({"analyze", path("page.json")});
  EXPECT_EQ(page.exit_code, 2);
  EXPECT_THAT(page.err, HasSubstr("page.json"));
  EXPECT_EQ(warpmark({"analyze", path("empty.json")}).exit_code, 2);
  const auto missing = warpmark({"analyze", path("none.json")});
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_THAT(missing.err, HasSubstr("none.json"));
  EXPECT_EQ(warpmark({"analyze"}).exit_code, 2);
  std::ofstream(path("excel.csv"))
      << "timestamp;index;power.draw [W];clocks.sm [MHz]\n2026/04/23 11:23:00.000;0;699,90 W;"
         "1350 MHz\n";
  EXPECT_THAT(warpmark({"analyze", path("excel.csv")}).err, HasSubstr("semicolons"));
  std::ofstream(path("sums.csv"))
      << R"("Process ID","Kernel Name","Invocations","Section Name","Metric Name","Metric Unit",)"
         R"("Minimum","Maximum","Average")"
         "\n";
  EXPECT_THAT(warpmark({"analyze", path("sums.csv")}).err, HasSubstr("--print-summary"));
}

TEST_F(AnalyzeCli, reads_a_truncated_file_as_far_as_it_goes) {
  std::ofstream(path("cut.json")) << R"({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10.5, "dur": 3.25, "args": {"stream": 7}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20.5, "dur": 3.)";
  const auto output = warpmark({"analyze", path("cut.json"), "--json", path("cut.out.json")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("Data quality"));
}

TEST_F(AnalyzeCli, names_the_file_of_kernel_metrics_and_draws_no_timeline_of_them) {
  const std::string metrics = WARPMARK_SOURCE_DIR "/tests/data/ncu/three_kernels.csv";
  const auto page = warpmark({"analyze", metrics, "--format", "html"});
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_THAT(page.out, HasSubstr("kernels.<wbr/>csv"));
  EXPECT_THAT(page.out, testing::Not(HasSubstr("no events")));
}

TEST_F(AnalyzeCli, answers_questions_in_sql_and_lets_none_of_them_write) {
  const auto output = warpmark(
      {"analyze", kExample, "--query", "select count(*) as n from events where kind = 'kernel'", "--format", "json"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto json = parse_json(output.out, "out");
  ASSERT_TRUE(json.ok());
  EXPECT_GT((*json)["rows"][0]["n"].get<int>(), 1000);
  EXPECT_EQ((*json)["rows_left_out"], 0);
  const auto few = warpmark({"analyze", kExample, "--query", "select name from events", "--max-rows", "2"});
  EXPECT_THAT(few.err, testing::ContainsRegex("^warpmark: [0-9]+ more rows; --max-rows N shows more"));
  EXPECT_EQ(warpmark({"analyze", kExample, "--query", "drop table names"}).exit_code, 2);
  EXPECT_EQ(warpmark({"analyze", kExample, "--query", "selec 1"}).exit_code, 2);
}

TEST_F(AnalyzeCli, converts_and_finds_the_same) {
  ASSERT_EQ(warpmark({"convert", kExample, "--to", "warpmark", "--out", path("e.wmrec")}).exit_code, 0);
  const auto again = warpmark({"analyze", path("e.wmrec"), "--format", "json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const auto json = parse_json(again.out, "out");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["findings"][0]["rule"], "data_loading");
  const auto direct = parse_json(warpmark({"analyze", kExample, "--format", "json"}).out, "out");
  ASSERT_TRUE(direct.ok());
  for (const char* part : {"breakdown", "findings", "combined_gain", "tables"}) {
    EXPECT_EQ((*json)[part], (*direct)[part]) << "found in the converted profile";
  }
  const auto unknown = warpmark({"convert", kExample, "--to", "pdf"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("chrome"));
}

TEST_F(AnalyzeCli, reads_what_the_profiler_of_jax_wrote) {
  const std::string trace = WARPMARK_SOURCE_DIR "/tests/data/xla/mlp_train.trace.json.gz";
  const auto output = warpmark({"analyze", trace, "--format", "json"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto json = parse_json(output.out, "out");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["session"]["steps_found_by"], "annotation 'train'");
  double shares = 0;
  for (const auto& part : (*json)["breakdown"]) shares += part["share"].get<double>();
  EXPECT_NEAR(shares, 1, 1e-3);
  EXPECT_EQ((*json)["findings"][0]["rule"], "host_transfer");
  EXPECT_THAT((*json)["findings"].dump(), HasSubstr("\"cpu_gpu_sync\""));
  EXPECT_THAT(output.out, HasSubstr("jax.device_put"));
  EXPECT_THAT(output.out, Not(HasSubstr("record_shapes")));
  const auto launched = warpmark({"analyze", trace, "--query",
                                  "select count(*) as n from events g join events c on g.correlation = c.correlation "
                                  "where g.kind in ('kernel', 'memcpy', 'memset') and c.kind = 'driver_api'",
                                  "--format", "json"});
  EXPECT_THAT(launched.out, HasSubstr("384"));  // all of them, each with one call
  for (const char* format : {"warpmark", "chrome"}) {
    ASSERT_EQ(warpmark({"convert", trace, "--to", format, "--out", path("again")}).exit_code, 0);
    const auto again = parse_json(warpmark({"analyze", path("again"), "--format", "json"}).out, "out");
    ASSERT_TRUE(again.ok());
    EXPECT_EQ((*again)["findings"], (*json)["findings"]) << format;
  }
}

TEST_F(AnalyzeCli, overwrites_no_profile_that_it_reads) {
  const std::string rank = R"({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {"stream": 7}}]})";
  std::filesystem::create_directory(path("two"));
  write("two/run.rank0.json", rank);
  write("two/run.rank1.json", rank);
  const std::string first = path("two/run.rank0.json"), second = path("two/run.rank1.json");
  for (const auto& words :
       {std::vector<std::string>{"convert", first, second, "--to", "chrome", "--out", path("two/run.json")},
        {"convert", path("two"), "--to", "sqlite", "--out", first},
        {"analyze", first, "--json", first},
        {"analyze", path("two"), "--html", second},
        {"analyze", first, "--against", second, "--json", second}}) {
    const auto output = warpmark(words);
    EXPECT_EQ(output.exit_code, 2) << words[0];
    EXPECT_THAT(output.err, HasSubstr("is an input and would be overwritten"));
    EXPECT_EQ(*read_file(first), rank);
    EXPECT_EQ(*read_file(second), rank);
  }
  const auto output = warpmark({"convert", first, second, "--to", "chrome", "--out", path("out.json")});
  write("two/report.json", "{}");
  EXPECT_EQ(warpmark({"analyze", path("two"), "--json", path("two/report.json")}).exit_code, 0) << "of no profile";
  EXPECT_EQ(output.out, path("out.rank0.json") + "\n" + path("out.rank1.json") + "\n") << "what was written is named";
}

/// Into a pipe that nobody reads, so that the conversion is under way until the signal comes.
TEST_F(AnalyzeCli, leaves_no_half_file_of_an_interrupted_conversion) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(path("temporary"));
  const auto left = [&] {
    return std::distance(std::filesystem::directory_iterator(path("temporary")), std::filesystem::directory_iterator());
  };
  for (const auto& [signal, format] : {std::pair{SIGINT, "chrome"}, {SIGTERM, "sqlite"}, {SIGINT, "warpmark"}}) {
    const pid_t child = ::fork();
    if (child == 0) {
      setenv("TMPDIR", path("temporary").c_str(), 1);
      ::execl(kExecutable.c_str(), "warpmark", "convert", kExample.c_str(), "--to", format, "--out",
              path("pipe").c_str(), nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 2000 && left() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(left(), 1) << format;
    ::kill(child, signal);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 130) << format;
    EXPECT_EQ(left(), 0) << format;
  }
}

TEST_F(AnalyzeCli, converts_into_what_a_link_names_and_never_replaces_a_device) {
  write("old.json", "old");
  for (const std::string format : {"chrome", "sqlite", "warpmark"}) {
    // Links, so that a failure of this test cannot replace the device itself.
    std::filesystem::remove(path("link"));
    std::filesystem::create_symlink("old.json", path("link"));
    ASSERT_EQ(warpmark({"convert", kExample, "--to", format, "--out", path("link")}).exit_code, 0);
    EXPECT_TRUE(std::filesystem::is_symlink(path("link"))) << format;
    if (!std::filesystem::is_character_file("/dev/full")) continue;
    std::filesystem::remove(path("full"));
    std::filesystem::create_symlink("/dev/full", path("full"));
    const auto output = warpmark({"convert", kExample, "--to", format, "--out", path("full")});
    EXPECT_EQ(output.exit_code, 5) << format;
    EXPECT_THAT(output.err, HasSubstr("No space left"));
    EXPECT_TRUE(std::filesystem::is_symlink(path("full"))) << format;
  }
}

TEST_F(AnalyzeCli, sets_a_profile_against_an_earlier_one) {
  const auto output = warpmark({"analyze", kExample, "--against", kExample});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("What changed"));
  for (const char* column : {"Before", "After", "Difference"}) {
    EXPECT_THAT(output.out, HasSubstr(column)) << "in a terminal of 80 columns, too";
  }
}

TEST_F(AnalyzeCli, writes_what_changed_as_json_and_as_a_page) {
  const auto output = warpmark({"analyze", kExample, "--against", kExample, "--json", path("d.json"), "--html",
                                path("d.html"), "--format", "md"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_EQ(testing_support::schema_errors(json("d.json"), "profile_diff.schema.json"), "");
  EXPECT_EQ(json("d.json")["tables"][0]["rows"][0][1], "same");
  EXPECT_THAT(*read_file(path("d.html")), HasSubstr("</html>"));
}

TEST_F(AnalyzeCli, refuses_options_that_would_do_nothing) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--against", kExample, "--fail-above", "note"},
                                                {"--top", "1", "--max-rows", "2"},
                                                {"--top", "1", "--max-bytes", "2"},
                                                {"--query", "select 1", "--fail-above", "note"},
                                                {"--query", "select 1", "--json", path("q.json")},
                                                {"--query", "select 1", "--against", kExample}}) {
    const auto output = warpmark(with({"analyze", kExample}, words));
    EXPECT_EQ(output.exit_code, 2) << words[0] << ' ' << words[2];
    EXPECT_THAT(output.err, HasSubstr(words[2]));
  }
}

TEST_F(AnalyzeCli, passes_no_gate_with_a_profile_that_holds_nothing) {
  write("empty.json", R"({"schemaVersion": 1, "traceEvents": []})");
  EXPECT_EQ(warpmark({"analyze", path("empty.json")}).exit_code, 0);
  const auto output = warpmark({"analyze", path("empty.json"), "--fail-above", "warning"});
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_THAT(output.err, HasSubstr("cannot be judged"));
}

TEST_F(AnalyzeCli, keeps_columns_of_one_name_apart_in_json) {
  const auto output =
      warpmark({"analyze", kExample, "--query", "select 1 as n, 2 as n, 3 as n_2, 4 as n", "--format", "json"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto json = parse_json(output.out, "out");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["rows"][0].size(), 4U) << output.out;
}

}  // namespace
}  // namespace warpmark::apps
