// Time by the ranges that a program names.
#include <gtest/gtest.h>

#include <iterator>
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

/// PyTorch marks its optimizer, its backward pass and its loader by itself.
TEST(PhaseTable, tells_the_phases_of_pytorch_without_ranges_of_the_users) {
  const Analysis analysis = testing_support::of(testing_support::stepped(6, [](TimelineScene& scene) {
    scene.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 3'000'000, EventKind::op);
    scene.copy(CopyKind::host_to_device, HostMemory::pinned, 10 << 20, 300'000, false);
    for (int i = 0; i < 3; ++i) {
      scene.within("aten::addmm", EventKind::op, [&] { scene.launch(testing_support::kTensorGemm, 100'000); });
    }
    for (int i = 0; i < 2; ++i) {
      scene.within("autograd::engine::evaluate_function: AddmmBackward0", EventKind::op,
                   [&] { scene.launch(testing_support::kTensorGemm, 200'000); });
    }
    scene.launch(testing_support::kAllReduce, 80'000);
    scene.within("Optimizer.step#AdamW.step", EventKind::annotation, [&] {
      scene.within("aten::_foreach_add_", EventKind::op, [&] { scene.launch("multi_tensor_apply_kernel", 50'000); });
    });
  }));
  const AnalysisTable* table = table_of(analysis, "phases");
  ASSERT_NE(table, nullptr);
  struct Phase {
    const char* name;
    double gpu_time, launches;
  };
  const Phase expected[] = {{"data", 300e-6, 1},
                            {"forward", 300e-6, 3},
                            {"backward", 400e-6, 2},
                            {"all-reduce", 80e-6, 1},
                            {"optimizer", 50e-6, 1}};
  ASSERT_EQ(table->rows.size(), std::size(expected)) << table->note;
  double shares = 0;
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    const auto& row = table->rows[i];
    EXPECT_EQ(std::get<std::string>(row[0]), expected[i].name);
    EXPECT_NEAR(std::get<double>(row[1]), expected[i].gpu_time, 1e-6) << expected[i].name;
    EXPECT_NEAR(std::get<double>(row[3]), expected[i].launches, 0.01) << expected[i].name;
    shares += std::get<double>(row[4]);
  }
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_GT(std::get<double>(table->rows[0][2]), 1e-3) << "the first copy of a step waits for the loader";
  EXPECT_LT(std::get<double>(table->rows[1][2]), 1e-4) << "and nothing behind it";
}

TEST(PhaseTable, says_where_nothing_tells_them) {
  const Analysis analysis = testing_support::of(
      testing_support::iterated(6, [](TimelineScene& scene) { scene.launch("some_kernel", 100'000); }));
  const AnalysisTable* table = table_of(analysis, "phases");
  ASSERT_NE(table, nullptr);
  EXPECT_TRUE(table->rows.empty());
  EXPECT_NE(table->note.find("no backward pass"), std::string::npos) << table->note;
}

}  // namespace
}  // namespace warpmark::analyze
