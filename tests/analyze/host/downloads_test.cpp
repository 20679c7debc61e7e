// What the host computes on data that it copied from the GPU goes with the copy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::expect_gain;
using testing_support::find;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::stepped;
using testing_support::TimelineScene;

void copy_back(TimelineScene& scene, std::int64_t bytes, std::int64_t ns) {
  scene.within("aten::copy_", EventKind::op,
               [&] { scene.copy(CopyKind::device_to_host, HostMemory::pageable, bytes, ns, true); });
}

void compute_on_host(TimelineScene& scene, std::int64_t ns) {
  scene.within("aten::sum", EventKind::op, [&] { scene.idle_host(ns); });
}

TEST(Downloads, of_values_alone_move_no_data) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
    copy_back(scene, 2048, 2'000);
    compute_on_host(scene, 3'000'000);
  }));
  const Finding* transfer = find(analysis, "host_transfer");
  EXPECT_TRUE(transfer == nullptr || transfer->severity < 0.1);
}

}  // namespace
}  // namespace warpmark::analyze
