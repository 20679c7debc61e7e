// GPU memory over time, from allocations and from what an allocator tells of itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/analyzed.h"

namespace warpmark::analyze {
namespace {

using testing_support::table_of;
using testing_support::TimelineScene;

double number(const TableValue& value) { return std::get<double>(value); }

/// Each step holds 1 MB more for its forward pass, and 3 MB for a moment.
Timeline allocating(int steps) {
  return testing_support::stepped(steps, [](TimelineScene& scene) {
    const auto allocate = [&](std::int64_t bytes) {
      scene.add({EventKind::allocation, scene.now(), 0, "[memory]", TimelineScene::kHost, 0, bytes, 1});
      scene.idle_host(1'000);
    };
    scene.within("aten::mm", EventKind::op, [&] {
      allocate(1'000'000);
      scene.launch("gemm", 100'000);
    });
    scene.within("aten::mul", EventKind::op, [&] {
      allocate(3'000'000);
      allocate(-3'000'000);
      scene.launch("mul", 50'000);
    });
    allocate(-1'000'000);
    scene.synchronize();
  });
}

TEST(MemoryTable, adds_up_what_was_allocated_and_names_the_operators) {
  const Analysis analysis = testing_support::of(allocating(6));
  const AnalysisTable* memory = table_of(analysis, "gpu_memory");
  ASSERT_NE(memory, nullptr);
  ASSERT_EQ(memory->rows.size(), 1U);
  EXPECT_EQ(number(memory->rows[0][3]), 4e6) << "peak";
  EXPECT_EQ(std::get<std::string>(memory->rows[0][5]), "") << "nobody said what was reserved";
  EXPECT_NEAR(number(memory->rows[0][7]), 4e6 / 80e9, 1e-12) << "share of the GPU";
  const AnalysisTable* operators = table_of(analysis, "operator_memory");
  ASSERT_NE(operators, nullptr);
  ASSERT_EQ(operators->rows.size(), 3U);
  EXPECT_EQ(std::get<std::string>(operators->rows[0][0]), "aten::mul") << "what moves most comes first";
  EXPECT_NEAR(number(operators->rows[0][2]), 3e6, 1);
  EXPECT_NEAR(number(operators->rows[0][4]), 0, 1) << "it keeps nothing";
  EXPECT_NEAR(number(operators->rows[1][4]), 1e6, 1) << "aten::mm keeps its result";
  const AnalysisTable* curve = table_of(analysis, kMemoryCurveTable);
  ASSERT_NE(curve, nullptr);
  double most = 0;
  for (const auto& row : curve->rows) most = std::max(most, number(row[1]));
  EXPECT_EQ(most, 4e6) << "peaks survive the thinning";
}

/// The allocator told its totals: 100 steps in which it holds `reserved` of the GPU's 80 GB and gives some back.
Timeline holding(double reserved, double allocated, bool gives_back) {
  Timeline timeline = allocating(6);
  CounterSeries held{"memory_reserved", "B", 0, {}, {}}, used{"memory_allocated", "B", 0, {}, {}};
  const std::int64_t first = timeline.events.start[0];
  for (int i = 0; i < 6; ++i) {
    held.times.push_back(first + i * 200'000);
    held.values.push_back(gives_back && i % 2 == 1 ? reserved / 2 : reserved);
  }
  used.times.push_back(first);
  used.values.push_back(allocated);
  timeline.counters = {held, used};
  return timeline;
}

TEST(GpuMemoryRule, tells_of_memory_that_is_given_back_though_much_of_it_is_not_in_use) {
  const Analysis analysis = testing_support::of(holding(40e9, 10e9, true));
  const Finding* finding = testing_support::find(analysis, "gpu_memory");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->title.find("reserved and not in use"), std::string::npos) << finding->title;
  EXPECT_LE(finding->severity, 0.3) << "a note";
  ASSERT_FALSE(finding->recommendations.empty());
  EXPECT_NE(finding->recommendations.front().snippet.find("expandable_segments"), std::string::npos);
  const Analysis kept = testing_support::of(holding(40e9, 10e9, false));
  EXPECT_EQ(testing_support::find(kept, "gpu_memory"), nullptr) << "a cache that is kept is what a cache is for";
  const Analysis used = testing_support::of(holding(40e9, 36e9, true));
  EXPECT_EQ(testing_support::find(used, "gpu_memory"), nullptr) << "a tenth is left over";
}

TEST(GpuMemoryRule, tells_of_memory_that_is_nearly_full) {
  const Analysis analysis = testing_support::of(holding(77e9, 76e9, false));
  const Finding* finding = testing_support::find(analysis, "gpu_memory");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->title.find("nearly full"), std::string::npos) << finding->title;
}

TEST(MemoryTable, is_left_out_where_nothing_was_recorded) {
  const Analysis analysis = testing_support::of(
      testing_support::stepped(6, [](TimelineScene& scene) { scene.launch("some_kernel", 100'000); }));
  EXPECT_EQ(table_of(analysis, "gpu_memory"), nullptr);
  EXPECT_EQ(table_of(analysis, kMemoryCurveTable), nullptr);
}

}  // namespace
}  // namespace warpmark::analyze
