// What is kept of a long load: every record, and a bounded number of gaps.
#include "serving/records/record_spool.h"

#include <gmock/gmock.h>

#include <cmath>

#include "serving/records_fixture.h"
#include "serving/results/evaluate_load.h"

namespace warpmark::serving {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMillisecond_ns = 1'000'000;

/// Of five tokens 1 ms apart, 10 ms after the one before.
RequestRecord record_of(std::int64_t number) {
  RequestRecord record;
  record.user = static_cast<std::int32_t>(number);
  record.intended_ns = record.begun_ns = record.sent_ns = (10 * number + 1) * kMillisecond_ns;
  record.first_byte_ns = record.first_token_ns = record.first_visible_ns = record.sent_ns + 2 * kMillisecond_ns;
  record.last_token_ns = record.ended_ns = record.first_token_ns + 4 * kMillisecond_ns;
  record.events = record.output_tokens = 5;
  record.prompt_tokens = 3;
  record.gaps_s = {0.001F, 0.001F, 0.001F, 0.001F};
  record.gap_tokens = {1, 1, 1, 1};
  return record;
}

std::vector<std::int32_t> with_gaps(const std::vector<RequestRecord>& records) {
  std::vector<std::int32_t> numbers;
  for (const auto& record : records) {
    EXPECT_EQ(record.gaps_s.empty(), record.gap_tokens.empty());
    if (!record.gaps_s.empty()) numbers.push_back(record.user);
  }
  return numbers;
}

struct Kept {
  std::int64_t one_in = 0;
  RequestRecords records;
};

Kept keep(std::int64_t most_gaps, int count) {
  auto spool = RecordSpool::open({});
  EXPECT_TRUE(spool.ok()) << spool.error().what;
  KeptRecords kept(**spool, most_gaps, "");
  for (int i = 0; i < count; ++i) kept.add(record_of(i));
  kept.end();
  auto records = (*spool)->finish(kept.one_in());
  EXPECT_TRUE(records.ok()) << records.error().what;
  return {kept.one_in(), *records};
}

TEST(KeptRecords, keeps_all_gaps_up_to_the_limit) {
  for (const std::int64_t most : {0, 40'000}) {
    const Kept kept = keep(most, 10'000);
    EXPECT_EQ(kept.one_in, 1);
    const auto records = all_of(kept.records);
    ASSERT_EQ(records.size(), 10'000U);
    EXPECT_EQ(with_gaps(records).size(), 10'000U);
  }
}

TEST(KeptRecords, write_no_secret_down) {
  auto spool = RecordSpool::open({});
  ASSERT_TRUE(spool.ok()) << spool.error().what;
  KeptRecords kept(**spool, 0, "s3cret");
  RequestRecord record = record_of(0);
  record.fault = Fault::http_status;
  record.message = "s3cret: no such key: 's3cret'";
  kept.add(record);
  kept.end();
  const auto records = (*spool)->finish(1);
  ASSERT_TRUE(records.ok()) << records.error().what;
  EXPECT_EQ(records->begin()->message, "***: no such key: '***'");
}

TEST(KeptRecords, keeps_every_record_and_the_gaps_of_a_sample) {
  const Kept kept = keep(2'000, 20'000);
  const std::int64_t one_in = kept.one_in;
  const auto records = all_of(kept.records);
  ASSERT_EQ(records.size(), 20'000U);
  for (int i = 0; i < 20'000; ++i) ASSERT_EQ(records[static_cast<std::size_t>(i)].user, i);
  const auto numbers = with_gaps(records);
  EXPECT_GE(one_in, 32);
  EXPECT_LE(one_in, 128);
  const auto expected = 20'000.0 / static_cast<double>(one_in);
  EXPECT_NEAR(static_cast<double>(numbers.size()), expected, 5 * std::sqrt(expected));
  // From the whole load alike, and from each place in a data set that comes around every eight requests.
  std::vector<int> tenths(10), places(8);
  for (const auto number : numbers) {
    ++tenths[static_cast<std::size_t>(number) / 2'000];
    ++places[static_cast<std::size_t>(number) % 8];
  }
  for (const int count : tenths) EXPECT_GT(count, 0);
  for (const int count : places) EXPECT_GT(count, 0);
}

ScenarioResult evaluated(std::int64_t most_gaps) {
  const Kept kept = keep(most_gaps, 4'000);
  LoadOutcome outcome;
  outcome.began_ns = 1;
  outcome.stopped_ns = outcome.ended_ns = 40'010 * kMillisecond_ns;
  outcome.gaps_of_one_in = kept.one_in;
  outcome.records = kept.records;
  LoadPlan plan;
  plan.requests.resize(1);
  return evaluate_load(std::move(outcome), plan, {.find_warmup = false});
}

TEST(KeptRecords, numbers_of_a_sample_are_those_of_all) {
  const ScenarioResult all = evaluated(0), sample = evaluated(1'000);
  for (const char* id : {"chunk_gap", "itl"}) {
    const LoadMetric *of_all = metric_of(all, id), *of_sample = metric_of(sample, id);
    ASSERT_TRUE(of_all != nullptr && of_sample != nullptr) << id;
    EXPECT_EQ(of_all->n, 16'000);
    EXPECT_LT(of_sample->n, 2'000);
    EXPECT_DOUBLE_EQ(*percentile_of(*of_sample, 0.5)->value, *percentile_of(*of_all, 0.5)->value);
    EXPECT_THAT(of_sample->interval_method, HasSubstr("of one in"));
  }
  // Tokens whose gaps were not kept arrived all the same.
  const LoadMetric *rate = metric_of(sample, "output_throughput"), *whole = metric_of(all, "output_throughput");
  ASSERT_TRUE(rate != nullptr && whole != nullptr);
  EXPECT_NEAR(rate->mean, whole->mean, 1e-3 * whole->mean);
}

}  // namespace
}  // namespace warpmark::serving
