#include "report/build/across.h"

#include <gtest/gtest.h>

#include "report/formats/text.h"

namespace warpmark::report {
namespace {

/// Nodes whose values were all disturbed, which leaves nothing to compare.
Across disturbed(int nodes) {
  Across across;
  AcrossMetric metric;
  metric.what = "copy size=1";
  metric.metric = "time";
  metric.unit = "s";
  for (std::int64_t unit = 0; unit < nodes; ++unit) {
    auto& device = across.units.emplace_back();
    device.node = "node" + std::to_string(unit);
    device.device = "cpu";
    device.state = NodeState::unreliable;
    auto& value = metric.values.emplace_back();
    value.unit = unit;
    value.state = NodeState::unreliable;
    value.reason = "other processes ran";
  }
  across.metrics.push_back(std::move(metric));
  return across;
}

TEST(AcrossReport, says_once_what_is_true_of_many_nodes) {
  const auto text = render_text(build_report(disturbed(3)), {.width = 200});
  EXPECT_NE(text.find("node0 cpu, node1 cpu, node2 cpu are unreliable in copy size=1: other processes ran."),
            std::string::npos)
      << text;
  EXPECT_NE(render_text(build_report(disturbed(1)), {.width = 200}).find("node0 cpu is unreliable in"),
            std::string::npos);
}

TEST(AcrossReport, shows_no_median_of_nothing) {
  const auto text = render_text(build_report(disturbed(3)), {.width = 200});
  EXPECT_EQ(text.find("0 s"), std::string::npos) << text;
  EXPECT_NE(text.find("unknown"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::report
