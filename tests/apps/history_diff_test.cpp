// `history diff`: two stored sessions against each other, case by case.
#include <gmock/gmock.h>

#include "apps/stored_history.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class HistoryDiff : public WithHistory {
 protected:
  std::string keep(const StoredSession& session) { return store_session(store(), session); }
};

TEST_F(HistoryDiff, says_which_metrics_of_a_command_got_better_or_worse) {
  const auto before = keep({.day = 1, .time = 1}), after = keep({.day = 2, .time = 0.5});
  const auto faster = warpmark({"history", "diff", before, after});
  EXPECT_EQ(faster.exit_code, 0) << faster.err;
  EXPECT_THAT(faster.out, HasSubstr("job hot time"));
  EXPECT_THAT(faster.out, HasSubstr("0.500"));
  EXPECT_THAT(faster.out, HasSubstr("job hot rate"));
  EXPECT_THAT(faster.out, HasSubstr("2.000"));
  EXPECT_THAT(faster.out, HasSubstr("better"));
  EXPECT_THAT(faster.out, Not(HasSubstr("worse")));
  EXPECT_THAT(faster.out, HasSubstr("2 of 2 cases differ."));
  const auto slower = warpmark({"history", "diff", after, before});
  EXPECT_THAT(slower.out, HasSubstr("worse"));
  EXPECT_THAT(slower.out, Not(HasSubstr("better")));
}

TEST_F(HistoryDiff, of_equal_sessions_is_noise) {
  const auto before = keep({.day = 1, .time = 1}), after = keep({.day = 2, .time = 1});
  const auto output = warpmark({"history", "diff", before, after});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("within noise"));
  EXPECT_THAT(output.out, HasSubstr("0 of 2 cases differ."));
}

TEST_F(HistoryDiff, decides_nothing_of_what_was_disturbed) {
  const auto calm = keep({.day = 1, .time = 1});
  const auto disturbed = keep({.day = 2, .time = 0.5, .outcome = Outcome::unreliable, .reason = "others ran"});
  const auto output = warpmark({"history", "diff", calm, disturbed});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("2 undecided: the candidate was disturbed."));
  EXPECT_THAT(output.out, HasSubstr("0 of 2 cases differ."));
  EXPECT_THAT(warpmark({"history", "diff", disturbed, calm}).out, HasSubstr("the baseline was disturbed"));
  const auto again = keep({.day = 3, .time = 0.5, .outcome = Outcome::unreliable, .reason = "others ran"});
  EXPECT_THAT(warpmark({"history", "diff", disturbed, again}).out, HasSubstr("both were disturbed"));
}

TEST_F(HistoryDiff, refuses_other_machines_and_single_sessions) {
  Machine other = device::machine_facts();
  other.fingerprint = "another";
  const auto here = keep({.day = 1, .time = 1}), there = keep({.day = 2, .time = 1, .machine = other});
  const auto output = warpmark({"history", "diff", here, there});
  EXPECT_EQ(output.exit_code, 5);
  EXPECT_THAT(output.err, HasSubstr("the sessions come from different machines or drivers"));
  const auto single = warpmark({"history", "diff", here});
  EXPECT_EQ(single.exit_code, 2);
  EXPECT_THAT(single.err, HasSubstr("diff takes two sessions"));
}

}  // namespace
}  // namespace warpmark::apps
