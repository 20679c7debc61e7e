#include "base/subprocess.h"

#include <gtest/gtest.h>

namespace warpmark {
namespace {

TEST(RunProcess, returns_both_outputs_and_the_exit_code) {
  const auto output = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  ASSERT_TRUE(output.ok()) << output.error().what;
  EXPECT_EQ(output->out, "out\n");
  EXPECT_EQ(output->err, "err\n");
  EXPECT_EQ(output->exit_code, 3);
}

TEST(RunProcess, reports_a_signal_as_the_shell_does) {
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"})->exit_code, 137);
}

TEST(RunProcess, caps_the_output_but_lets_the_program_end) {
  const auto output = run_process({"sh", "-c", "head -c 1000000 /dev/zero"}, {.output_cap_bytes = 1000});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out.size(), 1000U);
  EXPECT_EQ(output->exit_code, 0);
}

TEST(RunProcess, kills_what_outlives_the_deadline) {
  const auto output = run_process({"sleep", "60"}, {.deadline_s = 0.1});
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().kind, ErrorKind::environment);
}

TEST(RunProcess, names_a_program_that_is_not_there) {
  EXPECT_NE(run_process({"no-such-program"}).error().what.find("no-such-program"), std::string::npos);
}

}  // namespace
}  // namespace warpmark
