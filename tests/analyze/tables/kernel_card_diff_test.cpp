// Two profiles of a kernel profiler, kernel by kernel.
#include <gtest/gtest.h>

#include "analyze/analyze.h"

namespace warpmark::analyze {
namespace {

KernelProfile profile_of(const std::string& name, double ns, double sm_percent) {
  KernelProfile kernel;
  kernel.name = name;
  kernel.metrics = {{"gpu__time_duration.sum", "ns", ns},
                    {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", sm_percent}};
  return kernel;
}

ProfileSession session_with(std::vector<KernelProfile> kernels) {
  ProfileSession session;
  session.kernels = std::move(kernels);
  return session;
}

TEST(KernelCardDiff, sets_the_longest_launch_of_each_kernel_against_the_earlier_one) {
  const auto before = session_with({profile_of("gemm", 2000, 40), profile_of("gemm", 1500, 90),
                                    profile_of("copy", 900, 10), profile_of("fill", 300, 5)});
  const auto after =
      session_with({profile_of("gemm", 1000, 80), profile_of("copy", 905, 10), profile_of("fused", 100, 50)});
  const auto tables = diff(before, after).tables;
  ASSERT_EQ(tables.size(), 1U) << "there is no timeline whose step could be compared";
  const auto& table = tables.front();
  EXPECT_EQ(table.id, "diff_kernel_cards");
  ASSERT_EQ(table.rows.size(), 4U);
  const auto text = [&](std::size_t row, std::size_t column) { return std::get<std::string>(table.rows[row][column]); };
  const auto number = [&](std::size_t row, std::size_t column) { return std::get<double>(table.rows[row][column]); };
  EXPECT_EQ(text(0, 0), "gemm");
  EXPECT_EQ(text(0, 1), "faster");
  EXPECT_DOUBLE_EQ(number(0, 2), 2000e-9);
  EXPECT_DOUBLE_EQ(number(0, 3), 1000e-9);
  EXPECT_DOUBLE_EQ(number(0, 4), 0.4);
  EXPECT_DOUBLE_EQ(number(0, 5), 0.8);
  EXPECT_EQ(text(1, 0), "fill");
  EXPECT_EQ(text(1, 1), "vanished");
  EXPECT_EQ(text(1, 3), "") << "it has no time any more";
  EXPECT_EQ(text(2, 1), "appeared");
  EXPECT_EQ(text(3, 1), "same") << "0.6 % is what one launch varies by";
}

}  // namespace
}  // namespace warpmark::analyze
