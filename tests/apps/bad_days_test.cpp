// Days on which the machine does not play along: no memory, no disk space, a database that somebody else holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "support/peak_memory.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

class BadDay : public Cli {
 protected:
  /// Runs the executable under a limit that only a shell can set for it.
  ProcessOutput warpmark_after(const std::string& shell_line, const std::vector<std::string>& words) {
    std::vector<std::string> command{"bash", "-c", shell_line + "; exec \"$0\" \"$@\"", kExecutable};
    command.insert(command.end(), words.begin(), words.end());
    auto output = run_process(command, {.deadline_s = 100});
    EXPECT_TRUE(output.ok()) << output.error().what;
    return output.ok() ? *output : ProcessOutput{};
  }
};

TEST_F(BadDay, without_enough_memory_names_the_numbers_and_measures_the_rest) {
  if (!testing_support::memory_can_be_measured()) GTEST_SKIP() << "a sanitizer reserves more addresses than the limit";
  std::ofstream(path("two.yaml"))
      << "schema: warpmark.suite/1\nname: two\nsummary: a case too large and one that fits\n"
         "cases:\n"
         "  - {workload: copy, device: cpu, set: {size: 512MiB, mode: hot}}\n"
         "  - {workload: opponent_balance, device: cpu, set: {mode: hot}}\n";
  // One thread: OpenBLAS takes 128 MiB of addresses for each when it is loaded, and asks for ever where it gets none.
  const auto output = warpmark_after("ulimit -v 900000; export OMP_NUM_THREADS=1",
                                     {"run", "--suite", path("two.yaml"), "--json", path("out.json"), "--no-store",
                                      "--device", "cpu", "--rounds", "1", "--budget", "0", "--no-ceilings"});
  EXPECT_EQ(output.exit_code, 5) << output.err;
  EXPECT_THAT(output.out, HasSubstr("bytes of memory, "));
  const auto text = read_file(path("out.json"));
  ASSERT_TRUE(text.ok()) << output.err;
  const auto json = parse_json(*text, "out.json");
  ASSERT_TRUE(json.ok());
  ASSERT_EQ((*json)["runs"].size(), 2U);
  EXPECT_EQ((*json)["runs"][0]["outcome"], "error");
  EXPECT_EQ((*json)["runs"][0]["fault"], "environment");
  const auto& second = (*json)["runs"][1];
  ASSERT_FALSE(second.value("metrics", Json::array()).empty()) << second.dump(1);
  EXPECT_GE(second["metrics"][0]["samples"].size(), 6U);
}

TEST_F(BadDay, of_which_the_output_is_lost_is_no_success) {
  if (!std::filesystem::is_character_file("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const auto lost = run_process({"bash", "-c", "exec \"$0\" list workloads > /dev/full", kExecutable});
  ASSERT_TRUE(lost.ok());
  EXPECT_EQ(lost->exit_code, 5);
  EXPECT_THAT(lost->err, HasSubstr("could not be written"));
  // A gate that failed keeps its code.
  ASSERT_TRUE(write_file(path("a.csv"), "x\n1\n").ok());
  ASSERT_TRUE(write_file(path("b.csv"), "x\n2\n").ok());
  const auto gate = run_process(
      {"bash", "-c", "exec \"$0\" allclose \"$1\" \"$2\" > /dev/full", kExecutable, path("a.csv"), path("b.csv")});
  ASSERT_TRUE(gate.ok());
  EXPECT_EQ(gate->exit_code, 4);
}

TEST_F(BadDay, on_a_full_disk_says_what_was_not_stored_and_still_shows_the_results) {
  // A limit of the file size fails writes as a full disk does, once its signal is ignored. The database is there
  // before, so that what is left is room for some results and not for all.
  ASSERT_EQ(warpmark({"history"}).exit_code, 0);
  const auto output =
      warpmark_after("trap '' XFSZ; ulimit -f 80", with({"run", "launch", "opponent_balance", "triad"}, kShort));
  EXPECT_EQ(output.exit_code, 5) << output.out;
  EXPECT_THAT(output.out, HasSubstr("opponent_balance"));
  EXPECT_THAT(output.err, HasSubstr("not everything was stored"));
}

TEST_F(BadDay, with_a_locked_database_names_it_and_measures_nothing) {
  ASSERT_EQ(warpmark({"history"}).exit_code, 0);
  sqlite3* opened = nullptr;
  ASSERT_EQ(sqlite3_open(path("test.db").c_str(), &opened), SQLITE_OK);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> holder(opened, sqlite3_close);
  ASSERT_EQ(sqlite3_exec(opened, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto output = warpmark(with({"run", "launch"}, kShort));
  EXPECT_EQ(output.exit_code, 5);
  EXPECT_THAT(output.err, HasSubstr("test.db is locked"));
  EXPECT_EQ(output.out, "");
}

TEST_F(BadDay, with_values_a_hundred_orders_of_magnitude_apart_crashes_nothing) {
  std::ofstream(path("wild.yaml")) << "run: 'true'\nmetrics: [{name: v, regex: 'v (.*)'}]\n";
  const std::string wild = "n=$(cat " + in_quotes(path("n")) + " 2>/dev/null || echo 0); echo $((1 - n)) > " +
                           in_quotes(path("n")) + "; if [ $n = 0 ]; then echo v 1e99; else echo v 1e-99; fi";
  const auto compared = warpmark({"compare", "--project", path("wild.yaml"), "--shell", "--rounds", "8", "--warmup",
                                  "0", "--json", path("c.json"), "--", wild, "--", "echo v 1"});
  EXPECT_EQ(compared.exit_code, 3) << compared.err;
  for (int i = 0; i < 12; ++i) {
    const auto run = warpmark({"run", "--project", path("wild.yaml"), "--shell", "--rounds", "1", "--warmup", "0",
                               "--name", "wild", "--", wild});
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  EXPECT_EQ(warpmark({"trend", "v", "--branch", "all", "--dirty"}).exit_code, 0);
  EXPECT_EQ(warpmark({"history", "series"}).exit_code, 0);
}

/// Making the files of a loader takes longer than the second after which an interrupted program ends in any case.
TEST_F(BadDay, interrupted_while_files_are_made_leaves_none) {
  std::filesystem::create_directory(path("temporary"));
  const auto left = [&] { return std::distance(std::filesystem::directory_iterator(path("temporary")), {}); };
  const pid_t child = ::fork();
  if (child == 0) {
    setenv("TMPDIR", path("temporary").c_str(), 1);
    ::execl(kExecutable.c_str(), "warpmark", "run", "loader", "--set", "samples=960000", "--no-ceilings", "--no-store",
            "--json", "/dev/null", nullptr);
    ::_exit(127);
  }
  for (int i = 0; i < 6000 && left() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(left(), 1);
  ::kill(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_EQ(left(), 0);
}

}  // namespace
}  // namespace warpmark::apps
