// What `warpmark optimize` makes of an analysis that was made before, and of stored sessions of commits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "optimize/optimize_fixture.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

TEST_F(Optimize, starts_from_an_analysis) {
  WM_NEEDS_TORCH();
  const Json gain{{"low", 2.25}, {"high", 3.5}};
  const Json finding{{"rule", "data_loading"},
                     {"kind", "data_loading"},
                     {"severity", 0.8},
                     {"title", "Waits for data"},
                     {"gain", gain}};
  write("analysis.json", Json{{"schema", "warpmark.analysis/1"}, {"findings", {finding}}}.dump(2));
  const auto program = training({"--samples", "64", "--delay-ms", "40"});
  const auto listed = optimize({path("analysis.json"), "--list-knobs", "--json", path("knobs.json")}, program);
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  const Json found = json("knobs.json");
  const auto workers =
      std::ranges::find_if(found["knobs"], [](const Json& one) { return one["id"] == "loader.workers"; });
  ASSERT_NE(workers, found["knobs"].end());
  EXPECT_EQ((*workers)["values"][0]["high"], 3.5);
  const auto searched = optimize(
      {path("analysis.json"), "--asked-only", "--try", "loader.workers=4", "--json", path("optimization.json")},
      program);
  EXPECT_THAT(searched.err, HasSubstr("the analysis: data_loading (2.25x-3.50x without it)"));
  EXPECT_EQ(json("optimization.json")["findings"][0]["rule"], "data_loading");

  write("broken.json", Json{{"schema", "warpmark.analysis/1"}, {"findings", {{{"rule", 5}}}}}.dump(2));
  const auto broken = optimize({path("broken.json")}, program);
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, HasSubstr("findings[0].rule"));
  EXPECT_EQ(optimize({"nowhere.json"}, program).exit_code, 2);
  const auto proven = optimize({path("analysis.json"), "--prove", "plan.yaml"}, program);
  EXPECT_EQ(proven.exit_code, 2);
}

TEST_F(Optimize, reports_the_speedups_of_stored_commits) {
  const auto folder = path("repository");
  std::filesystem::create_directories(folder);
  const auto git = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-c", "user.name=A. Author", "-c", "user.email=a@example.org"});
    const auto output = run_process(words, {.deadline_s = 100, .directory = folder});
    ASSERT_TRUE(output.ok() && output->exit_code == 0);
  };
  const auto here = [&](std::vector<std::string> words) {
    words.insert(words.begin(), kExecutable);
    const auto output = run_process(words, {.deadline_s = 100, .directory = folder});
    EXPECT_TRUE(output.ok());
    return output.ok() ? *output : ProcessOutput{};
  };
  git({"init", "-q", "-b", "main"});
  ASSERT_TRUE(write_file(folder + "/warpmark.yaml",
                         "run: cat cost.txt\n"
                         "metrics: [{name: step_time, unit: s, regex: 'cost ([0-9.]+)'}]\n")
                  .ok());
  for (const char* cost : {"0.4", "0.2", "0.1"}) {
    ASSERT_TRUE(write_file(folder + "/cost.txt", std::string("cost ") + cost + "\n").ok());
    git({"add", "."});
    git({"commit", "-q", "-m", std::string("step takes ") + cost});
    const auto measured = here({"run", "--project", "warpmark.yaml", "--rounds", "5", "--db", path("history.db")});
    ASSERT_EQ(measured.exit_code, 0) << measured.err;
  }
  const std::vector<std::string> report{"optimize", "--from-history", "HEAD~2..HEAD", "--db", path("history.db")};
  const auto shown = here(with(report, {"--metric", "step_time", "--train-steps", "8640000", "--price", "2", "--goal",
                                        "3x", "--goal-days", "5", "--json", path("history.json")}));
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("4x [4, 4] faster"));
  EXPECT_THAT(shown.out, HasSubstr("step takes 0.2"));
  EXPECT_THAT(shown.out, HasSubstr("40 days"));
  EXPECT_THAT(shown.out, HasSubstr("Goal not met: 4x of 3x; 10 days (limit: 5)"));
  EXPECT_EQ(testing_support::schema_errors(json("history.json"), "optimization.schema.json"), "");
  EXPECT_NEAR(json("history.json")["steps"][1]["cumulative"]["ratio"].get<double>(), 4, 1e-9);
  EXPECT_EQ(here(with(report, {"--metric", "nothing*"})).exit_code, 2);
  EXPECT_EQ(here({"optimize", "--from-history", "HEAD", "--db", path("history.db")}).exit_code, 2);
}

}  // namespace
}  // namespace warpmark::apps
