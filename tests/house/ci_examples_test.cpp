// The workflows that the docs hand out are valid YAML with what their services need.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <string>

namespace {

YAML::Node load(const std::string& name) {
  return YAML::LoadFile(std::string(WARPMARK_SOURCE_DIR) + "/examples/ci/" + name);
}

TEST(CiExamples, are_workflows_that_github_reads) {
  const auto workflow = load("performance.yml");
  ASSERT_TRUE(workflow["on"]["workflow_call"]["inputs"]["project"]);
  const auto job = workflow["jobs"]["measure"];
  ASSERT_TRUE(job["runs-on"] && job["timeout-minutes"] && job["steps"].IsSequence());
  EXPECT_EQ(workflow["permissions"]["contents"].as<std::string>(), "read");
  for (const auto& step : job["steps"]) {
    EXPECT_TRUE(step["uses"] || step["run"]);
    // What a stranger can choose must reach a shell as a variable, never as text of the script.
    EXPECT_EQ(step["run"].as<std::string>("").find("${{"), std::string::npos);
  }
  for (const auto& input : workflow["on"]["workflow_call"]["inputs"]) {
    EXPECT_TRUE(input.second["type"] && input.second["default"]) << input.first;
  }
  const auto comment = load("performance-comment.yml");
  EXPECT_TRUE(comment["on"]["workflow_run"]["workflows"].IsSequence());
  EXPECT_EQ(comment["permissions"]["pull-requests"].as<std::string>(), "write");
  for (const auto& step : comment["jobs"]["comment"]["steps"]) EXPECT_FALSE(step["run"]);
}

TEST(CiExamples, compare_two_revisions_in_one_job) {
  const auto workflow = load("compare.yml");
  EXPECT_EQ(workflow["on"].as<std::string>(), "pull_request");
  const auto job = workflow["jobs"]["compare"];
  ASSERT_TRUE(job["timeout-minutes"] && job["steps"].IsSequence());
  for (const auto& step : job["steps"]) {
    EXPECT_TRUE(step["uses"] || step["run"]);
    EXPECT_EQ(step["run"].as<std::string>("").find("${{"), std::string::npos);
  }
}

TEST(CiExamples, are_a_job_that_gitlab_reads) {
  const auto job = load("gitlab-ci.yml")["performance"];
  ASSERT_TRUE(job["script"].IsSequence() && job["rules"].IsSequence());
  EXPECT_EQ(job["artifacts"]["reports"]["junit"].as<std::string>(), "check/junit.xml");
  EXPECT_EQ(job["allow_failure"]["exit_codes"][0].as<int>(), 3);
}

}  // namespace
