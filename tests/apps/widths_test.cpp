// What verbs print, word for word, at 80 and 120 columns and into a pipe: no column of a verdict vanishes unnoticed, no
// word breaks in its middle at any width, and the result comes first.
#include <unistd.h>

#include <regex>

#include "apps/cli_fixture.h"
#include "base/json.h"
#include "base/text.h"
#include "support/golden.h"
#include "support/readable.h"

namespace warpmark::apps {
namespace {

class Widths : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    setenv("WARPMARK_CONFIG", "", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    ASSERT_EQ(chdir((std::string(WARPMARK_SOURCE_DIR) + "/tests/data").c_str()), 0);
  }
  void TearDown() override {
    for (const char* name : {"WARPMARK_CONFIG", "LC_ALL", "COLUMNS"}) unsetenv(name);
    ASSERT_EQ(chdir("/"), 0);
    Cli::TearDown();
  }

  /// Without what differs from day to day and from machine to machine.
  [[nodiscard]] std::string masked(std::string text) const {
    static const std::regex date(R"(20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z| UTC)?)");
    text = std::regex_replace(text, date, "DATE");
    return std::regex_replace(text, std::regex(folder_.string()), "FOLDER");
  }
  void expect_goldens(const std::string& name, const std::vector<std::string>& words) {
    testing_support::expect_golden_widths(name, [&](int columns) {
      if (columns > 0) setenv("COLUMNS", std::to_string(columns).c_str(), 1);
      const std::string text = masked(warpmark(words).out);
      unsetenv("COLUMNS");
      return text;
    });
  }
};

TEST_F(Widths, of_results_of_other_tools) {
  expect_goldens("report_nvbench", {"report", "exchange/nvbench.json"});
  expect_goldens("report_details", {"report", "exchange/pytest_benchmark.json", "--details"});
}

TEST_F(Widths, of_comparisons_and_checks) {
  expect_goldens("compare", {"compare", "exchange/pytest_benchmark.json", "exchange/pytest_benchmark.json"});
  expect_goldens("check", {"check", "--results", "exchange/pytest_benchmark.json", "--baseline",
                           "exchange/pytest_benchmark.json", "--threshold", "5%"});
}

TEST_F(Widths, of_scaling_and_plans) {
  expect_goldens("scale", {"scale", "--times", "1=100s,2=55s,4=30s,8=18s"});
  expect_goldens("plan", {"plan", "--model", "llama3-70b", "--gpus", "64"});
}

TEST_F(Widths, of_profiles) { expect_goldens("analyze", {"analyze", "traces/dlrm_row_by_row.wmrec"}); }

TEST_F(Widths, of_scores_and_outputs) {
  write("ref.txt", "the cat sat\na dog ran\nhello there\n");
  write("a.txt", "the cat sat\na dog walks\nhello here\n");
  expect_goldens("eval_score", {"eval", "score", "exact_match,chrf", "--ref", path("ref.txt"), "--predictions",
                                path("a.txt"), "--no-store"});
  write("a.tsv", "id\tx\n1\t2.0\n");
  write("b.tsv", "id\tx\n1\t3.0\n");
  expect_goldens("allclose", {"allclose", path("a.tsv"), path("b.tsv")});
}

TEST_F(Widths, of_histories) {
  for (const char* commit : {"c1c1c1c1", "c2c2c2c2", "c3c3c3c3"}) {
    ASSERT_EQ(warpmark({"history", "import", "exchange/pytest_benchmark.json", "--commit", commit, "--branch", "main"})
                  .exit_code,
              0);
  }
  expect_goldens("trend", {"trend"});
  expect_goldens("history_list", {"history", "list"});
  expect_goldens("history_series", {"history", "series"});
  expect_goldens("history_diff", {"history", "diff", "pytest-benchmark-583e", "pytest-benchmark-b2fb"});
}

TEST_F(Widths, of_plans_of_inference_and_lists) {
  expect_goldens("plan_inference", {"plan", "--model", "llama3-70b", "--gpus", "8", "--inference"});
  expect_goldens("list_rules", {"list", "rules"});
  expect_goldens("list_readers", {"list", "readers"});
}

TEST_F(Widths, of_what_other_verbs_found) {
  for (const char* verb : {"acceptance", "bisection", "comparison", "matrix", "monitor_summary", "optimization"}) {
    expect_goldens(verb, {"report", std::string("answers/") + verb + ".json"});
  }
}

/// The page that `load run` shows is the one of its result.
TEST_F(Widths, of_loads) {
  write("load.json", *read_file("answers/load.json"));
  const auto measured = parse_json(*read_file("answers/load.json"), "load.json");
  ASSERT_TRUE(measured.ok());
  ASSERT_EQ(chdir(folder_.c_str()), 0);  // names without a folder, whose length would move line breaks
  expect_goldens("load", {"report", "load.json"});
  Json slower = *measured, unreliable = *measured;
  for (auto& scenario : slower["scenarios"]) {
    for (const char* id : {"ttft", "e2e"}) {
      for (auto& sample : scenario["metrics"][id]["samples"]) sample = 1.3 * sample.get<double>();
    }
    for (auto& sample : scenario["metrics"]["tpot"]["samples"]) sample = 0.8 * sample.get<double>();
  }
  for (auto& scenario : unreliable["scenarios"]) {
    auto& client = scenario["client"];
    client["verdict"] = "unreliable";
    client["cause"] = "machine";
    client["reasons"] = {"p99 lag of sending 6.200 ms, limit 5.000 ms"};
    client["lag"]["send"]["p99"] = 0.0062;
    client["other_programs_share"] = 0.97;
  }
  write("slower.json", slower.dump());
  write("unreliable.json", unreliable.dump());
  expect_goldens("load_unreliable", {"report", "unreliable.json"});
  const std::vector<std::string> compare{"load", "compare", "load.json"};
  expect_goldens("load_compare", with(compare, {"slower.json"}));
  expect_goldens("load_compare_unreliable", with(compare, {"unreliable.json"}));
}

TEST_F(Widths, of_a_narrow_terminal_hold_a_load) {
  setenv("COLUMNS", "60", 1);
  for (const auto& words : {std::vector<std::string>{"report", "answers/load.json"},
                            std::vector<std::string>{"load", "compare", "answers/load.json", "answers/load.json"}}) {
    const auto output = warpmark(words);
    for (const auto& line : split(output.out, '\n')) {
      const bool command = line.starts_with("  warpmark ");  // which stays whole
      EXPECT_TRUE(command || display_width(line) <= 60) << line;
    }
  }
  EXPECT_NE(warpmark({"report", "answers/load.json"}).out.find("load      requests/s  TTFT p95  SLO     client"),
            std::string::npos);
}

TEST_F(Widths, of_help) {
  expect_goldens("help", {"--help"});
  expect_goldens("help_compare", {"help", "compare"});
  expect_goldens("help_p", {"help", "p"});
}

}  // namespace
}  // namespace warpmark::apps
