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

TEST(MemoryTable, is_left_out_where_nothing_was_recorded) {
  const Analysis analysis = testing_support::of(
      testing_support::stepped(6, [](TimelineScene& scene) { scene.launch("some_kernel", 100'000); }));
  EXPECT_EQ(table_of(analysis, "gpu_memory"), nullptr);
  EXPECT_EQ(table_of(analysis, kMemoryCurveTable), nullptr);
}

}  // namespace
}  // namespace warpmark::analyze
