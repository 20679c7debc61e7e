// `warpmark validate`: the A/B test, the gates, the store and the history in one call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/compare_fixture.h"
#include "apps/made_up_history.h"
#include "report/build/of_document.h"
#include "support/expect_schema.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::schema_errors;

class Validate : public Compare {
 protected:
  /// A command whose cost is what it prints: no speed of this machine.
  ProcessOutput validate(const std::string& base, const std::string& optimized, std::vector<std::string> more = {}) {
    write_project("echo unused");
    std::vector<std::string> words{"validate", "--project", path("warpmark.yaml"), "--shell", "--json", path("v.json")};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", base, "--", optimized});
    return warpmark(std::move(words));
  }
};

TEST(ValidateSchema, is_that_of_the_table) { testing_support::expect_schema(report::kValidation); }

TEST_F(Validate, a_gain_is_validated_measured_stored_and_reported) {
  const auto output = validate("echo cost 5", "echo cost 4", {"--out", path("out")});
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  EXPECT_THAT(output.out, HasSubstr("validated"));
  const auto result = json("v.json");
  EXPECT_EQ(schema_errors(result, "validate.schema.json"), "");
  EXPECT_EQ(schema_errors(result["comparison"], "compare.schema.json"), "");
  EXPECT_EQ(result["verdict"], "validated");
  EXPECT_THAT(result["no_check"].get<std::string>(), HasSubstr("history"));
  EXPECT_TRUE(std::filesystem::exists(path("out/report.html")));
  const auto listed = warpmark({"history"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("cost 4"));
}

TEST_F(Validate, what_is_the_same_is_no_gain_and_what_is_slower_fails) {
  EXPECT_EQ(validate("echo cost 5", "echo cost 5").exit_code, 1);
  EXPECT_EQ(json("v.json")["verdict"], "no_gain");
  EXPECT_EQ(validate("echo cost 5", "echo cost 6").exit_code, 1);
  EXPECT_EQ(json("v.json")["verdict"], "slower");
  EXPECT_EQ(validate("echo cost 5", "echo cost 4", {"--rounds", "2", "--no-store"}).exit_code, 3);
  EXPECT_EQ(json("v.json")["verdict"], "inconclusive");
  EXPECT_THAT(json("v.json")["no_check"].get<std::string>(), HasSubstr("--no-store"));
}

TEST_F(Validate, wrong_outputs_reject_a_gain) {
  const auto output =
      validate("echo cost 5; echo right > " + path("answer"), "echo cost 4; echo wrong > " + path("answer"),
               {"--accuracy-command", "grep -q right " + path("answer")});
  EXPECT_EQ(output.exit_code, 4) << output.out << output.err;
  EXPECT_EQ(json("v.json")["verdict"], "rejected");
}

TEST_F(Validate, commands_are_measured_as_the_project_beside_says) {
  write_project("echo unused");
  const auto output = run_process({kExecutable, "validate", "echo cost 5", "echo cost 4", "--json", path("v.json")},
                                  {.deadline_s = 100, .directory = folder_.string()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_code, 0) << output->out << output->err;
  ASSERT_EQ(json("v.json")["comparison"]["metrics"].size(), 1U) << output->out;
  EXPECT_EQ(json("v.json")["comparison"]["metrics"][0]["id"], "cost");
}

TEST_F(Validate, stages_of_the_project_are_not_those_of_other_commands) {
  write("warpmark.yaml",
        "stages: [{name: one, run: sleep 0}, {name: two, run: sleep 0 0 0 0}]\n"
        "metrics: [{name: cost, unit: s, regex: 'cost ([0-9.]+)'}]\n");
  const auto output = run_process({kExecutable, "validate", "echo cost 5", "echo cost 4", "--json", path("v.json")},
                                  {.deadline_s = 100, .directory = folder_.string()});
  ASSERT_TRUE(output.ok());
  EXPECT_NE(output->exit_code, 2) << output->out << output->err;
  EXPECT_THAT(output->out, AllOf(HasSubstr("cost: B is 1.25x faster"), Not(HasSubstr("stage"))));
}

TEST_F(Validate, two_revisions_are_set_against_the_history_of_a_branch) {
  const std::string repository = path("repository");
  std::filesystem::create_directories(repository);
  int session = 0;  // a history that never varied would say little
  const auto in_repository = [&](const std::vector<std::string>& words) {
    const auto output = run_process(
        words, {.deadline_s = 100, .directory = repository, .environment = {{"DIGIT", std::to_string(session++ % 7)}}});
    EXPECT_TRUE(output.ok());
    return output.ok() ? *output : ProcessOutput{};
  };
  const auto git = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-c", "user.name=t", "-c", "user.email=t@example.org"});
    EXPECT_EQ(in_repository(words).exit_code, 0);
  };
  const auto commit = [&](const std::string& cost) {
    ASSERT_TRUE(write_file(repository + "/cost.txt", cost).ok());
    ASSERT_TRUE(write_file(repository + "/warpmark.yaml",
                           "run: 'echo cost $(cat cost.txt)$DIGIT'\nshell: true\n"
                           "metrics: [{name: cost, unit: s, regex: 'cost ([0-9.]+)'}]\n")
                    .ok());
    git({"add", "."});
    git({"commit", "-q", "-m", cost});
  };
  git({"init", "-q", "-b", "main"});
  const auto run = [&] {
    EXPECT_EQ(in_repository({kExecutable, "run", "--project", "warpmark.yaml", "--rounds", "3"}).exit_code, 0);
  };
  commit("4.00");
  for (int i = 0; i < 12; ++i) run();
  git({"checkout", "-q", "-b", "slow"});
  commit("9.00");
  git({"checkout", "-q", "-b", "less_slow"});
  commit("7.00");
  forget_readings(path("test.db"));
  const auto output = in_repository({kExecutable, "validate", "slow", "less_slow", "--json", path("v.json")});
  EXPECT_EQ(output.exit_code, 1) << output.out << output.err;
  EXPECT_EQ(json("v.json")["verdict"], "regression") << output.out;
  EXPECT_EQ(schema_errors(json("v.json"), "validate.schema.json"), "");
  EXPECT_EQ(schema_errors(json("v.json")["check"], "check.schema.json"), "");
  commit("3.00");
  const auto faster = in_repository({kExecutable, "validate", "main", "HEAD", "--json", path("v.json")});
  EXPECT_EQ(faster.exit_code, 0) << faster.out << faster.err;
  EXPECT_EQ(json("v.json")["verdict"], "validated");
}

TEST_F(Validate, two_words_are_commands_or_revisions_and_else_refused) {
  const auto words = warpmark({"validate", "--shell", "--rounds", "2", "--no-store", "sleep 0.01", "sleep 0"});
  EXPECT_EQ(words.exit_code, 3) << words.out << words.err;
  EXPECT_EQ(warpmark({"validate"}).exit_code, 2);
  const auto one = warpmark({"validate", "./only"});
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_THAT(one.err, HasSubstr("BASE and OPTIMIZED"));
}

}  // namespace
}  // namespace warpmark::apps
