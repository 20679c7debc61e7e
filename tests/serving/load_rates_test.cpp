// Rates, percentiles and objectives of loads whose numbers are known: what is counted in which time, and what few
// requests leave open.
#include <gtest/gtest.h>

#include <cmath>

#include "serving/records_fixture.h"
#include "serving/results/evaluate_load.h"
#include "serving/results/verdicts.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// A request that was sent at once and streamed so many tokens evenly, the first at a tenth of its time.
RequestRecord request_of(std::int64_t from_ns, std::int64_t to_ns, std::int64_t tokens = 11) {
  RequestRecord record;
  record.intended_ns = record.begun_ns = record.sent_ns = from_ns;
  record.first_byte_ns = record.first_token_ns = record.first_visible_ns = from_ns + (to_ns - from_ns) / 10;
  record.last_token_ns = record.ended_ns = to_ns;
  record.events = record.output_tokens = tokens;
  record.prompt_tokens = 100;
  record.status = 200;
  const double gap = static_cast<double>(to_ns - record.first_token_ns) * 1e-9 / static_cast<double>(tokens - 1);
  record.gaps_s.assign(static_cast<std::size_t>(tokens - 1), static_cast<float>(gap));
  return record;
}

/// Four users, three requests each, one after another, of 6.95 s: 12 requests in 20.85 s.
LoadOutcome twelve_requests(bool everything_sent) {
  std::vector<RequestRecord> records;
  for (int turn = 0; turn < 3; ++turn) {
    for (int user = 0; user < 4; ++user) {
      const auto at = static_cast<std::int64_t>(turn * 6.95e9);
      records.push_back(request_of(kSecond + at, kSecond + at + static_cast<std::int64_t>(6.95e9)));
    }
  }
  LoadOutcome outcome;
  outcome.records = stored(records);
  outcome.began_ns = kSecond;
  outcome.everything_sent = everything_sent;
  outcome.stopped_ns = kSecond + static_cast<std::int64_t>((everything_sent ? 13.9 : 15) * 1e9);
  outcome.ended_ns = kSecond + static_cast<std::int64_t>(20.85e9);
  return outcome;
}

LoadPlan plan_of(std::int64_t most_requests, double duration_s) {
  LoadPlan plan;
  plan.requests.resize(1);
  plan.most_requests = most_requests;
  plan.duration_s = duration_s;
  return plan;
}

double mean_of(const ScenarioResult& result, const char* id) {
  const LoadMetric* metric = metric_of(result, id);
  return metric == nullptr ? NAN : metric->mean;
}

TEST(Rates, of_a_given_number_of_requests_are_of_all_their_time) {
  const auto result = evaluate_load(twelve_requests(true), plan_of(12, 0), {});
  EXPECT_TRUE(result.whole_load);
  EXPECT_NEAR(mean_of(result, "request_throughput"), 12 / 20.85, 1e-6);
  EXPECT_NEAR(mean_of(result, "output_throughput"), 12 * 11 / 20.85, 0.5);
}

TEST(Rates, of_a_given_time_count_the_share_of_a_request_that_lies_in_it) {
  const auto result = evaluate_load(twelve_requests(false), plan_of(0, 15), {});
  EXPECT_FALSE(result.whole_load);
  EXPECT_NEAR(mean_of(result, "request_throughput"), 4 / 6.95, 1e-6) << "four users are busy all the time";
  EXPECT_NEAR(mean_of(result, "output_throughput") / mean_of(result, "request_throughput"), 11, 0.4)
      << "requests and tokens are of the same work";
}

TEST(Rates, of_inputs_that_are_not_known_are_not_0) {
  LoadOutcome outcome;
  std::vector<RequestRecord> records{request_of(kSecond, 2 * kSecond)};
  records.front().prompt_tokens = records.front().output_tokens = -1;
  outcome.records = stored(records);
  outcome.began_ns = kSecond;
  outcome.everything_sent = true;
  outcome.stopped_ns = outcome.ended_ns = 2 * kSecond;
  const auto result = evaluate_load(std::move(outcome), plan_of(1, 0), {});
  EXPECT_EQ(metric_of(result, "input_throughput"), nullptr);
  EXPECT_EQ(metric_of(result, "total_throughput"), nullptr);
  EXPECT_EQ(metric_of(result, "input_tokens"), nullptr);
  EXPECT_EQ(result.tokens.source, "events");
  EXPECT_EQ(mean_of(result, "output_tokens"), 11) << "events, and marked as such by the source";
  EXPECT_NEAR(mean_of(result, "output_throughput"), 11, 1e-6);
  ASSERT_NE(metric_of(result, "itl"), nullptr);
  EXPECT_NE(metric_of(result, "itl")->interval_method.find("an event counts as one token"), std::string::npos);
}

