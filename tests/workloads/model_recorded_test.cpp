// Workers on a GPU of the imagination, whose recordings agree with what they say, or do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workloads/fake_model.h"

namespace warpmark::workloads {
namespace {

using testing::HasSubstr;

std::string note_of(const warpmark::Run& run, const std::string& key) {
  for (const auto& [name, text] : run.notes) {
    if (name == key) return text;
  }
  return "";
}

/// Any file: the worker of these tests writes the recording itself.
class FakeModelOnGpu : public FakeModel {
 protected:
  void SetUp() override {
    FakeModel::SetUp();
    setenv("WARPMARK_INJECT_LIBRARY", "/proc/self/exe", 1);
  }
  void TearDown() override {
    unsetenv("WARPMARK_INJECT_LIBRARY");
    FakeModel::TearDown();
  }
};

TEST_F(FakeModelOnGpu, agrees_with_the_recorder) {
  const auto run = on_gpu("nothing");
  EXPECT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
  EXPECT_THAT(run.reason, testing::Not(HasSubstr("recorder")));
  EXPECT_THAT(note_of(run, "cross-check"), HasSubstr("recorder: 7 steps, 3.0 launches each, kernels for 9 ms"));
  EXPECT_TRUE(is_gone());
}

TEST_F(FakeModelOnGpu, that_the_recorder_contradicts_is_unreliable) {
  const std::pair<const char*, const char*> lies[] = {{"skips", "no multiple of 7"},
                                                      {"idle", "no kernel"},
                                                      {"twice", "at least 14 times"},
                                                      {"unsynchronized", "the GPU work for"},
                                                      {"busy", "the kernels of a step take"}};
  for (const auto& [lie, reason] : lies) {
    const auto run = on_gpu(lie);
    EXPECT_EQ(run.outcome, Outcome::unreliable) << lie;
    EXPECT_THAT(run.reason, HasSubstr(reason)) << lie;
    EXPECT_TRUE(is_gone()) << lie;
  }
}

/// A driver whose counters move with each look: memory rises and falls, energy rises by 30 J a look.
TEST_F(FakeModelOnGpu, has_the_peak_of_its_memory_and_the_energy_of_its_samples) {
  warpmark::test::FakeDevice device;
  device.device_info.id = "cuda:0";
  device.device_info.backend = "cuda";
  device.device_info.memory_bytes = 10'000'000'000;
  device.conditions_at = [](std::size_t n) {
    const double used = n < 2 ? 1e9 : n < 4 ? 9e9 : 5e9;
    return device::Conditions{.sensors = {{"memory_used", "B", used},
                                          {"energy", "J", 30.0 * static_cast<double>(n)},
                                          {"utilization", "ratio", 0.75}},
                              .throttle_reasons = {},
                              .other_processes = {}};
  };
  const auto run = measure_on(device, {{"python", liar("nothing")}, {"peak", "no"}});
  ASSERT_NE(metric(run, "memory.device"), nullptr) << run.reason;
  EXPECT_EQ(metric(run, "memory.baseline")->samples.front(), 1e9);
  EXPECT_EQ(metric(run, "memory.device")->samples.front(), 9e9) << "of looks while nothing was timed";
  EXPECT_EQ(metric(run, "memory.final")->samples.front(), 5e9);
  EXPECT_DOUBLE_EQ(metric(run, "memory.utilization")->samples.front(), 0.9);
  EXPECT_EQ(metric(run, "gpu_utilization")->samples.front(), 0.75);
  // Two looks after one another: nobody looks while steps are timed.
  const auto steps =
      static_cast<double>(run.timing.launches_per_sample) * static_cast<double>(metric(run, "time")->samples.size());
  EXPECT_DOUBLE_EQ(metric(run, "energy")->samples.front(), 30 / steps);
  EXPECT_DOUBLE_EQ(metric(run, "samples_energy")->samples.front(), 30 / steps / 8);
  EXPECT_DOUBLE_EQ(metric(run, "tokens_energy")->samples.front(), 8 * 32 * steps / 30);
}

TEST_F(FakeModelOnGpu, that_cannot_be_recorded_says_who_its_cross_check_is) {
  const auto run = on_gpu("deaf");
  EXPECT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
  EXPECT_THAT(note_of(run, "cross-check"), HasSubstr("alone: no CUPTI"));
  setenv("WARPMARK_INJECT_LIBRARY", "/no/such/library", 1);
  EXPECT_THAT(note_of(on_gpu("nothing"), "cross-check"), HasSubstr("/no/such/library"));
}

}  // namespace
}  // namespace warpmark::workloads
