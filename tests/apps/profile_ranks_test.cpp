// Recording several ranks, on GPUs that a mock of CUPTI plays, started by the real mpirun.
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "apps/profile_fixture.h"
#include "apps/slurm_job.h"
#include "apps/two_hosts.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

class RankProfiles : public ProfileCli {
 protected:
  void SetUp() override {
    ProfileCli::SetUp();
    const auto version = run_process({"mpirun", "--version"});
    if (!version.ok() || version->exit_code != 0) GTEST_SKIP() << "mpirun is not installed";
  }
};

TEST_F(RankProfiles, scale_records_a_run_with_each_number_and_splits_what_is_lost) {
  const auto output =
      warpmark({"scale", "--ranks", "1,2", "--oversubscribe", "--rounds", "2", "--warmup", "0", "--no-store",
                "--record", path("why"), "--json", path("s.json"), "--", kProgram, "1.5", "exit=0"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("Efficiency lost to"));
  const auto scaling = json("s.json");
  EXPECT_EQ(testing_support::schema_errors(scaling, "scaling.schema.json"), "");
  EXPECT_EQ(scaling["points"][0]["profile"]["ranks"], 1);
  EXPECT_EQ(scaling["points"][1]["profile"]["ranks"], 2);
  double sum = 0;
  for (const auto& part : scaling["points"][1]["lost"]) sum += part.get<double>();
  EXPECT_NEAR(sum, 1 - scaling["points"][1]["efficiency"]["value"].get<double>(), 1e-9);
  EXPECT_TRUE(std::filesystem::exists(path("why/2.wmrec")));
  const auto said = read_file(path("why/2.log"));
  ASSERT_TRUE(said.ok());
  EXPECT_THAT(*said, HasSubstr("kernels")) << "what the program printed is kept, and not among ours";
}

TEST_F(RankProfiles, a_run_that_cannot_be_recorded_is_told_beside_what_was_measured) {
  const auto output = warpmark({"scale", "--gpus", "1,2", "--remote", "--rounds", "2", "--warmup", "0", "--no-store",
                                "--record", path("why"), "--json", path("s.json"), "--", "true"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("made no CUDA call"));
  EXPECT_EQ(testing_support::schema_errors(json("s.json"), "scaling.schema.json"), "");
}

ProfileSession session_in(const std::string& file) {
  auto session = profile::read_session(std::vector<std::filesystem::path>{file});
  EXPECT_TRUE(session.ok()) << session.error().what;
  return session.ok() ? std::move(*session) : ProfileSession();
}

double number_of(const Timeline& timeline, const std::string& key) {
  return std::strtod(fact_of(timeline, key).c_str(), nullptr);
}

/// The words of `profile --ranks 2` of the played program.
std::vector<std::string> two_ranks(const std::string& out, const std::vector<std::string>& program) {
  return with(with({"profile", "--ranks", "2", "--oversubscribe", "--delay", "0s", "--duration", "0s", "--out", out,
                    "--", kProgram},
                   program),
              {});
}

TEST_F(RankProfiles, every_rank_is_recorded_into_one_file_on_one_clock) {
  const auto output = warpmark(two_ranks(path("p.wmrec"), {"1", "exit=0"}));
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("rank 1 on "));
  EXPECT_THAT(output.out, HasSubstr("kernels")) << "what the ranks print is passed on";
  const auto session = session_in(path("p.wmrec"));
  ASSERT_EQ(session.ranks.size(), 2U);
  for (int rank = 0; rank < 2; ++rank) {
    const auto& timeline = session.ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(timeline.rank, rank);
    EXPECT_EQ(timeline.world_size, 2);
    EXPECT_FALSE(timeline.host.empty());
    EXPECT_FALSE(timeline.counters.empty()) << "each host was sampled";
    // One host: the clock is the same, as far as messages tell.
    EXPECT_LE(std::abs(number_of(timeline, "clock_offset_ns")), number_of(timeline, "clock_uncertainty_ns") + 2e5);
    EXPECT_LT(number_of(timeline, "clock_uncertainty_ns"), 5e6);
  }
  const auto analysis = warpmark({"analyze", path("p.wmrec"), "--json", path("a.json")});
  EXPECT_EQ(analysis.exit_code, 0) << analysis.err;
  EXPECT_EQ(json("a.json")["session"]["ranks"], 2) << json("a.json")["session"].dump();
}

TEST_F(RankProfiles, within_a_slurm_job_srun_starts_what_is_recorded_and_what_is_scaled) {
  ASSERT_TRUE(make_srun(folder_).ok());
  const auto run = [&](const std::string& words) {
    const auto output = run_in_slurm_job(folder_, words);
    EXPECT_EQ(output.exit_code, 0) << output.err << output.out;
    const auto reported = read_file(path("srun.words"));
    EXPECT_TRUE(reported.ok()) << "srun was not asked";
    return reported.ok() ? *reported : "";
  };
  EXPECT_THAT(run("profile --ranks 2 --delay 0s --duration 0s --out " + in_quotes(path("two.wmrec")) + " -- " +
                  in_quotes(kProgram) + " 1 exit=0"),
              HasSubstr("-n 2 --kill-on-bad-exit=1 --mpi=pmix"));
  EXPECT_EQ(session_in(path("two.wmrec")).ranks.size(), 2U);
  EXPECT_THAT(run("scale --ranks 1,2 --rounds 2 --warmup 0 --no-store --json " + in_quotes(path("s.json")) + " -- " +
                  in_quotes(kProgram) + " 0.2 exit=0"),
              HasSubstr("--mpi=pmix"));
  EXPECT_EQ(json("s.json")["points"].size(), 2U);
}

TEST_F(RankProfiles, a_clock_that_is_wrong_is_found_and_set_right) {
  const std::string library = kBuildFolder + "/shifted_clock/libshifted_clock.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "built without MPI";
  constexpr double kShift = -3.25e9;  // the clock of rank 1 is 3.25 s behind
  setenv("LD_PRELOAD", library.c_str(), 1);
  setenv("WARPMARK_TEST_SHIFT_RANK", "1", 1);
  setenv("WARPMARK_TEST_SHIFT_NS", "-3250000000", 1);
  const auto output = warpmark(two_ranks(path("p.wmrec"), {"1", "exit=0"}));
  for (const char* name : {"LD_PRELOAD", "WARPMARK_TEST_SHIFT_RANK", "WARPMARK_TEST_SHIFT_NS"}) unsetenv(name);
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto session = session_in(path("p.wmrec"));
  ASSERT_EQ(session.ranks.size(), 2U);
  const double uncertainty = number_of(session.ranks[1], "clock_uncertainty_ns");
  // Readings of a process begin at its own look at the date, which takes what two calls of the clock take.
  EXPECT_NEAR(number_of(session.ranks[1], "clock_offset_ns"), -kShift, uncertainty + 2e5);
  EXPECT_NEAR(number_of(session.ranks[0], "clock_offset_ns"), 0,
              number_of(session.ranks[0], "clock_uncertainty_ns") + 2e5);
  // Both ran at the same time, and now say so.
  EXPECT_LT(std::abs(static_cast<double>(session.ranks[1].origin_ns - session.ranks[0].origin_ns)), 2e9);
}

TEST_F(RankProfiles, hosts_of_which_one_has_a_wrong_clock_become_one_session) {
  const TwoHosts hosts(folder_);
  if (!hosts.problem().empty()) GTEST_SKIP() << hosts.problem();
  const std::string library = kBuildFolder + "/shifted_clock/libshifted_clock.so";
  setenv("LD_PRELOAD", library.c_str(), 1);
  setenv("WARPMARK_TEST_SHIFT_RANK", "1", 1);
  setenv("WARPMARK_TEST_SHIFT_NS", "60000000000", 1);  // a minute ahead
  const auto output = hosts.warpmark(
      kExecutable, {"profile", "--hosts", hosts.hosts(), "--delay", "0s", "--duration", "0s", "--out", path("p.wmrec")},
      {"--", kProgram, "1", "exit=0"});
  for (const char* name : {"LD_PRELOAD", "WARPMARK_TEST_SHIFT_RANK", "WARPMARK_TEST_SHIFT_NS"}) unsetenv(name);
  ASSERT_TRUE(output.ok()) << output.error().what;
  ASSERT_EQ(output->exit_code, 0) << output->err;
  EXPECT_THAT(output->err, HasSubstr("rank 1 on second-host"));
  const auto session = session_in(path("p.wmrec"));
  ASSERT_EQ(session.ranks.size(), 2U);
  EXPECT_EQ(session.ranks[1].host, "second-host");
  EXPECT_NEAR(number_of(session.ranks[1], "clock_offset_ns"), -60e9,
              number_of(session.ranks[1], "clock_uncertainty_ns") + 2e5);
  EXPECT_LT(std::abs(static_cast<double>(session.ranks[1].origin_ns - session.ranks[0].origin_ns)), 5e9);
}

TEST_F(RankProfiles, what_a_rank_could_not_record_is_told_and_exit_codes_are_passed_on) {
  const auto failing = warpmark(two_ranks(path("p.wmrec"), {"0.5", "exit=3"}));
  EXPECT_EQ(failing.exit_code, 3) << failing.err;
  EXPECT_EQ(session_in(path("p.wmrec")).ranks.size(), 2U) << "both were sent before mpirun ended them";
  const auto none = warpmark({"profile", "--ranks", "2", "--oversubscribe", "--out", path("n.wmrec"), "--", "true"});
  EXPECT_EQ(none.exit_code, 5) << none.err;
  EXPECT_THAT(none.err, HasSubstr("made no CUDA call"));
  EXPECT_EQ(warpmark({"profile", "--bind", "127.0.0.1", "--", "true"}).exit_code, 2);
  EXPECT_EQ(warpmark({"profile", "--ranks", "2", "--ncu", "1", "--", "true"}).exit_code, 2);
  EXPECT_EQ(warpmark({"profile", "--as-rank", "--", "true"}).exit_code, 2);
}

TEST_F(RankProfiles, nothing_is_left_when_a_rank_dies_or_who_started_them_is_killed) {
  const std::string mark = "seed=" + std::to_string(::getpid());  // the program takes it for nothing
  const auto dead = warpmark(two_ranks(path("p.wmrec"), {"60", "kill_after=1", mark}));
  EXPECT_NE(dead.exit_code, 0);
  const std::string found = "pgrep -f '" + mark.substr(0, 1) + "[" + mark.substr(1, 1) + "]" + mark.substr(2) + "'";
  const auto left =
      run_process({"sh", "-c", "for i in $(seq 100); do " + found + " > /dev/null || exit 0; sleep 0.1; done; exit 1"},
                  {.deadline_s = 60});
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left->exit_code, 0) << "programs are left";
}

}  // namespace
}  // namespace warpmark::apps
