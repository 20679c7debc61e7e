// Early stopping against what LoadGen itself printed in published results (SingleStream, 90th percentile): "Would
// discard N highest latency queries" of so many.
#include "serving/results/mlperf.h"

#include <gmock/gmock.h>

#include "serving/records_fixture.h"
#include "serving/results/level_search.h"

namespace warpmark::serving {
namespace {

using ::testing::HasSubstr;

TEST(EarlyStopping, discards_as_many_as_loadgen) {
  const std::pair<std::int64_t, std::int64_t> published[] = {{2048, 172}, {2145, 181}, {2116, 178}, {7469, 685}};
  for (const auto& [queries, discarded] : published) EXPECT_EQ(discarded_latencies(queries, 0.9), discarded) << queries;
}

TEST(EarlyStopping, needs_as_many_queries_as_loadgen) {
  EXPECT_EQ(queries_in_time_needed(1, 0.9) + 1, 64) << "\"Processed at least 64 queries\"";
  EXPECT_EQ(queries_in_time_needed(1, 0.99) + 1, 662);
  EXPECT_EQ(queries_in_time_needed(0, 0.99), 459) << "log(0.01) / log(0.99)";
  EXPECT_FALSE(discarded_latencies(63, 0.9));
  EXPECT_EQ(discarded_latencies(64, 0.9), 0);
}

/// Queries of 10 ms, one after another, of which the first `late` take 100 ms.
std::vector<RequestRecord> queries_of(int queries, int late) {
  std::vector<RequestRecord> records;
  for (int i = 0; i < queries; ++i) {
    RequestRecord record;
    record.intended_ns = record.sent_ns = 1 + std::int64_t{i} * 1'000'000'000;
    const std::int64_t took = i < late ? 100'000'000 : 10'000'000;
    record.first_token_ns = record.intended_ns + took / 2;
    record.ended_ns = record.last_token_ns = record.intended_ns + took;
    record.output_tokens = record.events = 11;
    records.push_back(record);
  }
  return records;
}

ScenarioResult answered(int queries, int late) {
  ScenarioResult result{.completed = queries};
  result.began_ns = 1;
  result.records = stored(queries_of(queries, late));
  return result;
}

TEST(Mlperf, single_stream_is_valid_where_it_is_long_enough) {
  MlperfRules rules = *mlperf_rules("singlestream");
  const auto verdict = judge_mlperf(rules, answered(700, 30), {});
  EXPECT_TRUE(verdict.valid);
  EXPECT_DOUBLE_EQ(*verdict.value, 0.01);
  EXPECT_DOUBLE_EQ(*verdict.estimate, 0.01) << "30 of 700 are fewer than are discarded";
  EXPECT_DOUBLE_EQ(*judge_mlperf(rules, answered(700, 69), {}).estimate, 0.1);
  EXPECT_FALSE(judge_mlperf(rules, answered(500, 0), {}).valid) << "499 s";
  rules.least_duration_s = 10;
  EXPECT_FALSE(judge_mlperf(rules, answered(50, 0), {}).valid) << "too few queries";
  EXPECT_FALSE(mlperf_rules("Servre").ok());
}

TEST(Mlperf, server_counts_late_queries_and_says_how_many_more_are_needed) {
  MlperfRules rules = *mlperf_rules("Server");
  const Slo slo = *parse_slo("ttft:p99<40ms,tpot:p99<20ms");
  EXPECT_TRUE(judge_mlperf(rules, answered(700, 1), slo).valid);
  const auto missed = judge_mlperf(rules, answered(700, 3), slo);
  EXPECT_FALSE(missed.valid);
  bool reported = false;
  for (const auto& check : missed.checks) {
    if (check.name == "early stopping ttft")
      reported = !check.met && check.text.find("more in time") != std::string::npos;
  }
  EXPECT_TRUE(reported);
  ScenarioResult failing = answered(700, 0);
  auto queries = queries_of(700, 0);
  queries[5].fault = Fault::reset;
  failing.records = stored(queries);
  failing.failed = 1;
  EXPECT_FALSE(judge_mlperf(rules, failing, slo).valid);
}

TEST(Mlperf, query_of_several_samples_ends_with_its_last) {
  MlperfRules rules = *mlperf_rules("MultiStream");
  ScenarioResult result = answered(700, 0);
  std::vector<RequestRecord> samples;
  for (int k = 0; k < 8; ++k) {
    for (auto record : queries_of(700, 0)) {
      record.ended_ns = record.last_token_ns += 1'000'000 * k;
      samples.push_back(record);
    }
  }
  result.records = stored(samples);
  result.completed = 5600;
  const auto verdict = judge_mlperf(rules, result, {});
  EXPECT_EQ(verdict.queries, 700);
  EXPECT_DOUBLE_EQ(*verdict.value, 0.017);
  EXPECT_TRUE(verdict.valid);
}

TEST(Sweep, doubles_to_saturation_and_spreads_rates_between) {
  // A server of 10 places, a second each.
  const auto found = sweep_loads({.rates = 3}, [](double level, bool open) -> Result<SweepProbe> {
    return SweepProbe{level, open, open ? level : std::min(level, 10.0), false};
  });
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->saturated);
  EXPECT_DOUBLE_EQ(found->idle_per_s, 1);
  EXPECT_DOUBLE_EQ(found->saturated_per_s, 10);
  EXPECT_DOUBLE_EQ(found->saturated_users, 16);
  ASSERT_EQ(found->polls.size(), 9U);
  EXPECT_DOUBLE_EQ(found->polls[6].level, 3.25);
  EXPECT_THAT(found->sentence(), HasSubstr("saturated at 10 requests/s"));
  const auto growing = sweep_loads({.rates = 0, .most_users = 4}, [](double level, bool open) -> Result<SweepProbe> {
    return SweepProbe{level, open, level, false};
  });
  EXPECT_THAT(growing->sentence(), HasSubstr("not saturated"));
}

}  // namespace
}  // namespace warpmark::serving
