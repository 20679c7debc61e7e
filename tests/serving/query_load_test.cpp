// Queries as LoadGen sends them: how many, when they were due, and how MLPerf's rules judge them.
#include "serving/client/query_load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "serving/client/load_clock.h"

#include "serving/records_fixture.h"
#include "serving/results/evaluate_load.h"
#include "serving/results/mlperf.h"

namespace warpmark::serving {
namespace {

struct Counted {
  std::int64_t calls = 0;
  std::function<Status(std::int64_t)> infer() {
    return [this](std::int64_t) -> Status {
      ++calls;
      return {};
    };
  }
};

MlperfVerdict judged(LoadOutcome outcome, const MlperfRules& rules, const Slo& slo = {}) {
  LoadPlan plan;
  plan.requests.resize(1);
  const auto result = evaluate_load(std::move(outcome), plan, {.find_warmup = false, .slo = slo});
  return judge_mlperf(rules, result, slo);
}

TEST(QueryLoad, asks_one_after_another_until_there_are_enough) {
  Counted counted;
  const auto outcome = run_queries({.least_queries = 70}, counted.infer());
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(counted.calls, 70);
  ASSERT_EQ(outcome->records.size(), 70U);
  const auto records = all_of(outcome->records);
  for (std::size_t i = 1; i < 70; ++i) EXPECT_GE(records[i].intended_ns, records[i - 1].ended_ns);
  auto rules = *mlperf_rules("SingleStream");
  rules.least_duration_s = 0;
  const auto verdict = judged(*outcome, rules);
  EXPECT_EQ(verdict.queries, 70);
  EXPECT_TRUE(verdict.value.has_value());
}

TEST(QueryLoad, goes_on_until_the_time_is_up) {
  Counted counted;
  const auto outcome = run_queries({.least_queries = 1, .least_duration_s = 0.02}, counted.infer());
  ASSERT_TRUE(outcome.ok());
  EXPECT_GE(all_of(outcome->records).back().intended_ns - outcome->began_ns, 20'000'000);
}

TEST(QueryLoad, has_several_samples_in_a_query) {
  Counted counted;
  const auto outcome = run_queries({.samples_per_query = 8, .least_queries = 5}, counted.infer());
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(counted.calls, 5);
  ASSERT_EQ(outcome->records.size(), 40U);
  const auto records = all_of(outcome->records);
  EXPECT_EQ(records[7].intended_ns, records[0].intended_ns);
  auto rules = *mlperf_rules("MultiStream");
  EXPECT_EQ(judged(*outcome, rules).queries, 5);
}

TEST(QueryLoad, counts_from_when_a_query_was_due) {
  // The first query takes until after the others were due: they wait in a line, and their waiting counts.
  std::int64_t calls = 0;
  const auto outcome = run_queries({.due_ns = {0, 1000, 2000}}, [&](std::int64_t) -> Status {
    const std::int64_t began_ns = load_now_ns();
    while (calls == 0 && load_now_ns() < began_ns + 5'000'000) {
    }
    ++calls;
    return {};
  });
  ASSERT_TRUE(outcome.ok());
  ASSERT_EQ(outcome->records.size(), 3U);
  const auto records = all_of(outcome->records);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(records[i].intended_ns, outcome->began_ns + static_cast<std::int64_t>(1000 * i));
    EXPECT_GE(records[i].ended_ns - records[i].intended_ns, 4'990'000);
  }
  EXPECT_LE(outcome->send_lag.n(), 1U) << "a query that waits for another one is not late by our fault";
}

TEST(QueryLoad, infers_what_waits_together_up_to_the_limit) {
  // While the first is inferred five more become due; the last comes when nobody waits.
  constexpr std::int64_t kLate_ns = 60'000'000;
  std::vector<std::int64_t> batches;
  const QueryPlan plan{.due_ns = {0, 1, 2, 3, 4, 5, kLate_ns}, .most_batched = 3};
  const auto outcome = run_queries(plan, [&](std::int64_t queries) -> Status {
    const std::int64_t began_ns = load_now_ns();
    while (batches.empty() && load_now_ns() < began_ns + 5'000'000) {
    }
    batches.push_back(queries);
    return {};
  });
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(std::accumulate(batches.begin(), batches.end(), std::int64_t{0}), 7);
  EXPECT_EQ(*std::max_element(batches.begin(), batches.end()), 3);
  const auto records = all_of(outcome->records);
  ASSERT_EQ(records.size(), 7U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(records[i].intended_ns, outcome->began_ns + static_cast<std::int64_t>(i))
        << "each counts from its own time";
  }
  EXPECT_EQ(records.back().intended_ns, outcome->began_ns + kLate_ns);
}

TEST(QueryLoad, takes_all_samples_that_are_there) {
  Counted counted;
  const auto outcome = run_queries({.samples_per_query = 4, .all_at_once = 10}, counted.infer());
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(counted.calls, 3);
  EXPECT_EQ(outcome->records.size(), 10U);
  EXPECT_EQ(all_of(outcome->records).back().intended_ns, outcome->began_ns);
}

TEST(QueryLoad, ends_at_an_error_and_when_it_is_interrupted) {
  const auto failed =
      run_queries({.least_queries = 3}, [](std::int64_t) -> Status { return environment_error("gone"); });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().what, "gone");
  std::atomic<bool> interrupted{false};
  const auto outcome = run_queries({.least_queries = 1000, .interrupted = &interrupted}, [&](std::int64_t) -> Status {
    interrupted.store(true);
    return {};
  });
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_EQ(outcome->records.size(), 1U);
}

}  // namespace
}  // namespace warpmark::serving
