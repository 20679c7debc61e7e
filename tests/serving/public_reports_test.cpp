// What users of other load testers reported as wrong there, made again: a test each, named by the report. The list with
// links is in docs/results/public-reports.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "serving/answers_fixture.h"
#include "serving/records_fixture.h"
#include "serving/results/evaluate_load.h"
#include "serving/results/request_values.h"
#include "serving/results/verdicts.h"
#include "serving/traffic/arrivals.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kMs = 1'000'000;

std::string usage_event(int tokens, const std::string& more = "") {
  return event_of(R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":)" + std::to_string(tokens) + more +
                  "}}");
}
std::string content_of(const std::string& key, const std::string& text, const std::string& usage = "") {
  return event_of(R"({"choices":[{"index":0,"delta":{")" + key + R"(":")" + text + "\"}}]" + usage + "}");
}
const std::string kEnd = kStop + event_of("[DONE]");

RequestRecord chat(const std::vector<std::string>& pieces, const std::string& head = "") {
  return read_answer(pieces, head, kChat);
}

ScenarioResult evaluated(const std::vector<RequestRecord>& records, std::int64_t ended_ns = 0) {
  LoadOutcome outcome;
  outcome.records = stored(records);
  outcome.began_ns = 1;
  outcome.everything_sent = true;
  for (const auto& record : records) ended_ns = std::max(ended_ns, record.ended_ns);
  outcome.stopped_ns = outcome.ended_ns = ended_ns;
  LoadPlan plan;
  plan.requests.resize(1);
  return evaluate_load(std::move(outcome), plan, {.find_warmup = false});
}

double mean_in(const ScenarioResult& result, const char* id) {
  const LoadMetric* metric = metric_of(result, id);
  return metric == nullptr ? NAN : metric->mean;
}

TEST(PublicReport, genai_bench_31_speeds_of_200000_tokens_a_second) {
  const auto all_at_once = chat({kWord + kWord + kWord + kWord + kEnd});
  const auto streamed = chat({kWord, kWord, kWord, kWord, kEnd});
  const auto result = evaluated({all_at_once, streamed});
  EXPECT_NEAR(mean_in(result, "output_speed"), 100, 1e-3) << "of the answer that shows one: a token in 10 ms";
}

TEST(PublicReport, genai_bench_100_an_inference_speed_of_4008080_tokens_a_second) {
  RequestRecord record;
  record.sent_ns = 1;
  record.first_token_ns = record.first_visible_ns = 50 * kMs;
  record.last_token_ns = record.ended_ns = 50 * kMs + 249;
  record.events = record.output_tokens = 2;
  EXPECT_TRUE(is_buffered(record));
  EXPECT_FALSE(tpot_of(record));
}

TEST(PublicReport, genai_bench_81_hidden_reasoning_makes_the_first_chunk_large) {
  const auto record =
      chat({content_of("content", "a b c d e f"), kWord, kWord,
            kStop + usage_event(30, R"(,"completion_tokens_details":{"reasoning_tokens":22})") + event_of("[DONE]")});
  EXPECT_EQ(record.output_tokens, 30);
  EXPECT_EQ(record.reasoning_tokens, 22);
  const auto result = evaluated({record});
  EXPECT_EQ(*result.tokens.tokens_per_event, 10) << "said, as TPOT and speed rest on it";
  EXPECT_EQ(metric_of(result, "itl"), nullptr) << "events of several tokens are not called gaps between tokens";
}

TEST(PublicReport, genai_bench_205_reasoning_deltas_are_no_first_visible_token) {
  const auto record = chat({content_of("reasoning_content", "hm"), content_of("reasoning", "hm"), kWord, kEnd});
  EXPECT_EQ(record.first_token_ns, 10 * kMs + 1);
  EXPECT_EQ(record.first_visible_ns, 30 * kMs + 1);
}

TEST(PublicReport, genai_bench_217_an_answer_of_tool_calls_has_tokens) {
  const auto call = event_of(R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]})");
  const auto record = chat({call, call, kEnd});
  EXPECT_EQ(record.fault, Fault::none);
  EXPECT_TRUE(ttft_of(record));
}