TEST(Rates, of_tokens_leave_out_what_failed_as_those_of_requests_do) {
  std::vector<RequestRecord> records{request_of(kSecond, 2 * kSecond), request_of(kSecond, 2 * kSecond),
                                     request_of(kSecond, 2 * kSecond)};
  records[1].fault = Fault::reset;
  records[2].fault = Fault::censored;
  LoadOutcome outcome;
  outcome.records = stored(records);
  outcome.began_ns = kSecond;
  outcome.everything_sent = true;
  outcome.stopped_ns = outcome.ended_ns = 2 * kSecond;
  const auto result = evaluate_load(std::move(outcome), plan_of(3, 0), {});
  EXPECT_NEAR(mean_of(result, "request_throughput"), 1, 1e-6);
  EXPECT_NEAR(mean_of(result, "output_throughput"), 22, 1e-6) << "of the answer and of the one under way at the end";
}

TEST(Speed, has_the_mean_of_all_tokens_by_all_their_time) {
  LoadOutcome outcome;
  outcome.records = stored({request_of(kSecond, 2 * kSecond), request_of(kSecond, 11 * kSecond)});
  outcome.began_ns = kSecond;
  outcome.everything_sent = true;
  outcome.stopped_ns = outcome.ended_ns = 11 * kSecond;
  const auto result = evaluate_load(std::move(outcome), plan_of(2, 0), {});
  EXPECT_NEAR(mean_of(result, "output_speed"), 20 / 9.9, 1e-3) << "and not (10 / 0.9 + 10 / 9) / 2";
}

TEST(Percentiles, of_few_requests_have_the_samples_value_and_say_how_to_get_more) {
  const auto result = evaluate_load(twelve_requests(true), plan_of(12, 0), {});
  const Percentile* p99 = percentile_of(*metric_of(result, "ttft"), 0.99);
  ASSERT_TRUE(p99->value);
  EXPECT_FALSE(p99->interval);
  EXPECT_EQ(p99->reason, "needs 299 requests, have 12: --max-requests-per-run 299");
  EXPECT_EQ(needs_more({.duration_s = 60, .wall_s = 61}, 299, 60),
            "needs 299 requests, have 60: --max-time-per-run 5m");
  EXPECT_EQ(needs_more({.duration_s = 10}, 299, 150), "needs 299 requests, have 150: --max-time-per-run 20s");
}

SloOutcome judged(const char* text, const ScenarioResult& result, const LoadLimits& limits = {.duration_s = 60}) {
  const auto slo = parse_slo(text);
  EXPECT_TRUE(slo.ok()) << slo.error().what;
  return judge_slo(*slo, result, limits).front();
}

TEST(Slo, that_is_undecided_says_why_and_what_decides_it) {
  const auto result = evaluate_load(twelve_requests(true), plan_of(12, 0), {});
  const auto few = judged("ttft:p99<900ms", result);
  EXPECT_EQ(few.verdict, "undecided");
  EXPECT_EQ(few.reason, "needs 299 requests, have 12: --max-requests-per-run 299");
  const auto errors = judged("errors<1%", result);
  EXPECT_EQ(errors.verdict, "undecided");
  EXPECT_EQ(errors.reason, "needs 368 requests, have 12: --max-time-per-run 35m");
  ScenarioResult open;
  open.completed = 1000;
  open.metrics.push_back(
      {.id = "ttft", .n = 1000, .percentiles = {{.p = 0.5, .value = 0.48, .interval = Interval{0.46, 0.51}}}});
  EXPECT_EQ(judged("ttft:p50<500ms", open).reason, "its interval holds the limit: --max-time-per-run 3m");
  ScenarioResult single;
  single.completed = 10;
  single.metrics.push_back({.id = "ttft_any", .n = 10});
  EXPECT_EQ(judged("tpot:p99<50ms", single).reason, "answers have one token each");
  single.buffered = 10;
  EXPECT_EQ(judged("tpot:p99<50ms", single).reason, "answers were buffered by the server or a proxy");
}

