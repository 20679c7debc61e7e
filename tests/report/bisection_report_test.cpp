// What is printed of a bisection.
#include "report/build/bisection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/formats/text.h"

namespace warpmark::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

MetricVerdict slower(double level_s) {
  MetricVerdict metric{.id = "time", .unit = "s"};
  metric.median_a = level_s;
  metric.median_b = level_s * 1.5;
  metric.ratio = 1.5;
  return metric;
}

std::string shown(const MetricVerdict& change, const MetricVerdict& range) {
  Bisection bisection;
  bisection.outcome = BisectOutcome::found;
  bisection.good.sha = "aaaa";
  bisection.bad.sha = "dddd";
  bisection.candidates = {{.sha = "cccc"}};
  bisection.change_a = "bbbb";
  bisection.change_b = "cccc";
  bisection.change = change;
  bisection.range = range;
  return render_text(build_report(bisection), {.width = 200});
}

TEST(BisectionReport, explains_values_of_two_comparisons_that_the_machine_set_apart) {
  EXPECT_THAT(shown(slower(0.144), slower(0.039)), HasSubstr("compare their changes side by side, not their values"));
  EXPECT_THAT(shown(slower(0.039), slower(0.144)), HasSubstr("measured at different times"));
  EXPECT_THAT(shown(slower(0.040), slower(0.039)), Not(HasSubstr("at different times")));
  // Another commit of the range made something slower as well: one side alone differs.
  MetricVerdict range = slower(0.039);
  range.median_b *= 2;
  EXPECT_THAT(shown(slower(0.039), range), Not(HasSubstr("at different times")));
}

}  // namespace
}  // namespace warpmark::report
