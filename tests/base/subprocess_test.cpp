#include "base/subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/processes/reaper.h"
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

/// A time to sleep that no other process of this machine has.
std::string own_duration(int number) { return std::to_string(600 + number) + "." + std::to_string(::getpid()); }

/// What still runs of `sleep DURATION` within two seconds; empty if nothing.
std::string left_running(const std::string& duration) {
  std::string left = "?";
  for (int attempt = 0; attempt < 100 && !left.empty(); ++attempt) {
    left = run_process({"pgrep", "-fx", "sleep " + duration})->out;
    if (!left.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return left;
}

TEST(RunProcess, kills_descendants_that_left_their_session_and_environment) {
  const auto duration = own_duration(1);
  const std::string daemon = "env -i setsid sh -c 'sleep " + duration + " & wait' > /dev/null 2>&1 & ";
  EXPECT_TRUE(run_process({"sh", "-c", daemon + "sleep 0.2"}, {.own_group = true}).ok());
  EXPECT_EQ(left_running(duration), "") << "when the program has ended";
  EXPECT_FALSE(run_process({"sh", "-c", daemon + "sleep 60"}, {.deadline_s = 0.3, .own_group = true}).ok());
  EXPECT_EQ(left_running(duration), "") << "at the deadline";
}

TEST(RunProcess, does_not_wait_for_a_child_that_holds_the_output) {
  for (const bool own_group : {true, false}) {
    const auto duration = own_duration(2);
    const auto output = run_process({"sh", "-c", "sleep " + duration + " & echo done; exit 4"},
                                    {.deadline_s = 30, .own_group = own_group});
    ASSERT_TRUE(output.ok()) << output.error().what;
    EXPECT_EQ(output->out, "done\n");
    EXPECT_EQ(output->exit_code, 4);
    EXPECT_EQ(left_running(duration).empty(), own_group);
    (void)run_process({"pkill", "-fx", "sleep " + duration});
  }
}

TEST(RunProcess, leaves_a_program_of_its_own_session_no_terminal_to_stop_it) {
  const auto output = run_process({"sh", "-c", "stty -echo < /dev/tty"}, {.deadline_s = 30, .own_group = true});
  ASSERT_TRUE(output.ok()) << output.error().what;
  EXPECT_NE(output->exit_code, 0);
}

/// In a terminal: pytorch-cifar and what copied its progress bar ask stty for the width.
TEST(RunProcess, gives_a_program_an_empty_terminal_where_we_have_one) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(master, 0);
  ASSERT_EQ(::grantpt(master), 0);
  ASSERT_EQ(::unlockpt(master), 0);
  const winsize size{.ws_row = 30, .ws_col = 101, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(master, TIOCSWINSZ, &size), 0);
  const int slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  const int ours = ::dup(STDIN_FILENO);
  ::dup2(slave, STDIN_FILENO);
  const ProcessOptions options{.deadline_s = 30, .like_terminal = true, .environment = {}, .own_group = true};
  const auto output = run_process({"sh", "-c", "stty size; cat; cat; echo read"}, options);
  const auto without = run_process({"sh", "-c", "stty size 2>&1; cat"}, {.deadline_s = 30, .own_group = true});
  ::dup2(ours, STDIN_FILENO);
  for (const int fd : {ours, slave, master}) ::close(fd);
  ASSERT_TRUE(output.ok()) << output.error().what;
  EXPECT_EQ(output->out, "30 101\nread\n");
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->out.find("101"), std::string::npos);
}

TEST(RunProcess, leaves_nothing_when_we_are_killed) {
  for (const bool own_group : {true, false}) {
    const auto duration = own_duration(3);
    const std::string command = "setsid sleep " + duration + " & sleep " + duration;
    const pid_t us = ::fork();
    if (us == 0) {
      (void)run_process({"sh", "-c", command}, {.deadline_s = 60, .own_group = own_group});
      ::_exit(0);
    }
    for (std::string found; found.empty();) found = run_process({"pgrep", "-fx", "sleep " + duration})->out;
    ::kill(us, SIGKILL);
    ::waitpid(us, nullptr, 0);
    EXPECT_EQ(left_running(duration), "") << own_group;
  }
}

TEST(RunProcess, lets_a_program_end_by_itself_within_its_grace_when_we_are_killed) {
  const auto file = std::filesystem::temp_directory_path() / ("warpmark-grace-" + std::to_string(::getpid()));
  const pid_t us = ::fork();
  if (us == 0) {
    const std::string command = "trap 'echo asked > " + file.string() + "; exit' TERM; echo > " + file.string() +
                                "; while :; do sleep 0.05; done";
    (void)run_process({"sh", "-c", command}, {.deadline_s = 60, .own_group = true, .grace_s = 20});
    ::_exit(0);
  }
  while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(us, SIGKILL);
  ::waitpid(us, nullptr, 0);
  for (int attempt = 0; attempt < 500 && first_line(file) != "asked"; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(first_line(file), "asked");
  std::filesystem::remove(file);
}

TEST(RunProcess, hides_who_cleans_up_from_those_who_end_us_by_name) {
  const auto output =
      run_process({"sh", "-c", "tr '\\0' ' ' < /proc/$PPID/cmdline; cat /proc/$PPID/comm"}, {.own_group = true});
  ASSERT_TRUE(output.ok()) << output.error().what;
  EXPECT_EQ(output->out.substr(0, 7), "reaper ");
  EXPECT_TRUE(output->out.ends_with("reaper\n")) << output->out;
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

TEST(Reaped, leaves_nothing_of_a_program_that_ended_by_a_signal_from_us) {
  for (const bool from_terminal : {false, true}) {  // which sends it to us and to the program
    const auto duration = own_duration(from_terminal ? 7 : 6);
    std::atomic<bool> interrupted{false};
    auto program = Reaped::start({"sh", "-c", "setsid sleep " + duration + " & exec sleep " + duration},
                                 {.own_group = false, .interrupted = &interrupted});
    ASSERT_TRUE(program.ok()) << program.error().what;
    while (run_process({"pgrep", "-cfx", "sleep " + duration})->out != "2\n") std::this_thread::yield();
    if (from_terminal) {
      interrupted = true;
      ::kill(program->id(), SIGINT);
    } else {
      program->send(SIGINT);
    }
    std::optional<ProcessEnding> ended;
    while (!(ended = program->poll())) std::this_thread::yield();
    EXPECT_EQ(ended->exit_code, 128 + SIGINT);
    EXPECT_EQ(left_running(duration), "") << from_terminal;
    (void)run_process({"pkill", "-fx", "sleep " + duration});
  }
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

TEST(RunProcess, says_that_the_folder_and_not_the_program_is_missing) {
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
