// `warpmark scale --power-cap-sweep` on GPUs that an NVML without a GPU plays; whatever happens, limits come back.
#include <gmock/gmock.h>

#include <cstdlib>

#include "apps/cli_fixture.h"
#include "base/text.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

class PowerCapSweep : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    setenv("LD_LIBRARY_PATH", (std::string(WARPMARK_BINARY_DIR) + "/mock_nvml").c_str(), 1);
    std::filesystem::create_directories(folder_ / "power");
    setenv("WARPMARK_TEST_POWER", path("power").c_str(), 1);
    write("power/GPU-11111111", "650000\n");  // somebody has set it before
  }
  void TearDown() override {
    for (const char* name : {"LD_LIBRARY_PATH", "WARPMARK_TEST_POWER", "WARPMARK_TEST_POWER_FORBIDDEN"}) unsetenv(name);
    Cli::TearDown();
  }
  [[nodiscard]] std::string limit() const {
    return std::string(trim(read_file(path("power/GPU-11111111")).ok() ? *read_file(path("power/GPU-11111111")) : ""));
  }
  static std::vector<std::string> sweep(const std::vector<std::string>& more) {
    return with({"scale", "--gpus", "1", "--power-cap-sweep", "300W,50%,100%", "--rounds", "3", "--warmup", "0"}, more);
  }
};

TEST_F(PowerCapSweep, tells_what_each_cap_costs_and_puts_back_what_it_found) {
  // The program sees the cap that is set, and tells what it reaches under it; the played GPU draws its cap: 300 W for
  // 40 a second, 350 W for 90, 700 W for 100.
  const std::string program =
      "w=$(cat \"$WARPMARK_TEST_POWER/GPU-11111111\"); case $w in 300000) echo rate 40;; 350000) echo rate 90;; "
      "*) echo rate 100;; esac; sleep 0.05";
  const auto output =
      warpmark(sweep({"--json", path("p.json"), "--throughput", "rate ([0-9]+)", "--", "sh", "-c", program}));
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_EQ(limit(), "650000");
  const auto caps = json("p.json");
  EXPECT_EQ(testing_support::schema_errors(caps, "power_caps.schema.json"), "");
  ASSERT_EQ(caps["points"].size(), 3U);
  EXPECT_EQ(caps["found"], 650.0);
  EXPECT_EQ(caps["restored"], true);
  EXPECT_EQ(caps["points"][0]["cap"], 300.0);
  EXPECT_EQ(caps["points"][0]["throughput"].size(), 3U);
  EXPECT_NEAR(caps["points"][0]["speed"]["value"].get<double>(), 0.4, 1e-9);
  EXPECT_EQ(caps["points"][2]["speed"]["value"], 1.0);
  EXPECT_EQ(caps["most_efficient"], 350.0);
  EXPECT_GT(caps["points"][2]["energy_per_work"]["value"], caps["points"][1]["energy_per_work"]["value"]);
  // The energy is read a little before and after the program's own: more of it on a busy machine. Others have 7.
  EXPECT_NEAR(caps["points"][1]["energy_per_work"]["value"].get<double>(), 350.0 / 90, 1.5);
  EXPECT_THAT(output.out, HasSubstr("350 W does"));
  EXPECT_THAT(output.out, HasSubstr("more work for a joule than 700 W, at 90.0 % of its speed"));
  EXPECT_THAT(output.err, HasSubstr("stored as"));
}

TEST_F(PowerCapSweep, is_refused_before_anything_is_changed) {
  const auto high = warpmark({"scale", "--gpus", "1", "--power-cap-sweep", "300W,900W", "--", "true"});
  EXPECT_EQ(high.exit_code, 2);
  EXPECT_THAT(high.err, HasSubstr("between the 200 and 700 W"));
  EXPECT_EQ(warpmark({"scale", "--gpus", "1,2", "--power-cap-sweep", "300W,500W", "--", "true"}).exit_code, 2);
  EXPECT_EQ(warpmark({"scale", "--gpus", "3", "--power-cap-sweep", "300W,500W", "--", "true"}).exit_code, 2);
  setenv("WARPMARK_TEST_POWER_FORBIDDEN", "1", 1);
  const auto forbidden = warpmark(sweep({"--", "true"}));
  EXPECT_EQ(forbidden.exit_code, 5);
  EXPECT_THAT(forbidden.err, HasSubstr("only root may set it"));
  EXPECT_EQ(limit(), "650000");
}

TEST_F(PowerCapSweep, is_undone_when_the_command_fails_or_we_are_killed) {
  EXPECT_EQ(warpmark(sweep({"--no-store", "--", "false"})).exit_code, 2);
  EXPECT_EQ(limit(), "650000");
  const std::string now = "$(cat " + in_quotes(path("power/GPU-11111111")) + ")";
  const std::string script = in_quotes(kExecutable) +
                             " scale --gpus 1 --power-cap-sweep 300W,350W --no-store -- sleep 3 > /dev/null 2>&1 & "
                             "started=$!; for i in $(seq 100); do [ " +
                             now + " != 650000 ] && break; sleep 0.1; done; [ " + now +
                             " != 650000 ] || exit 1; kill -9 $started; for i in $(seq 100); do [ " + now +
                             " = 650000 ] && exit 0; sleep 0.1; done; exit 2";
  const auto output = run_process({"sh", "-c", script}, {.deadline_s = 60});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_code, 0) << "1: never set, 2: not put back";
}

}  // namespace
}  // namespace warpmark::apps
