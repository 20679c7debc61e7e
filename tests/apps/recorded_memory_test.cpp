// GPU memory of a trace that PyTorch recorded, against what stands in the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "analyze/analyze.h"
#include "profile/read_session.h"

namespace warpmark::apps {
namespace {

double number(const TableValue& value) { return std::get<double>(value); }

TEST(RecordedMemory, tells_what_the_allocator_of_pytorch_told) {
  const std::vector<std::filesystem::path> files{WARPMARK_SOURCE_DIR
                                                 "/tests/data/traces/llama_empties_cache_per_layer.pt.trace.json.zst"};
  const auto session = profile::read_session(files);
  ASSERT_TRUE(session.ok()) << session.error().what;
  const Analysis analysis = analyze::analyze(*session);
  const auto memory = std::ranges::find(analysis.tables, "gpu_memory", &AnalysisTable::id);
  ASSERT_NE(memory, analysis.tables.end());
  // The least and most of "Total Allocated" and "Total Reserved" in the file, and the most of their difference.
  const auto& row = memory->rows.at(0);
  constexpr double kGiB = 1 << 30;
  EXPECT_NEAR(number(row[2]) / kGiB, 5.0318803787231445, 1e-9) << "at first";
  EXPECT_NEAR(number(row[3]) / kGiB, 6.041723251342773, 1e-9) << "peak";
  EXPECT_NEAR(number(row[5]) / kGiB, 6.19921875, 1e-9) << "reserved";
  EXPECT_NEAR(number(row[6]) / kGiB, 1.7338132858276367, 1e-9) << "reserved and not allocated";
}

}  // namespace
}  // namespace warpmark::apps