TEST(Slo, on_what_some_answers_hide_is_not_met) {
  ScenarioResult some;
  some.completed = 1000;
  some.buffered = 300;
  some.metrics.push_back(
      {.id = "tpot", .n = 700, .percentiles = {{.p = 0.99, .value = 0.02, .interval = Interval{0.01, 0.03}}}});
  const auto outcome = judged("tpot:p99<50ms", some);
  EXPECT_EQ(outcome.verdict, "undecided");
  EXPECT_EQ(outcome.reason, "300 of 1000 answers were buffered by the server or a proxy");
  EXPECT_EQ(judged("tpot:p99<5ms", some).verdict, "missed");
}

TEST(Slo, without_a_unit_is_refused_with_both_readings) {
  const auto slo = parse_slo("ttft:p99<500");
  ASSERT_FALSE(slo.ok());
  EXPECT_EQ(slo.error().what, "'ttft:p99<500' has no unit: milliseconds or seconds?");
  EXPECT_EQ(slo.error().hint, "--slo 'ttft:p99<500ms' or --slo 'ttft:p99<500s'");
}

TEST(Goodput, has_limits_in_milliseconds_as_vllm_does) {
  const auto limits = parse_goodput(std::vector<std::string>{"ttft:500", "tpot:50 e2el:2000", "itl:0.1s"});
  ASSERT_TRUE(limits.ok()) << limits.error().what;
  ASSERT_EQ(limits->size(), 4U);
  EXPECT_EQ((*limits)[0].limit, 0.5);
  EXPECT_EQ((*limits)[2].metric, "e2e");
  EXPECT_EQ((*limits)[2].limit, 2);
  EXPECT_EQ((*limits)[3].limit, 0.1);
  for (const char* text : {"ttft", "ttft:", "foo:3", "ttft:-1"}) {
    EXPECT_FALSE(parse_goodput(std::vector<std::string>{text}).ok()) << text;
  }
}

TEST(Lag, is_judged_by_the_limit_where_there_is_one) {
  LoadOutcome outcome;
  for (int i = 0; i < 1000; ++i) outcome.send_lag.add(3'000'000);
  const ScenarioResult result;
  EXPECT_FALSE(judge_client(outcome, result).trusted) << "3 ms";
  EXPECT_TRUE(judge_client(outcome, result, *parse_slo("ttft:p99<500ms")).trusted) << "5 % of 500 ms are 25 ms";
  EXPECT_FALSE(judge_client(outcome, result, *parse_slo("ttft:p99<500ms,tpot:p99<20ms")).trusted);
}

TEST(Lag, has_one_limit_for_sending_and_receiving) {
  ScenarioResult result;
  const auto limit = [&](const char* slo) {
    return judge_client({}, result, *slo == 0 ? Slo() : *parse_slo(slo)).lag_limit_s;
  };
  EXPECT_DOUBLE_EQ(limit(""), 1e-3) << "nothing was answered";
  EXPECT_DOUBLE_EQ(limit("ttft:p99<500ms,tpot:p99<50ms"), 2.5e-3) << "5 % of the smallest objective";
  EXPECT_DOUBLE_EQ(limit("ttft:p99<5ms"), 1e-3) << "at least 1 ms";
  result.metrics = {request_metric("ttft", "s", Better::lower, std::vector<double>(100, 0.004), 0.95)};
  EXPECT_DOUBLE_EQ(limit(""), 0.2e-3) << "5 % of the median TTFT";
  result.metrics = {request_metric("ttft", "s", Better::lower, std::vector<double>(100, 0.4), 0.95)};
  EXPECT_DOUBLE_EQ(limit(""), 1e-3) << "at most 1 ms";
}

TEST(Lag, has_a_cause) {
  LoadOutcome outcome;
  for (int i = 0; i < 1000; ++i) outcome.send_lag.add(3'000'000);
  outcome.busy_share = 0.002;
  const ClientReport waiting = judge_client(outcome, {});
  EXPECT_STREQ(waiting.verdict(), "unreliable");
  EXPECT_STREQ(waiting.cause(), "machine") << "a client that is not busy is not its own limit";
  EXPECT_EQ(waiting.reasons, std::vector<std::string>{"p99 lag of sending 2.998 ms, limit 1.000 ms"})
      << "of a histogram 1.6 % wide";
  outcome.busy_share = 0.97;
  EXPECT_STREQ(judge_client(outcome, {}).cause(), "client");
  EXPECT_STREQ(judge_client({}, {}).cause(), "");
}

}  // namespace
}  // namespace warpmark::serving
