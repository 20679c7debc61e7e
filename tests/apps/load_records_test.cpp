// What `warpmark load run` measured, where the program is killed or the disk fills up while it measures.
#include <filesystem>

#include "apps/load_cli_fixture.h"

namespace warpmark::apps {
namespace {

TEST_F(LoadCli, gives_back_the_requests_of_a_load_that_was_killed) {
  start();
  const auto words = [&](const std::string& time) {
    return run({"--num-concurrency", "8", "--max-time-per-run", time, "--experiment-folder-name", path("experiment"),
                "--no-calibrate", "--no-store", "--resume"});
  };
  const auto killed =
      run_process(with({"timeout", "--signal=KILL", "5", kExecutable}, words("60s")), {.deadline_s = 60});
  ASSERT_TRUE(killed.ok()) << killed.error().what;
  EXPECT_EQ(killed->exit_code, 137) << killed->err;
  const auto resumed = warpmark(words("1s"));
  EXPECT_THAT(resumed.exit_code, ::testing::AnyOf(0, 5)) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("requests of a load that was killed are in " + path("experiment")));
  const auto rows = read_file(path("experiment/unfinished_requests.csv"));
  ASSERT_TRUE(rows.ok()) << rows.error().what;
  EXPECT_GT(split(*rows, '\n').size(), 50U);
  EXPECT_THAT(*rows, HasSubstr("\nunfinished,0,0,"));
  EXPECT_EQ(json("experiment/warpmark_load.json")["scenarios"].size(), 1U) << "the load was measured once more";
  EXPECT_FALSE(std::filesystem::exists(path("experiment/unfinished.records")));
}

TEST_F(LoadCli, ends_where_the_disk_is_full_and_tells_what_it_measured) {
  start();
  // Files of 32 KiB at most; the signal that would end the program is ignored, as a full disk sends none.
  const auto output =
      run_process(with({"bash", "-c", "trap '' XFSZ; ulimit -f 32; exec \"$0\" \"$@\"", kExecutable},
                       run({"--num-concurrency", "8", "--max-time-per-run", "60s", "--no-calibrate", "--no-store"})),
                  {.deadline_s = 120});
  ASSERT_TRUE(output.ok()) << output.error().what;
  EXPECT_EQ(output->exit_code, 5) << output->err;
  EXPECT_THAT(output->err, HasSubstr("cannot keep the records of requests in"));
  EXPECT_THAT(output->err, HasSubstr("File too large"));
  EXPECT_THAT(output->out, HasSubstr("end to end")) << "what was measured until then is told";
}

}  // namespace
}  // namespace warpmark::apps
