// `warpmark profile` from the command line to the analysis, on a GPU that a mock of CUPTI plays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "profile/collectors/program.h"
#include "profile/read_session.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

const std::string kFolder = WARPMARK_BINARY_DIR;
const std::string kProgram = kFolder + "/mock_cupti/mock_program";

class ProfileCli : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    if (!std::filesystem::exists(kProgram)) GTEST_SKIP() << "the recorder is built where CUPTI's headers are";
    setenv("WARPMARK_CUPTI", (kFolder + "/mock_cupti/libmock_cupti.so").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("WARPMARK_CUPTI");
    Cli::TearDown();
  }
};

std::string fact_of(const Timeline& timeline, const std::string& key) {
  for (const auto& [name, value] : timeline.metadata) {
    if (name == key) return value;
  }
  return {};
}

TEST_F(ProfileCli, records_a_program_and_hands_on_its_exit_code) {
  const auto output =
      warpmark({"profile", "--delay", "200ms", "--duration", "1s", "--out", path("p.wmrec"), "--", kProgram, "4"});
  EXPECT_EQ(output.exit_code, 3) << output.err;
  EXPECT_THAT(output.err, HasSubstr("slower while recorded"));
  EXPECT_FALSE(std::filesystem::exists(path("p.wmrec.parts")));
  const auto session = profile::read_session(std::vector<std::filesystem::path>{path("p.wmrec")});
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->ranks.size(), 1U);
  const Timeline& timeline = session->ranks[0];
  EXPECT_EQ(fact_of(timeline, "dropped_records"), "0");
  EXPECT_FALSE(fact_of(timeline, "inflation").empty());
  std::size_t kernels = 0, launches = 0, waits = 0, joined = 0;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    kernels += timeline.events.kind[i] == EventKind::kernel ? 1U : 0U;
    launches += timeline.name_of(i) == "cudaLaunchKernel" ? 1U : 0U;
    waits += timeline.name_of(i) == "cudaDeviceSynchronize" ? 1U : 0U;
    joined += timeline.events.correlation[i] != 0 ? 1U : 0U;
  }
  EXPECT_GT(kernels, 100U);
  EXPECT_NEAR(static_cast<double>(launches), static_cast<double>(kernels), 0.05 * static_cast<double>(kernels));
  EXPECT_GT(waits, kernels / 10);
  EXPECT_EQ(joined, kernels + launches + waits);
  EXPECT_FALSE(session->counters.empty()) << "the host's load is sampled beside it";
  const auto analysis = warpmark({"analyze", path("p.wmrec"), "--json", path("a.json")});
  EXPECT_EQ(analysis.exit_code, 0) << analysis.err;
  const auto json = parse_json(*read_file(path("a.json")), "a.json");
  ASSERT_TRUE(json.ok());
  EXPECT_GT((*json)["session"]["steps"].get<int>(), 100);
}

TEST_F(ProfileCli, records_all_of_a_short_program_when_told_to) {
  const auto output =
      warpmark({"profile", "--delay", "0s", "--duration", "0s", "--out", path("p.wmrec"), "--", kProgram, "0.5"});
  EXPECT_EQ(output.exit_code, 3) << output.err;
  const auto session = profile::read_session(std::vector<std::filesystem::path>{path("p.wmrec")});
  ASSERT_TRUE(session.ok());
  ASSERT_EQ(session->ranks.size(), 1U);
  EXPECT_GT(session->ranks[0].events.size(), 500U);
}

TEST_F(ProfileCli, says_that_the_program_ended_before_the_recording_began) {
  const auto output = warpmark({"profile", "--delay", "30s", "--out", path("p.wmrec"), "--", kProgram, "0.2"});
  EXPECT_EQ(output.exit_code, 5);
  EXPECT_THAT(output.err, HasSubstr("--delay 0s"));
}

TEST_F(ProfileCli, keeps_what_a_killed_program_had_done) {
  auto warpmark_run =
      profile::Program::start({kExecutable, "profile", "--delay", "0s", "--duration", "0s", "--out", path("p.wmrec"),
                               "--", "bash", "-c", kProgram + " 30 & sleep 2.5; kill -9 $!; wait $!"},
                              {});
  ASSERT_TRUE(warpmark_run.ok());
  std::optional<int> code;
  for (int i = 0; i < 200 && !code; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    code = warpmark_run->poll();
  }
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(*code, 137);
  const auto session = profile::read_session(std::vector<std::filesystem::path>{path("p.wmrec")});
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->ranks.size(), 1U);
  EXPECT_GT(session->ranks[0].events.size(), 1000U);
}

TEST_F(ProfileCli, names_what_is_missing) {
  const auto none = warpmark({"profile", "--out", path("p.wmrec"), "--", "true"});
  EXPECT_EQ(none.exit_code, 5);
  EXPECT_THAT(none.err, HasSubstr("the program made no CUDA call"));
  const auto command = warpmark({"profile", "--out", path("p.wmrec"), "--", "/nonexistent/program"});
  EXPECT_EQ(command.exit_code, 5);
  EXPECT_THAT(command.err, HasSubstr("/nonexistent/program"));
  EXPECT_EQ(warpmark({"profile"}).exit_code, 2);
}

}  // namespace
}  // namespace warpmark::apps
