// Columns of nvidia-smi and dcgmi that tell of errors and of the link, and those that a GPU does not report.
#include <gmock/gmock.h>

#include <algorithm>

#include "profile/trace_text.h"

namespace warpmark::profile {
namespace {

using test::read_text;

const CounterSeries* series(const ProfileSession& session, const std::string& id, int device) {
  const auto found = std::ranges::find_if(
      session.counters, [&](const CounterSeries& one) { return one.id == id && one.device == device; });
  return found == session.counters.end() ? nullptr : &*found;
}

TEST(NvidiaSmiDmon, leaves_out_what_the_gpu_does_not_report) {
  const auto session =
      read_text("# gpu    pwr  gtemp     sm\n# Idx      W      C      %\n    0     25      -      -\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->counters.size(), 1U);
  EXPECT_EQ(session->counters[0].id, "power");
  EXPECT_EQ(std::ranges::find(session->quality, "no_values", &DataQualityIssue::id)->count, 2);
  EXPECT_FALSE(read_text("# gpu    pwr\n# Idx      W\n    0      -\n").ok());
}

TEST(DcgmDmon, reads_errors_and_the_link) {
  const auto session = read_text(
      "#Entity   EDVTL   XIDER   RRP   PCILG   PCIMG   XYZ\nID\nGPU 0     3       48      1     1       4       7\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  for (const auto& [id, value] :
       {std::pair{"ecc_uncorrected", 3.0}, std::pair{"xid", 48.0}, std::pair{"remapped_rows_pending", 1.0},
        std::pair{"pcie_link_generation", 1.0}, std::pair{"pcie_link_generation_max", 4.0}}) {
    ASSERT_NE(series(*session, id, 0), nullptr) << id;
    EXPECT_EQ(series(*session, id, 0)->values[0], value) << id;
  }
  EXPECT_EQ(std::ranges::find(session->quality, "unknown_column", &DataQualityIssue::id)->example, "xyz");
}

TEST(NvidiaSmiQuery, reads_errors_and_the_link) {
  const auto session = read_text(
      "timestamp, index, ecc.errors.uncorrected.volatile.total, ecc.errors.corrected.volatile.total, "
      "retired_pages.pending, remapped_rows.pending, remapped_rows.failure, pcie.link.gen.current, pcie.link.gen.max, "
      "pcie.link.width.current, pcie.link.width.max\n"
      "2026/04/23 11:23:24.000, 0, 3, 120, [N/A], Yes, No, 1, 4, 4, 16\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  for (const auto& [id, value] : {std::pair{"ecc_uncorrected", 3.0}, std::pair{"ecc_corrected", 120.0},
                                  std::pair{"remapped_rows_pending", 1.0}, std::pair{"remapped_rows_failure", 0.0},
                                  std::pair{"pcie_link_generation", 1.0}, std::pair{"pcie_link_generation_max", 4.0},
                                  std::pair{"pcie_link_width", 4.0}, std::pair{"pcie_link_width_max", 16.0}}) {
    EXPECT_THAT(series(*session, id, 0)->values, testing::ElementsAre(value)) << id;
  }
}

}  // namespace
}  // namespace warpmark::profile