TEST(PublicReport, guidellm_444_failed_requests_change_no_latency) {
  const auto answered = chat({kWord, kWord, kEnd});
  auto failed = answered;
  failed.fault = Fault::timeout;
  failed.first_token_ns = failed.first_visible_ns = 9'000 * kMs;
  const auto result = evaluated({answered, failed}, 100 * kMs);
  EXPECT_NEAR(mean_in(result, "ttft"), 0.01, 1e-6);
  EXPECT_NEAR(mean_in(result, "request_throughput"), 10, 0.1) << "one answer in 100 ms";
}

TEST(PublicReport, guidellm_216_no_negative_first_token_where_no_stream_came) {
  RequestRecord record;
  record.sent_ns = 5 * kMs;
  AnswerReader reader(kChat);
  reader.begin(record);
  const std::string body = R"({"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]})";
  reader.take("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                  "\r\n\r\n" + body,
              9 * kMs);
  EXPECT_EQ(record.fault, Fault::none);
  EXPECT_FALSE(ttft_of(record));
  EXPECT_NEAR(*e2e_of(record), 0.004, 1e-9);
}

TEST(PublicReport, guidellm_1145_gaps_between_tokens_are_pooled_and_no_mean_of_a_request) {
  auto stalls = chat({kWord, kWord, kWord, kWord, kEnd});
  stalls.gaps_s[1] = 0.4F;
  const auto result = evaluated({stalls});
  EXPECT_EQ(metric_of(result, "itl")->n, 3);
  EXPECT_NEAR(metric_of(result, "itl")->max, 0.4, 1e-6) << "one stall is seen";
}

TEST(PublicReport, guidellm_464_mean_p95_and_p99_are_all_there) {
  std::vector<double> samples(400);
  std::iota(samples.begin(), samples.end(), 1.0);
  const auto metric = request_metric("ttft", "s", Better::lower, samples, 0.95);
  for (const double p : {0.5, 0.95, 0.99}) EXPECT_TRUE(percentile_of(metric, p)->interval) << p;
  EXPECT_EQ(metric.mean, 200.5);
  EXPECT_NEAR(metric.stdev, 115.6, 0.1);
}

TEST(PublicReport, guidellm_470_a_thousand_requests_have_the_rate_of_their_time) {
  std::vector<RequestRecord> records;
  for (int i = 0; i < 1000; ++i) {
    auto record = chat({kWord, kWord, kEnd});
    for (auto* at : {&record.intended_ns, &record.sent_ns, &record.first_byte_ns, &record.first_token_ns,
                     &record.first_visible_ns, &record.last_token_ns, &record.ended_ns}) {
      *at += i * kMs;
    }
    records.push_back(record);
  }
  const auto result = evaluated(records);
  EXPECT_NEAR(mean_in(result, "request_throughput"), 1000 / result.wall_s, 1e-3);
  EXPECT_NEAR(mean_in(result, "output_throughput"), 2000 / result.wall_s, 1e-3);
}

TEST(PublicReport, vllm_7242_the_first_token_is_no_gap_between_tokens) {
  const auto record = chat({"", "", "", kWord, kWord, kWord, kEnd});
  ASSERT_EQ(record.gaps_s.size(), 2U);
  for (const float gap : record.gaps_s) EXPECT_NEAR(gap, 0.01, 1e-6);
}

TEST(PublicReport, vllm_6531_gaps_and_time_per_token_agree_where_events_are_tokens) {
  const auto result = evaluated({chat({kWord, kWord, kWord, kWord, kStop + usage_event(4) + event_of("[DONE]")})});
  EXPECT_NEAR(mean_in(result, "itl"), mean_in(result, "tpot"), 1e-9);
}

