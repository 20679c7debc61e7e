// What is printed of a bisection.
#include "report/build/bisection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/formats/text.h"

namespace warpmark::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

MetricVerdict slower(double ratio) {
  return {.id = "time",
          .unit = "s",
          .a = {1, 1, 1},
          .median_a = 1,
          .median_b = ratio,
          .ratio = ratio,
          .interval = Interval{ratio - 0.1, ratio + 0.1, 0.98}};
}

std::string shown(const Bisection& bisection) { return render_text(build_report(bisection), {.width = 200}); }

Bisection found(double change, double range) {
  Bisection bisection;
  bisection.outcome = BisectOutcome::found;
  bisection.good.sha = "aaaa";
  bisection.bad.sha = "dddd";
  bisection.candidates = {{.sha = "cccc"}};
  bisection.change_a = "bbbb";
  bisection.change_b = "cccc";
  bisection.change = slower(change);
  bisection.range = slower(range);
  bisection.probes = {{.index = 2, .commit = {.sha = "cccc"}, .answer = ProbeAnswer::bad, .ratio_to_good = 1.73}};
  return bisection;
}

TEST(BisectionReport, shows_one_number_for_the_change) {
  const auto text = shown(found(1.5, 1.52));
  EXPECT_THAT(text, HasSubstr("cccc against its parent bbbb: time +50.0 %"));
  EXPECT_THAT(text, Not(HasSubstr("dddd against aaaa")));
  EXPECT_THAT(text, Not(HasSubstr("73.0 %")));
  // Another commit made something slower as well.
  EXPECT_THAT(shown(found(1.5, 2)), HasSubstr("The whole range, dddd against aaaa: time +100 %"));
}

TEST(BisectionReport, names_what_continues_an_undecided_search) {
  Bisection bisection;
  bisection.range = slower(1.01);
  bisection.stopped_because = "it is not certain that the bad revision differs from the good one";
  EXPECT_THAT(shown(bisection), HasSubstr("again with --rounds 6 or a larger --effect: the search resumes"));
  bisection.range = {};
  bisection.builds = 2;
  bisection.stopped_because = "the budget of 2 s was used up";
  EXPECT_THAT(shown(bisection), HasSubstr("again with --builds 4 or a larger --budget: the search resumes"));
  EXPECT_THAT(shown(bisection), Not(HasSubstr("no ratio")));
}

}  // namespace
}  // namespace warpmark::report
