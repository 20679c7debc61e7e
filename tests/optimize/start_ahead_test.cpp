// How many runs start at once, and what becomes of those that do not wait for each other.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/files.h"
#include "optimize/apply/program_trials.h"

namespace warpmark::optimize {
namespace {

namespace fs = std::filesystem;

ProgramRun baseline(double host_bytes, std::int64_t reserved, std::int64_t total) {
  ProgramRun run;
  run.host_bytes = host_bytes;
  run.report.world = 1;
  run.report.window.emplace();
  run.report.reserved_bytes = reserved;
  run.report.total_bytes = total;
  return run;
}

TEST(FailureOf, names_what_the_program_said_last_or_that_it_said_nothing) {
  EXPECT_EQ(failure_of(0, "a warning\n"), "");
  EXPECT_EQ(failure_of(4, ""), "ended with exit code 4: it printed nothing");
  EXPECT_EQ(failure_of(4, " \n\n"), "ended with exit code 4: it printed nothing");
  EXPECT_EQ(failure_of(1, "Traceback\nValueError: no such file\n  more of it\n"),
            "ended with exit code 1: ValueError: no such file");
  EXPECT_EQ(failure_of(1, "first\nlast\n"), "ended with exit code 1: last");
}

TEST(StartAhead, as_many_as_cores_and_memory_have_room_for) {
  EXPECT_EQ(most_together(baseline(1e9, 0, 0), 8, 100e9, 16), 8);
  EXPECT_EQ(most_together(baseline(1e9, 0, 0), 8, 100e9, 5), 4) << "cores; pairs stay together";
  EXPECT_EQ(most_together(baseline(20e9, 0, 0), 8, 100e9, 16), 4) << "80 of 100 GB";
  EXPECT_EQ(most_together(baseline(1e9, 30LL << 30, 80LL << 30), 8, 100e9, 16), 2) << "64 of 80 GiB";
  EXPECT_EQ(most_together(baseline(90e9, 0, 0), 8, 100e9, 16), 1);
  EXPECT_EQ(most_together(baseline(1e9, 0, 0), 1, 100e9, 16), 1);
  auto ranks = baseline(1e9, 0, 0);
  ranks.report.world = 2;
  EXPECT_EQ(most_together(ranks, 8, 100e9, 16), 1);
}

class NeverWaits : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "warpmark ahead XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::copy_file(fs::path(WARPMARK_SOURCE_DIR) / "tests/data/hook_report.jsonl", folder_ / "report.txt");
    ASSERT_TRUE(write_file(folder_ / "program.sh",
                           "cp report.txt \"$WARPMARK_HOOK_REPORT/41-0.jsonl\"\nprintf x >> started; sleep 0.1\n")
                    .ok());
  }
  void TearDown() override { fs::remove_all(folder_); }
  ProgramRuns program_runs(TrialJournal& journal) const {
    return ProgramRuns(
        {.words = {"sh", "program.sh"}, .directory = folder_.string(), .environment = {}, .user_knobs = {}},
        {.hook = folder_ / "hook", .scratch = folder_ / "scratch", .original = {}}, journal, nullptr, 0,
        {.list = [] { return std::vector<std::string>(); }, .activity = {}, .energy_j = {}});
  }
  fs::path folder_;
};

TEST_F(NeverWaits, runs_of_a_program_that_does_not_wait_are_taken_one_by_one) {
  auto journal = TrialJournal::open((folder_ / "journal.jsonl").string(), "request", false);
  ASSERT_TRUE(journal.ok()) << journal.error().what;
  ProgramRuns runs = program_runs(*journal);
  const RunOptions options{.time_of = TimeOf::sample};
  runs.start_together(2);
  runs.expect({{{}, options}, {{}, options}, {{}, options}, {{}, options}});
  for (int i = 0; i < 2; ++i) {
    const auto run = runs.run({}, options);
    ASSERT_TRUE(run.ok()) << run.error().what;
    EXPECT_EQ(run->cost_s, run->wall_s) << "of this run alone";
  }
  EXPECT_EQ(read_file(folder_ / "started").value(), "xxxx") << "two that started together and do not count, and two";
  EXPECT_EQ(runs.count(), 2);
}

TEST_F(NeverWaits, what_fails_beside_others_and_not_by_itself_is_run_by_itself) {
  ASSERT_TRUE(write_file(folder_ / "program.sh",
                         "printf x >> started\n[ $(wc -c < started) -gt 2 ] || { sleep 0.3; exit 1; }\n"
                         "cp report.txt \"$WARPMARK_HOOK_REPORT/41-0.jsonl\"\n")
                  .ok());
  auto journal = TrialJournal::open((folder_ / "journal.jsonl").string(), "request", false);
  ASSERT_TRUE(journal.ok()) << journal.error().what;
  ProgramRuns runs = program_runs(*journal);
  const RunOptions options{.time_of = TimeOf::sample};
  runs.start_together(2);
  runs.expect({{{}, options}, {{}, options}});
  const auto run = runs.run({}, options);
  ASSERT_TRUE(run.ok()) << run.error().what;
  EXPECT_EQ(run->failure, "") << "an address in use, say";
  EXPECT_EQ(read_file(folder_ / "started").value(), "xxx");
}

TEST_F(NeverWaits, a_knob_of_which_the_hook_says_nothing_was_not_in_force) {
  auto journal = TrialJournal::open((folder_ / "journal.jsonl").string(), "request", false);
  ASSERT_TRUE(journal.ok()) << journal.error().what;
  ProgramRuns runs = program_runs(*journal);
  const auto run = runs.run({{"checkpoint.blocks", "on"}}, {.time_of = TimeOf::sample});
  ASSERT_TRUE(run.ok()) << run.error().what;
  EXPECT_EQ(run->failure, "checkpoint.blocks was not in force: the hook did not report it");
}

}  // namespace
}  // namespace warpmark::optimize
