// Time by the ranges that a program names.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "support/analyzed.h"

namespace warpmark::analyze {
namespace {

using testing_support::table_of;
using testing_support::TimelineScene;

TEST(RangeTable, tells_time_launches_and_idle_of_nested_ranges) {
  const Analysis analysis = testing_support::of(testing_support::stepped(6, [](TimelineScene& scene) {
    scene.within("forward", EventKind::annotation, [&] {
      scene.launch("first", 100'000);
      scene.within("block 3", EventKind::annotation, [&] { scene.launch("second", 50'000); });
    });
    scene.within("loss", EventKind::annotation, [&] { scene.synchronize(); });
  }));
  const AnalysisTable* table = table_of(analysis, "ranges");
  ASSERT_NE(table, nullptr);
  std::map<std::string, const std::vector<TableValue>*> rows;
  for (const auto& row : table->rows) rows[std::get<std::string>(row[0])] = &row;
  ASSERT_TRUE(rows.contains("forward"));
  ASSERT_TRUE(rows.contains("  block #")) << "ranges that differ by their numbers are one, below what holds them";
  const auto value = [&](const char* name, std::size_t column) { return std::get<double>((*rows[name])[column]); };
  EXPECT_NEAR(value("forward", 2), 1, 0.01) << "calls";
  EXPECT_NEAR(value("forward", 4), 150e-6, 1e-6) << "GPU time, with what is nested";
  EXPECT_NEAR(value("  block #", 4), 50e-6, 1e-6);
  EXPECT_NEAR(value("forward", 6), 2, 0.01) << "launches";
  EXPECT_GT(value("forward", 5), 0) << "the GPU waits for the first launch after each wait";
}

TEST(RangeTable, says_that_there_are_none) {
  const Analysis analysis = testing_support::of(
      testing_support::stepped(6, [](TimelineScene& scene) { scene.launch("some_kernel", 100'000); }));
  const AnalysisTable* table = table_of(analysis, "ranges");
  ASSERT_NE(table, nullptr);
  EXPECT_TRUE(table->rows.empty());
  EXPECT_NE(table->note.find("no ranges"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::analyze
