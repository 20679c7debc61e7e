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

/// Two metrics, of which the second is not the main one.
std::string keep_gemm(store::Store& store, const std::string& id, double energy) {
  Session session;
  session.id = id;
  session.started = "2026-02-01T00:00:00Z";
  session.machine = device::machine_facts();
  WM_CHECK(store.begin(session).ok());
  Run run;
  run.workload = "gemm";
  run.device = "cpu";
  run.outcome = Outcome::passed;
  for (const double value : {1.0, energy}) {
    Metric metric{.id = run.metrics.empty() ? "time" : "energy", .unit = run.metrics.empty() ? "s" : "J"};
    metric.samples.assign(6, value);
    metric.round_sizes.assign(6, 1);
    metric.summary = stats::summarize(metric.samples);
    run.metrics.push_back(std::move(metric));
  }
  WM_CHECK(store.append_run(id, run).ok() && store.finish(id, {}).ok());
  return id;
}

TEST_F(HistoryDiff, shows_other_metrics_where_they_differ) {
  const auto before = keep_gemm(store(), "a", 2), after = keep_gemm(store(), "b", 3),
             again = keep_gemm(store(), "c", 2);
  const auto output = warpmark({"history", "diff", before, after});
  EXPECT_THAT(output.out, HasSubstr("energy"));
  EXPECT_THAT(output.out, HasSubstr("1.500"));
  EXPECT_THAT(output.out, HasSubstr("worse"));
  EXPECT_THAT(output.out, HasSubstr("0 of 1 cases differ, and 1 of their other metrics."));
  EXPECT_THAT(warpmark({"history", "diff", before, again}).out, Not(HasSubstr("energy")));
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
