// Runs of a user's command: rounds, order, failures, the budget, and what is told to the store.
#include "validate/commands/command_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "validate/fake_experiment.h"

namespace warpmark::validate {
namespace {

/// Remembers the order in which it was asked, by the value of "n".
class OrderedExperiment final : public measure::Experiment {
 public:
  std::vector<std::string> asked;
  std::map<std::string, int> fails_at;  ///< by n: the run that fails, from 1
  std::atomic<bool>* interrupt = nullptr;
  std::size_t interrupt_at = 0;

  Result<Run> run(const measure::Config& config) override {
    const std::string n = config.empty() ? "" : config.front().second;
    asked.push_back(n);
    ++times_[n];
    if (interrupt != nullptr && asked.size() == interrupt_at) *interrupt = true;
    if (fails_at.contains(n) && times_[n] == fails_at[n]) return data_error("it broke", "fix it");
    Run run;
    run.workload = "command";
    run.device = "host";
    run.rounds = 1;
    run.outcome = Outcome::passed;
    Metric metric{.id = "time", .unit = "s", .samples = {static_cast<double>(asked.size())}, .round_sizes = {1}};
    metric.summary = stats::summarize(metric.samples);
    run.metrics.push_back(std::move(metric));
    return run;
  }

 private:
  std::map<std::string, int> times_;
};

std::vector<CommandCase> cases_of(const std::vector<std::string>& values) {
  std::vector<CommandCase> cases;
  for (const auto& value : values) {
    cases.push_back({.config = {{"n", value}}, .params = {}});
    cases.back().params.set("n", value);
  }
  return cases;
}

Session session_named(const std::string& id) {
  Session session;
  session.id = id;
  return session;
}

TEST(CommandRuns, become_one_run_of_all_rounds_for_each_case) {
  OrderedExperiment experiment;
  Session session = session_named("s");
  std::vector<std::pair<std::int64_t, std::int64_t>> rounds;
  std::int64_t runs = 0;
  const CommandRunEvents events{.round_done =
                                    [&](const warpmark::Run& run, std::int64_t round) {
                                      rounds.emplace_back(run.index, round);
                                      EXPECT_EQ(run.metrics.front().samples.size(), 1U);
                                      return Status();
                                    },
                                .run_done = [&](const warpmark::Run&) { return ++runs, Status(); },
                                .progress = {},
                                .clock_s = {}};
  ASSERT_TRUE(
      measure_command_runs(experiment, cases_of({"a", "b"}), {.rounds = 4, .warmup_runs = 2}, events, session).ok());
  EXPECT_EQ(experiment.asked.size(), 12U);
  EXPECT_EQ(rounds.size(), 8U);
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(session.complete);
  ASSERT_EQ(session.runs.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const warpmark::Run& run = session.runs[i];
    EXPECT_EQ(run.id, "s." + std::to_string(i));
    EXPECT_EQ(to_text(run.params), i == 0 ? "n=a" : "n=b");
    EXPECT_EQ(run.metrics.front().samples.size(), 4U);
    EXPECT_EQ(run.metrics.front().round_sizes, (std::vector<std::int64_t>{1, 1, 1, 1}));
    EXPECT_GT(run.metrics.front().samples.front(), 4);  // the four warm-up runs are discarded
    EXPECT_EQ(run.rounds, 4);
    EXPECT_EQ(run.stopped_because, "all 4 rounds were run");
  }
}

TEST(CommandRuns, alternate_the_cases_in_an_order_that_the_seed_decides) {
  const auto order = [](std::uint64_t seed) {
    OrderedExperiment experiment;
    Session session;
    EXPECT_TRUE(measure_command_runs(experiment, cases_of({"a", "b", "c"}),
                                     {.rounds = 20, .warmup_runs = 0, .seed = seed}, {}, session)
                    .ok());
    return experiment.asked;
  };
  const auto asked = order(1);
  EXPECT_EQ(asked, order(1));
  EXPECT_NE(asked, order(2));
  std::map<std::string, int> first;
  for (std::size_t i = 0; i < asked.size(); i += 3) {
    EXPECT_EQ(std::set<std::string>(asked.begin() + static_cast<std::ptrdiff_t>(i),
                                    asked.begin() + static_cast<std::ptrdiff_t>(i) + 3)
                  .size(),
              3U);
    ++first[asked[i]];
  }
  EXPECT_EQ(first.size(), 3U);
}

TEST(CommandRuns, keep_a_failure_as_an_error_and_go_on_with_the_others) {
  OrderedExperiment experiment;
  experiment.fails_at["a"] = 3;
  Session session;
  std::vector<Outcome> reported;
  const CommandRunEvents events{
      .round_done = {},
      .run_done = [&](const warpmark::Run& run) { return reported.push_back(run.outcome), Status(); },
      .progress = {},
      .clock_s = {}};
  ASSERT_TRUE(
      measure_command_runs(experiment, cases_of({"a", "b"}), {.rounds = 5, .warmup_runs = 0}, events, session).ok());
  ASSERT_EQ(session.runs.size(), 2U);
  EXPECT_EQ(session.runs[0].outcome, Outcome::error);
  EXPECT_EQ(session.runs[0].reason, "it broke");
  EXPECT_EQ(session.runs[0].fault, ErrorKind::data);
  EXPECT_TRUE(session.runs[0].metrics.empty());
  EXPECT_EQ(to_text(session.runs[0].params), "n=a");
  EXPECT_EQ(session.runs[1].metrics.front().samples.size(), 5U);
  EXPECT_EQ(reported, (std::vector<Outcome>{Outcome::error, Outcome::passed}));
  EXPECT_EQ(std::count(experiment.asked.begin(), experiment.asked.end(), "a"), 3);
}

TEST(CommandRuns, stop_at_the_budget_but_not_before_the_first_round) {
  OrderedExperiment experiment;
  Session session;
  double clock = 0;
  const CommandRunEvents events{
      .round_done = {}, .run_done = {}, .progress = {}, .clock_s = [&] { return clock += 10; }};
  ASSERT_TRUE(measure_command_runs(experiment, cases_of({"a"}), {.rounds = 50, .warmup_runs = 0, .budget_s = 25},
                                   events, session)
                  .ok());
  ASSERT_EQ(session.runs.size(), 1U);
  EXPECT_EQ(session.runs[0].rounds, 3);
  EXPECT_EQ(session.runs[0].stopped_because, "the budget was used up after 3 rounds");
  EXPECT_TRUE(session.complete);
}

TEST(CommandRuns, drop_the_run_that_was_interrupted) {
  OrderedExperiment experiment;
  std::atomic<bool> interrupted = false;
  experiment.interrupt = &interrupted;
  experiment.interrupt_at = 4;
  Session session;
  int reported = 0;
  const CommandRunEvents events{.round_done = {},
                                .run_done = [&](const warpmark::Run&) { return ++reported, Status(); },
                                .progress = {},
                                .clock_s = {}};
  ASSERT_TRUE(measure_command_runs(experiment, cases_of({"a"}),
                                   {.rounds = 50, .warmup_runs = 0, .interrupted = &interrupted}, events, session)
                  .ok());
  EXPECT_FALSE(session.complete);
  EXPECT_EQ(reported, 0);
  ASSERT_EQ(session.runs.size(), 1U);
  EXPECT_EQ(session.runs[0].rounds, 3);
}

TEST(CommandRuns, end_when_the_store_fails) {
  OrderedExperiment experiment;
  Session session;
  const CommandRunEvents events{
      .round_done = [](const warpmark::Run&, std::int64_t) -> Status { return environment_error("the disk is full"); },
      .run_done = {},
      .progress = {},
      .clock_s = {}};
  const auto status = measure_command_runs(experiment, cases_of({"a"}), {.rounds = 9}, events, session);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().what, "the disk is full");
  EXPECT_EQ(experiment.asked.size(), 2U);
}

TEST(MergeCommandRounds, takes_medians_of_readings_and_distrusts_frequent_throttling) {
  const auto rounds_with = [](int throttled) {
    std::vector<warpmark::Run> rounds(8);
    for (int i = 0; i < 8; ++i) {
      auto& run = rounds[static_cast<std::size_t>(i)];
      run.outcome = Outcome::passed;
      run.rounds = 1;
      run.metrics = {{.id = "time", .unit = "s", .samples = {1.0 + i}, .round_sizes = {1}}};
      run.environment.readings = {{"other_load", "1", std::nullopt, i == 7 ? 0.9 : 0.06}};
      if (i < throttled) run.environment.disturbances = {{"throttle", "cuda:0 was slowed down: heat", false}};
    }
    return rounds;
  };
  const warpmark::Run quiet = merge_command_rounds(rounds_with(2));
  EXPECT_EQ(quiet.outcome, Outcome::passed);
  EXPECT_EQ(quiet.environment.readings.at(0).after, 0.06);
  EXPECT_EQ(quiet.environment.disturbances.at(1).cause, "other processes used 6.0 % of the CPU time");
  const warpmark::Run hot = merge_command_rounds(rounds_with(3));
  EXPECT_EQ(hot.outcome, Outcome::unreliable);
  EXPECT_EQ(hot.reason, "cuda:0 was slowed down: heat in 3 of 8 rounds");
  EXPECT_EQ(hot.metrics.front().summary.median, 4.5);
}

}  // namespace
}  // namespace warpmark::validate
