// Recordings with sampled stacks: a thread that is blocked waits for a loader where the samples say so, or where the
// next work of the GPU is an upload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using ::testing::StartsWith;
using testing_support::of;
using testing_support::TimelineScene;

constexpr std::int64_t kBlocked = 8'000'000;
constexpr const char* kLoader =
    "/usr/lib/python3/site-packages/torch/utils/data/dataloader.py:1310 _MultiProcessingDataLoaderIter._try_get_data";
constexpr const char* kOther = "/home/user/train.py:100 train";

constexpr const char* kRestart =
    "/usr/lib/python3/site-packages/torch/utils/data/dataloader.py:433 DataLoader._get_iterator";

/// Steps of kernels, then a blocked thread, in which the sampler saw `frame`, and workers being started for
/// `restart_ns`; then an upload, or more kernels.
Timeline blocked_in(const char* frame, bool uploads, std::int64_t restart_ns = 0) {
  TimelineScene scene;
  scene.timeline().tracks.push_back({TrackKind::other, 1, 1, -1, "Python stack"});
  scene.add({EventKind::python, 0, 1'000, kLoader, 1});  // of some other step
  for (int step = 0; step < 8; ++step) {
    for (int i = 0; i < 20; ++i) scene.launch("kernel_" + std::to_string(i), 100'000);
    scene.synchronize();
    const std::int64_t start = scene.now();
    scene.add({EventKind::os_call, start, kBlocked, "blocked"});
    scene.add({EventKind::python, start + kBlocked / 3, kBlocked, frame, 1});
    if (restart_ns > 0) scene.add({EventKind::python, start + kBlocked / 2, restart_ns, kRestart, 1});
    scene.idle_host(kBlocked);
    if (uploads) scene.copy(CopyKind::host_to_device, HostMemory::pinned, 400'000, 10'000, false);
  }
  return scene.build();
}

std::string first_finding(const Analysis& analysis) {
  return analysis.findings.empty() ? "none" : analysis.findings.front().rule;
}

TEST(SampledLoading, a_blocked_thread_waits_for_the_loader_that_its_samples_show) {
  EXPECT_EQ(first_finding(of(blocked_in(kLoader, false))), "data_loading");
  EXPECT_EQ(first_finding(of(blocked_in(kOther, false))), "waiting_for_input");
}

TEST(SampledLoading, a_blocked_thread_that_uploads_next_waits_for_data_whatever_its_samples_show) {
  EXPECT_EQ(first_finding(of(blocked_in(kOther, true))), "data_loading");
}

std::string first_advice(const Analysis& analysis) {
  const Finding& finding = analysis.findings.front();
  return finding.rule + ": " + finding.recommendations.front().text;
}

TEST(SampledLoading, a_loader_that_has_workers_needs_more_of_them) {
  EXPECT_THAT(first_advice(of(blocked_in(kLoader, true))), StartsWith("data_loading: Use as many worker processes"));
  EXPECT_THAT(first_advice(of(blocked_in(kOther, true))), StartsWith("data_loading: Use as many worker processes"));
}

TEST(SampledLoading, workers_that_every_epoch_starts_should_be_kept) {
  constexpr const char* kFolder = "/usr/lib/python3/site-packages/torch/utils/data/dataloader.py";
  for (const char* frame :
       {":433 DataLoader._get_iterator", ":1673 _MultiProcessingDataLoaderIter._shutdown_workers"}) {
    EXPECT_THAT(first_advice(of(blocked_in((std::string(kFolder) + frame).c_str(), true))),
                StartsWith("data_loading: Keep the worker processes"));
  }
}

TEST(SampledLoading, workers_whose_start_is_a_small_part_of_the_wait_need_more_of_them_first) {
  const Analysis analysis = of(blocked_in(kLoader, true, kBlocked / 8));
  EXPECT_THAT(first_advice(analysis), StartsWith("data_loading: Use as many worker processes"));
  const auto& advice = analysis.findings.front().recommendations;
  ASSERT_GE(advice.size(), 2U);
  EXPECT_THAT(advice[1].text, StartsWith("Keep the worker processes"));
}

}  // namespace
}  // namespace warpmark::analyze