TEST(PublicReport, vllm_27485_gaps_are_divided_by_the_tokens_of_an_event) {
  const auto reported = [](int tokens) {
    return R"(,"usage":{"prompt_tokens":9,"completion_tokens":)" + std::to_string(tokens) + "}";
  };
  const auto result =
      evaluated({chat({content_of("content", "a", reported(1)), content_of("content", "b c d e", reported(5)), kEnd})});
  EXPECT_EQ(metric_of(result, "itl")->n, 4);
  EXPECT_NEAR(mean_in(result, "itl"), 0.0025, 1e-6);
  EXPECT_NEAR(mean_in(result, "chunk_gap"), 0.01, 1e-6) << "the gap between events stands apart";
}

TEST(PublicReport, vllm_19776_speculative_decoding_has_a_time_per_token_by_usage) {
  const auto record = chat({kWord, kWord, kWord, kStop + usage_event(9) + event_of("[DONE]")});
  EXPECT_NEAR(*tpot_of(record), 0.02 / 8, 1e-9);
}

TEST(PublicReport, vllm_14795_a_first_chunk_of_a_role_alone_is_no_failure) {
  const auto role = event_of(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})");
  const auto record = chat({role, kWord, kEnd});
  EXPECT_EQ(record.fault, Fault::none);
  EXPECT_NEAR(*ttft_of(record), 0.02, 1e-6);
}

TEST(PublicReport, vllm_54101_waiting_in_the_client_is_in_the_time_from_when_a_request_was_due) {
  auto record = chat({kWord, kWord, kEnd});
  record.intended_ns = record.sent_ns;
  for (auto* at : {&record.sent_ns, &record.first_byte_ns, &record.first_token_ns, &record.first_visible_ns,
                   &record.last_token_ns, &record.ended_ns}) {
    *at += 1'400 * kMs;
  }
  const auto result = evaluated({record});
  EXPECT_NEAR(mean_in(result, "e2e"), 0.02, 1e-6);
  EXPECT_NEAR(mean_in(result, "e2e_from_due"), 1.42, 1e-6);
}

TEST(PublicReport, vllm_21104_a_rate_of_200_is_not_183) {
  for (const char* law : {"constant", "poisson", "gamma:0.5"}) {
    const auto times = due_times_ns(*parse_arrivals(law, 200), 100, 1'000'000, 3);
    EXPECT_NEAR(static_cast<double>(times.size()) / 100, 200, 6)
        << law << ": by absolute times, whatever sending takes";
  }
}

TEST(PublicReport, sglang_12389_times_that_are_not_known_are_not_0) {
  auto record = chat({kWord, kWord, kEnd});
  record.first_token_ns = record.first_visible_ns = 0;
  record.gaps_s.clear();
  const auto result = evaluated({record});
  EXPECT_EQ(metric_of(result, "ttft"), nullptr);
  EXPECT_EQ(metric_of(result, "itl"), nullptr);
  EXPECT_EQ(metric_of(result, "tpot"), nullptr);
}

TEST(PublicReport, llmperf_99_time_per_token_has_no_first_token_and_counts_tokens) {
  const auto record = chat({"", "", kWord, kWord, kWord, kStop + usage_event(7) + event_of("[DONE]")});
  EXPECT_NEAR(*tpot_of(record), 0.02 / 6, 1e-9);
}

TEST(PublicReport, aiperf_1076_an_event_of_errors_within_200_is_no_success) {
  const auto record = chat({kWord, "event: error\ndata: {\"message\":\"engine died\"}\n\n"});
  EXPECT_EQ(record.fault, Fault::stream_error);
  EXPECT_EQ(record.message, "engine died");
}

TEST(PublicReport, aiperf_578_the_servers_count_stands_whatever_the_words_become) {
  const auto record =
      chat({content_of("content", "many words in one event"), kWord, kStop + usage_event(1023) + event_of("[DONE]")});
  EXPECT_EQ(output_tokens_of(record), 1023);
}

TEST(PublicReport, perf_analyzer_176_comments_between_events_are_passed_over) {
  const auto record = chat({":\n\n", kWord, ": ping\r\n\r\n", kWord, ":\n\n" + kEnd});
  EXPECT_EQ(record.fault, Fault::none) << record.message;
  EXPECT_EQ(record.events, 2);
}

}  // namespace
}  // namespace warpmark::serving
