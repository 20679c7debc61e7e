#include "base/subprocess.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "support/spawn.h"

namespace warpmark {
namespace {

TEST(RunProcess, returns_both_outputs_and_the_exit_code) {
  const auto output = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  ASSERT_TRUE(output.ok()) << output.error().what;
  EXPECT_EQ(output->out, "out\n");
  EXPECT_EQ(output->err, "err\n");
  EXPECT_EQ(output->exit_code, 3);
}

TEST(RunProcess, gives_the_program_its_input_whether_it_reads_it_or_not) {
  const std::string large(3 << 20, 'x');
  const auto read = run_process({"sh", "-c", "wc -c; cat"}, {.input = large});
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_EQ(std::stol(read->out), static_cast<long>(large.size()));
  EXPECT_EQ(run_process({"true"}, {.input = large})->exit_code, 0);
  EXPECT_EQ(run_process({"cat"})->out, "") << "nothing without one";
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

TEST(RunProcess, kills_what_closed_its_output_and_outlives_the_deadline) {
  const auto output = run_process({"sh", "-c", "exec >/dev/null 2>&1; exec sleep 60"}, {.deadline_s = 0.2});
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().kind, ErrorKind::environment);
}

TEST(RunProcess, kills_the_whole_group_at_the_deadline) {
  // A time to sleep that no other process of this machine has.
  const std::string duration = "61." + std::to_string(::getpid());
  const auto output =
      run_process({"sh", "-c", "sleep " + duration + " & sleep " + duration}, {.deadline_s = 0.2, .own_group = true});
  ASSERT_FALSE(output.ok());
  const auto left = run_process({"pgrep", "-f", "sleep " + duration});
  ASSERT_TRUE(left.ok()) << left.error().what;
  EXPECT_EQ(left->out, "");
}

TEST(RunProcess, ends_what_is_interrupted) {
  std::atomic<bool> interrupted{false};
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    interrupted = true;
  });
  const auto output = run_process({"sleep", "60"}, {.deadline_s = 50, .own_group = true, .interrupted = &interrupted});
  later.join();
  ASSERT_FALSE(output.ok());
  EXPECT_NE(output.error().what.find("interrupted"), std::string::npos);
}

TEST(RunProcess, sets_variables_and_measures_time_and_memory) {
  const auto output =
      run_process({"sh", "-c", "echo $WARPMARK_TEST_A-$HOME; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"},
                  {.environment = {{"WARPMARK_TEST_A", "1"}, {"HOME", "here"}}});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "1-here\n");
  EXPECT_GT(output->cpu_s, 0);
  EXPECT_GE(output->wall_s, output->cpu_s * 0.5);
  EXPECT_GT(output->peak_memory_bytes, 100'000);
  const auto asleep = run_process({"sleep", "0.2"});
  EXPECT_GE(asleep->wall_s, 0.2);
  EXPECT_LT(asleep->cpu_s, 0.1);
}

TEST(RunProcess, names_a_program_that_is_not_there) {
  if (!testing_support::spawn_tells_errors()) GTEST_SKIP() << "an emulator that loses the errors of posix_spawn()";
  EXPECT_NE(run_process({"no-such-program"}).error().what.find("no-such-program"), std::string::npos);
}

TEST(RunProcess, does_not_blame_the_program_for_a_folder_that_is_not_there) {
  if (!testing_support::spawn_tells_errors()) GTEST_SKIP() << "an emulator that loses the errors of posix_spawn()";
  const auto output = run_process({"true"}, {.directory = "/proc/no-such-folder"});
  ASSERT_FALSE(output.ok());
  EXPECT_NE(output.error().what.find("there is no folder /proc/no-such-folder"), std::string::npos)
      << output.error().what;
}

TEST(OwnExecutable, is_the_file_of_this_program) {
  const auto self = own_executable();
  ASSERT_TRUE(self.ok()) << self.error().what;
  EXPECT_TRUE(self->is_absolute());
  EXPECT_EQ(self->filename(), program_invocation_short_name);
}

}  // namespace
}  // namespace warpmark
