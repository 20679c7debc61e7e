#include "measure/sampling.h"

#include <gtest/gtest.h>

#include "support/fake_device.h"

namespace warpmark::measure {
namespace {

class NoWork final : public device::Launchable {
 public:
  Status launch(device::Stream, std::size_t) override { return {}; }
};

TEST(Settling, compares_the_medians_of_the_last_two_windows) {
  EXPECT_FALSE(settling({9, 9, 9}, 2, 0.01).settled);  // too few
  EXPECT_TRUE(settling({9, 9, 1, 1, 1, 1}, 2, 0.01).settled);
  const auto moving = settling({1, 1, 2, 2}, 2, 0.01);
  EXPECT_FALSE(moving.settled);
  EXPECT_DOUBLE_EQ(moving.moved, 1.0);
}

TEST(WarmUp, goes_on_until_the_times_settle) {
  test::FakeDevice device;
  int launch = 0;
  device.seconds_per_launch = [&](std::size_t) { return 1e-4 * (1 + 5.0 / (1 + launch++)); };
  NoWork work;
  auto sequence = device.sequence(work, {.mode = Mode::hot});
  const auto result = warm_up(device, **sequence, 1, {.cap_s = 100, .tolerance = 0.01});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->warmup.settled);
  EXPECT_GE(result->warmup.launches, 64);
  EXPECT_NEAR(result->seconds_per_launch, 1e-4, 2e-5);
}

TEST(WarmUp, is_capped_and_says_so) {
  test::FakeDevice device;
  double seconds = 1e-4;
  device.seconds_per_launch = [&](std::size_t) { return seconds *= 1.01; };
  NoWork work;
  auto sequence = device.sequence(work, {.mode = Mode::hot});
  const auto result = warm_up(device, **sequence, 1, {.cap_s = 100, .tolerance = 0.01, .most_launches = 200});
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->warmup.settled);
  EXPECT_NE(result->warmup.reason.find("cap"), std::string::npos);
}

TEST(WarmUp, waits_for_a_gpu_clock_that_still_rises) {
  test::FakeDevice device;
  device.device_info.backend = "cuda";
  device.conditions_at = [](std::size_t n) {
    return device::Conditions{{{"sm_clock", "Hz", n < 5 ? 1e8 * static_cast<double>(n + 1) : 5e8}}, {}, {}};
  };
  NoWork work;
  auto sequence = device.sequence(work, {.mode = Mode::hot});
  const auto result = warm_up(device, **sequence, 1, {.cap_s = 100});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->warmup.settled);
  EXPECT_GE(device.log().conditions_read, 6U);
}

}  // namespace
}  // namespace warpmark::measure
