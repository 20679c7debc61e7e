// The tasks of examples/eval, put to the reference server with the answers beside them: scores that can be told by
// hand.
#include <cmath>
#include <map>

#include "base/files.h"
#include "evaluate/run_task.h"
#include "evaluate/sandbox/sandbox.h"
#include "evaluate/scripted_server.h"

namespace warpmark::evaluate {
namespace {

using testing_support::asking;
using testing_support::Folder;
using testing_support::score_of;
using testing_support::scripted_server;

TaskOutcome run_example(const std::string& name) {
  const std::filesystem::path examples = std::filesystem::path(WARPMARK_SOURCE_DIR) / "examples/eval";
  const Folder folder;
  const auto rules = read_file(examples / "answers.jsonl");
  EXPECT_TRUE(rules.ok()) << rules.error().what;
  const auto server = scripted_server(*rules);
  const auto loaded = load_task(examples / (name + ".yaml"));
  EXPECT_TRUE(loaded.ok()) << loaded.error().what;
  const auto run =
      run_task(*loaded, {.make = asking(server->url()), .identity = "m", .system = "m"}, folder.path() / "run",
               {.concurrency = 3, .retries = 0, .deadline_s = 60}, 1, [](const RunnerProgress&) {});
  EXPECT_TRUE(run.ok()) << run.error().what;
  for (const auto& failure : run->asked.failures) EXPECT_EQ(failure, "");
  return run->outcome;
}

TEST(ExampleTasks, of_choices_hold_in_every_order) {
  const auto outcome = run_example("choice");
  for (const std::size_t system : {0U, 1U}) {
    EXPECT_DOUBLE_EQ(score_of(outcome, "mmlu", system), 0.8) << "11 squared is not 111";
    EXPECT_DOUBLE_EQ(score_of(outcome, "mmlu_macro", system), 0.8);
  }
}

TEST(ExampleTasks, of_numbers_count_what_is_empty_as_wrong_and_what_is_cut_off_by_what_it_says) {
  const auto outcome = run_example("numbers");
  ASSERT_EQ(outcome.examples.systems, (std::vector<std::string>{"m", "m, typos", "m, upper_case"}));
  for (const std::size_t system : {0U, 1U, 2U}) {
    EXPECT_DOUBLE_EQ(score_of(outcome, "gsm8k_strict", system), 0.4) << "the train's number has no mark";
    EXPECT_DOUBLE_EQ(score_of(outcome, "gsm8k_flexible", system), 0.6);
    EXPECT_DOUBLE_EQ(score_of(outcome, "numeric", system), 0.6);
    EXPECT_EQ(accuracy::problems_of(outcome.examples, system), (std::vector<std::string>{"is empty (1)"}));
  }
  EXPECT_EQ(outcome.efficiency.latencies_s.size(), 15U);
  EXPECT_EQ(outcome.efficiency.without_usage, 0U);
  EXPECT_GT(outcome.efficiency.prompt_tokens, 300);
  EXPECT_GT(outcome.efficiency.cost, 0);
}

TEST(ExampleTasks, of_extraction_are_scored_as_squads_script_does) {
  const auto outcome = run_example("extraction");
  // "In the 1871" is "in 1871"; of "42 metres" half is found; the last has no answer.
  EXPECT_DOUBLE_EQ(score_of(outcome, "exact_match"), 0.5);
  EXPECT_DOUBLE_EQ(score_of(outcome, "f1"), (1 + 1 + 0.5 + 0) / 4);
}

TEST(ExampleTasks, of_classes_have_glues_metric) {
  const auto outcome = run_example("sentiment");
  EXPECT_DOUBLE_EQ(score_of(outcome, "glue/sst2"), 0.75);
  EXPECT_DOUBLE_EQ(score_of(outcome, "mcc"), 1 / std::sqrt(3)) << "1 found, 1 missed, 2 rightly not";
  EXPECT_DOUBLE_EQ(score_of(outcome, "glue/sst2", 1), 0.75);
}

TEST(ExampleTasks, of_code_execute_every_sample_and_nothing_hostile) {
  if (const auto works = sandbox_works(); !works.ok()) GTEST_SKIP() << works.error().what;
  const auto outcome = run_example("code");
  EXPECT_DOUBLE_EQ(score_of(outcome, "pass@1"), (1 + 0.5 + 0) / 3);
  EXPECT_DOUBLE_EQ(score_of(outcome, "pass@2"), (1 + 1 + 0) / 3.0);
}

TEST(ExampleTasks, of_summaries_are_scored_by_their_lines) {
  const auto outcome = run_example("summaries");
  EXPECT_NEAR(score_of(outcome, "rouge1"), (1 + 0.8 + 8.0 / 15) / 3, 1e-12);
  EXPECT_NEAR(score_of(outcome, "rouge2"), (1 + 2.0 / 3 + 2 * 0.25 * (1 / 9.0) / (0.25 + 1 / 9.0)) / 3, 1e-12);
  EXPECT_NEAR(score_of(outcome, "rougeLsum"), (1 + 0.8 + 8.0 / 15) / 3, 1e-12);
}

TEST(ExampleTasks, of_pictures_are_scored_by_skill) {
  const auto outcome = run_example("pictures");
  const double square = std::exp(-0.1), two = std::exp(-0.7) + std::exp(-1.6), three = std::exp(-3);
  EXPECT_NEAR(score_of(outcome, "vqascore"), (square + two + three) / 3, 1e-12);
  const auto scores =
      accuracy::score_systems(outcome.examples, *accuracy::metrics_named({"vqascore"}, {}), {.by_subject = true});
  ASSERT_TRUE(scores.ok());
  std::map<std::string, double> by;
  for (const auto& part : (*scores)[0].by) by[part.subject] = part.value;
  ASSERT_EQ(by.size(), 4U);
  EXPECT_NEAR(by["attribute"], (square + two + three) / 3, 1e-12);  // each picture has one
  EXPECT_NEAR(by["counting"], (two + three) / 2, 1e-12);
  EXPECT_NEAR(by["(basic)"], square, 1e-12);
  EXPECT_NEAR(by["(advanced)"], (two + three) / 2, 1e-12);
}

}  // namespace
}  // namespace warpmark::evaluate
