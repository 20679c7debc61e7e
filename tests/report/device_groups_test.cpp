// A node with several GPUs of one make: one table, with the spread and who is slow.
#include "report/results/device_groups.h"

#include <gtest/gtest.h>

#include "report/formats/text.h"
#include "report/results/build.h"
#include "report/sample_session.h"

namespace warpmark::report {
namespace {

Session node_of(int gpus, int slow) {
  SampleSession sample;
  for (int i = 0; i < gpus; ++i) {
    const std::string device = "cuda:" + std::to_string(i);
    const double factor = i == slow ? 1.2 : 1 + 0.001 * i;
    sample.measured("gemm", device.c_str(), {{"m", std::int64_t{4096}}}, {.flops = 1.4e11, .bytes = 1e8},
                    2e-4 * factor);
    sample.measured("copy", device.c_str(), {{"bytes", std::int64_t{1} << 30}}, {.flops = 0, .bytes = 2147483648.0},
                    7e-4 * factor);
  }
  Session session = sample.finish();
  std::erase_if(session.machine.devices, [](const DeviceInfo& device) { return device.backend != "cpu"; });
  for (int i = 0; i < gpus; ++i) {
    session.machine.devices.push_back({.id = "cuda:" + std::to_string(i),
                                       .backend = "cuda",
                                       .name = "NVIDIA H100 80GB HBM3",
                                       .memory_bytes = std::int64_t{80} << 30,
                                       .compute_units = 132});
  }
  return session;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(DeviceGroups, hold_gpus_of_one_make_and_never_processors) {
  const auto groups = device_groups(node_of(4, -1));
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1].label(), "cuda:0 to cuda:3");
  auto mixed = node_of(2, -1);
  mixed.machine.devices.back().name = "NVIDIA A10";
  EXPECT_EQ(device_groups(mixed).size(), 3U);
}

TEST(DeviceGroups, name_the_device_that_is_slower_than_the_others) {
  const Session session = node_of(4, 2);
  const auto cases = cases_of(session, device_groups(session)[1]);
  ASSERT_EQ(cases.size(), 2U);
  const auto spread = spread_of(cases[0]);
  EXPECT_EQ(spread.outlier, "cuda:2");
  EXPECT_NEAR(spread.outlier_change, 0.2, 0.01);
  EXPECT_NEAR(spread.spread, 0.2, 0.01);
  const Session even = node_of(4, -1);
  EXPECT_EQ(spread_of(cases_of(even, device_groups(even)[1])[0]).outlier, "");
}

TEST(NodeReport, is_one_table_and_no_longer_on_eight_gpus_than_on_two) {
  const auto text = [](int gpus) {
    return render_text(build_report(node_of(gpus, 1)), {.width = 120, .unicode = true});
  };
  const auto eight = text(8);
  EXPECT_NE(eight.find("Results on cuda:0 to cuda:7, 8 x NVIDIA H100 80GB HBM3"), std::string::npos) << eight;
  EXPECT_NE(eight.find("cuda:1 +"), std::string::npos) << eight;
  EXPECT_NE(eight.find("8 x NVIDIA H100"), std::string::npos);
  EXPECT_EQ(eight.find("Results on cuda:3,"), std::string::npos) << "folded into details";
  EXPECT_EQ(lines_of(eight), lines_of(text(2))) << eight;
}

}  // namespace
}  // namespace warpmark::report
