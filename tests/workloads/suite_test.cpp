#include "workloads/suite.h"

#include <gtest/gtest.h>

namespace warpmark::workloads {
namespace {

TEST(Suite, reads_cases_sweeps_and_limits) {
  const auto suite = parse_suite(R"(
schema: warpmark.suite/1
name: mine
budget: 2m
rounds: 5
precision: 1%
cases:
  - {workload: gemm, device: cpu, set: {dtype: f32}, sweep: {m: [512, 1024], n: [64]}}
  - {workload: "c*"}
)",
                                 "mine.yaml");
  ASSERT_TRUE(suite.ok()) << suite.error().what;
  EXPECT_EQ(suite->budget_s, 120);
  EXPECT_EQ(suite->rounds, 5);
  EXPECT_DOUBLE_EQ(suite->half_width, 0.01);
  ASSERT_EQ(suite->entries.size(), 2U);
  EXPECT_EQ(suite->entries[0].set, (Overrides{{"dtype", "f32"}}));
  EXPECT_EQ(suite->entries[0].sweep[0].second, (std::vector<std::string>{"512", "1024"}));
  EXPECT_EQ(suite->entries[1].workload, "c*");
}

TEST(Suite, may_hold_commands_with_or_without_cases) {
  const auto suite = parse_suite(
      "commands:\n  - collective all_reduce -e 4K\n  - warpmark load run --label 'my server'\n", "mine.yaml");
  ASSERT_TRUE(suite.ok()) << suite.error().what;
  EXPECT_TRUE(suite->entries.empty());
  ASSERT_EQ(suite->commands.size(), 2U);
  EXPECT_EQ(suite->commands[0].words, (std::vector<std::string>{"collective", "all_reduce", "-e", "4K"}));
  EXPECT_EQ(suite->commands[1].words, (std::vector<std::string>{"load", "run", "--label", "my server"}));
  EXPECT_EQ(suite->commands[1].line, 3);
}

void expect_refused(const char* yaml, const std::string& what) {
  const auto suite = parse_suite(yaml, "s.yaml");
  ASSERT_FALSE(suite.ok()) << yaml;
  EXPECT_EQ(suite.error().kind, ErrorKind::data);
  EXPECT_EQ(suite.error().what.substr(0, what.size()), what);
}

TEST(Suite, names_the_line_of_what_is_wrong) {
  expect_refused("cases:\n  - {workload: gemm}\n  - {workload: gemm, swep: {}}\n", "s.yaml line 3: unknown key 'swep'");
  expect_refused("cases:\n  - {set: {m: 1}}\n", "s.yaml line 2: a case needs a workload");
  expect_refused("rounds: 0\ncases: [{workload: gemm}]\n", "s.yaml line 1: rounds is 0, must be 1 to 100");
  expect_refused("budget: soon\ncases: [{workload: gemm}]\n", "s.yaml line 1: budget: 'soon' is not");
  expect_refused("cases: [{workload: gemm, sweep: {m: 4}}]\n", "s.yaml line 1: sweep.m must be a list");
  expect_refused("cases: [\n", "s.yaml line 2:");
  expect_refused("name: x\n", "s.yaml line 1: a suite needs a list of cases");
  expect_refused("schema: warpmark.suite/9\ncases: [{workload: gemm}]\n", "s.yaml line 1: schema 'warpmark.suite/9'");
  expect_refused("cases: [{workload: gemm}]\ncommands: links\n", "s.yaml line 2: commands must be a list");
  expect_refused("commands:\n  - load run 'x\n", "s.yaml line 2: commands: the quote ' is not closed");
  expect_refused("commands:\n  - warpmark\n", "s.yaml line 2: a command is empty");
  expect_refused("cases: []\ncommands: [links]\n", "s.yaml line 1: a suite needs a list of cases");
  expect_refused("- just a list\n", "s.yaml line 1: a suite must be a map");
  expect_refused("", "s.yaml line 1: a suite must be a map");
}

TEST(Suite, has_valid_built_in_ones) {
  for (const auto& name : built_in_suite_names()) {
    const auto suite = load_suite(name);
    ASSERT_TRUE(suite.ok()) << suite.error().what;
    EXPECT_EQ(suite->name, name);
    EXPECT_FALSE(suite->summary.empty());
  }
}

TEST(Suite, suggests_a_name) {
  const auto suite = load_suite("quik");
  ASSERT_FALSE(suite.ok());
  EXPECT_NE(suite.error().hint.find("did you mean 'quick'?"), std::string::npos);
  EXPECT_EQ(load_suite("./none.yaml").error().kind, ErrorKind::data);
}

}  // namespace
}  // namespace warpmark::workloads
