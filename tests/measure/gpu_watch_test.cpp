// Figures of a program's GPUs, from GPUs that are played.
#include "measure/gpu_watch.h"

#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <thread>

#include "base/clock.h"
#include "model/auxiliary.h"

namespace warpmark::measure {
namespace {

using device::nvml::GpuActivity;

constexpr std::int64_t kGiB = 1LL << 30;

/// Two GPUs; what they tell depends on how often they were asked.
struct PlayedGpus {
  std::atomic<int> polls{0};      ///< at GPU a
  double energy[2] = {1000, 50};  ///< by index
  std::function<GpuActivity(const std::string& uuid, int probe)> notify;

  GpuProbe probe() {
    return {
        .list =
            [] {
              return std::vector<std::string>{"a", "b"};
            },
        .activity = [this](const std::string& uuid) -> Result<GpuActivity> {
          return notify(uuid, uuid == "a" ? polls++ : polls.load());
        },
        .energy_j = [this](const std::string& uuid) -> std::optional<double> { return energy[uuid == "a" ? 0 : 1]; }};
  }
  void wait_for(int count) const {
    for (int i = 0; i < 5000 && polls < count; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
};

GpuActivity idle() { return {.utilization = 0, .memory_used_bytes = kGiB, .sm_clock_hz = 210e6, .power_w = 70}; }

TEST(GpuWatch, looks_at_visible_gpus_only) {
  const std::vector<std::string> all{"GPU-aa1", "GPU-bb2", "GPU-cc3"};
  using Names = std::vector<std::string>;
  EXPECT_EQ(visible_gpus(all, "2, 0"), (Names{"GPU-cc3", "GPU-aa1"}));
  EXPECT_EQ(visible_gpus(all, "GPU-bb"), (Names{"GPU-bb2"}));
  EXPECT_EQ(visible_gpus(all, "1,7,0"), (Names{"GPU-bb2"}));
  EXPECT_EQ(visible_gpus(all, ""), Names{});
  EXPECT_EQ(visible_gpus(all, "-1"), Names{});
}

TEST(GpuWatch, tells_what_the_gpus_did_that_the_program_used) {
  PlayedGpus gpus;
  gpus.notify = [](const std::string& uuid, int probe) {
    GpuActivity now = idle();
    if (uuid == "b" || probe == 0) return now;
    now.utilization = 0.8;
    now.memory_used_bytes = (probe == 2 ? 9 : 5) * kGiB;
    now.sm_clock_hz = 1.7e9;
    now.processes = {{.id = 77, .memory_bytes = 4 * kGiB}};
    return now;
  };
  GpuWatch watch(gpus.probe(), 0.002);
  ASSERT_TRUE(watch.available());
  watch.begin();
  gpus.wait_for(5);
  gpus.energy[0] += 600;
  gpus.energy[1] += 7;
  const GpuUse use = watch.end(2.0);
  EXPECT_EQ(use.gpus, 1) << "the idle one is nobody's";
  EXPECT_GE(use.polls, 3);
  EXPECT_DOUBLE_EQ(use.utilization.value_or(-1), 0.8);
  EXPECT_DOUBLE_EQ(use.peak_memory.value_or(-1), 8.0 * kGiB) << "above what was there before";
  EXPECT_DOUBLE_EQ(use.energy_j.value_or(-1), 600);
  EXPECT_DOUBLE_EQ(use.power_w.value_or(-1), 300);
  EXPECT_DOUBLE_EQ(use.clock_hz.value_or(-1), 1.7e9);
  std::vector<std::string> ids;
  for (const auto& metric : metrics_of(use)) ids.push_back(metric.id);
  EXPECT_THAT(ids, testing::ElementsAre(kGpuUtilization, kGpuPeakMemory, kGpuEnergy, kGpuPower, kGpuClock));
}

TEST(GpuWatch, leaves_alone_what_others_use) {
  PlayedGpus gpus;
  gpus.notify = [](const std::string&, int) {
    GpuActivity now = idle();
    now.utilization = 1.0;
    now.processes = {{.id = 5, .memory_bytes = kGiB}};  // there before, and all the time
    return now;
  };
  GpuWatch watch(gpus.probe(), 0.002);
  watch.begin();
  gpus.wait_for(4);
  const GpuUse use = watch.end(1.0);
  EXPECT_EQ(use.gpus, 0);
  EXPECT_TRUE(metrics_of(use).empty());
}

TEST(GpuWatch, knows_a_use_by_its_memory_where_processes_are_not_told) {
  PlayedGpus gpus;
  gpus.notify = [](const std::string& uuid, int probe) {
    GpuActivity now = idle();
    if (uuid == "a" && probe > 0) now.memory_used_bytes = *now.memory_used_bytes + 400'000'000;
    return now;
  };
  GpuWatch watch(gpus.probe(), 0.002);
  watch.begin();
  gpus.wait_for(3);
  EXPECT_EQ(watch.end(1.0).gpus, 1);
}

TEST(GpuWatch, gives_power_by_looks_where_there_is_no_energy_counter) {
  PlayedGpus gpus;
  gpus.notify = [](const std::string& uuid, int probe) {
    GpuActivity now = idle();
    if (uuid == "a" && probe > 0) now.processes = {{.id = 9, .memory_bytes = std::nullopt}};
    return now;
  };
  GpuProbe probe = gpus.probe();
  probe.energy_j = [](const std::string&) { return std::optional<double>(); };
  GpuWatch watch(std::move(probe), 0.002);
  watch.begin();
  gpus.wait_for(4);
  const GpuUse use = watch.end(1.0);
  EXPECT_FALSE(use.energy_j);
  EXPECT_DOUBLE_EQ(use.power_w.value_or(-1), 70);
  EXPECT_FALSE(use.clock_hz) << "no kernel ran at any look";
}

TEST(GpuWatch, tells_a_part_of_the_time_by_the_looks_in_it) {
  PlayedGpus gpus;
  const auto now_s = [] { return static_cast<double>(monotonic_ns()) * 1e-9; };
  const double began_s = now_s();
  gpus.notify = [](const std::string& uuid, int probe) {
    GpuActivity now = idle();
    if (uuid == "b" || probe == 0) return now;
    now.utilization = 0.75;
    now.memory_used_bytes = 5 * kGiB;
    now.processes = {{.id = 77, .memory_bytes = 4 * kGiB}};
    return now;
  };
  auto probe = gpus.probe();
  probe.energy_j = [&](const std::string&) -> std::optional<double> { return 1000 + 100 * (now_s() - began_s); };
  GpuWatch watch(probe, 0.01, true);
  watch.begin();
  const double from_s = now_s();
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  const double to_s = now_s() - 0.05;
  EXPECT_EQ(watch.end(1).gpus, 1);
  const auto part = watch.within(from_s, to_s);
  ASSERT_TRUE(part.energy_j);
  EXPECT_NEAR(*part.energy_j, 100 * (to_s - from_s), 1e-3) << "the other GPU was not used";
  ASSERT_TRUE(part.utilization);
  EXPECT_NEAR(*part.utilization, 0.75, 1e-12);
  EXPECT_FALSE(watch.within(from_s - 10, to_s).energy_j) << "no look was there";
  EXPECT_FALSE(watch.within(to_s + 10, to_s + 11).utilization);
}

TEST(GpuWatch, does_nothing_without_gpus) {
  GpuWatch watch({.list = [] { return std::vector<std::string>(); }, .activity = {}, .energy_j = {}});
  EXPECT_FALSE(watch.available());
  watch.begin();
  EXPECT_EQ(watch.end(1.0).gpus, 0);
}

}  // namespace
}  // namespace warpmark::measure
