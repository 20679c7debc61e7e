// As good as before, by what the user judges by: whole runs of a program that is faster where it does less.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/cli_fixture.h"
#include "optimize/apply/quality_gate.h"
#include "support/expect_refused.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

TEST(PrintedNumber, is_the_last_that_follows_the_name) {
  using optimize::printed_number;
  EXPECT_EQ(*printed_number("epoch 1 top1: 0.5\nepoch 2 top1: 0.75\n", "top1"), 0.75);
  EXPECT_EQ(*printed_number("top1=0.25 top1_ema=0.9 ema_top1=0.8", "top1"), 0.25);
  EXPECT_EQ(*printed_number("{\"top1\": 1e-3}", "top1"), 1e-3);
  testing_support::expect_refused(printed_number("top1 is fine", "top1"), "top1");
  testing_support::expect_refused(printed_number("top1: nan", "top1"), "finite");
}

class Quality : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    // Not Python, which takes as long to start as a busy machine likes.
    write(
        "program.sh",
        "mode=$2\n"
        "[ $mode = full ] && sleep 1\n"
        "top1=0.76; [ $mode = worse ] && top1=0.5; echo top1: $top1\n"
        "seq 200 | awk -v mode=$mode '{ printf \"{\\\"id\\\": \\\"%d\\\", \\\"prediction\\\": \\\"%s\\\", "
        "\\\"references\\\": [\\\"a\\\"]}\\n\", $1, mode == \"worse\" && $1 % 2 ? \"x\" : \"a\" }' > answers.jsonl\n");
  }
  ProcessOutput optimize(const std::vector<std::string>& more) {
    std::vector<std::string> words{kExecutable,
                                   "optimize",
                                   "--alpha",
                                   "0.5",
                                   "--rounds",
                                   "6",
                                   "--effect",
                                   "10%",
                                   "--copy",
                                   "--json",
                                   path("optimization.json")};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "sh", "program.sh", "--mode", "full"});
    const auto output = run_process(words, {.deadline_s = 200, .directory = folder_.string()});
    EXPECT_TRUE(output.ok()) << output.error().what;
    return output.ok() ? *output : ProcessOutput{};
  }
};

TEST_F(Quality, a_gain_that_costs_accuracy_is_rejected_and_one_that_does_not_is_kept) {
  const auto output = optimize({"--knob", "mode=--mode {worse,fast}", "--eval", "top1=1%"});
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;  // of the values one held
  const auto optimization = json("optimization.json");
  EXPECT_EQ(testing_support::schema_errors(optimization, "optimization.schema.json"), "");
  EXPECT_EQ(optimization["steps"][0]["outcome"], "rejected");
  EXPECT_THAT(optimization["steps"][0]["reason"].get<std::string>(), HasSubstr("top1 0.5, was 0.76"));
  EXPECT_EQ(optimization["steps"][1]["outcome"], "kept");
  EXPECT_EQ(optimization["plan"]["mode"], "fast");
}

TEST_F(Quality, exit_code_4_where_the_only_knob_loses_accuracy) {
  EXPECT_EQ(optimize({"--knob", "mode=--mode {worse}", "--eval", "top1=0.01"}).exit_code, 4);
  EXPECT_EQ(optimize({"--knob", "mode=--mode {worse} exact", "--eval", "top1=0.01"}).exit_code, 0)
      << "exact: not judged";
}

TEST_F(Quality, answers_are_paired_by_example) {
  const auto output =
      optimize({"--knob", "mode=--mode {worse}", "--eval", "exact_match=0.05", "--eval-answers", "answers.jsonl"});
  EXPECT_EQ(output.exit_code, 4) << output.out << output.err;
  EXPECT_THAT(json("optimization.json")["steps"][0]["reason"].get<std::string>(), HasSubstr("exact_match"));
}

TEST_F(Quality, a_command_that_finds_outputs_wrong_rejects) {
  const auto output =
      optimize({"--knob", "mode=--mode {worse}", "--accuracy-command", "sh -c '! grep -q x answers.jsonl'"});
  EXPECT_EQ(output.exit_code, 4) << output.out << output.err;
  const auto silent = optimize({"--knob", "mode=--mode {fast}", "--eval", "top5=1%"});
  EXPECT_EQ(silent.exit_code, 2);
  EXPECT_THAT(silent.err, HasSubstr("top5"));
  EXPECT_EQ(optimize({"--knob", "mode=--mode {fast}", "--eval-lower"}).exit_code, 2);
}

}  // namespace
}  // namespace warpmark::apps
