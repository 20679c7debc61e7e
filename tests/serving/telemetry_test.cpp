#include "serving/results/telemetry.h"

#include <gmock/gmock.h>

#include "serving/files/outcome_file.h"
#include "serving/records_fixture.h"
#include "serving/results/sessions.h"

namespace warpmark::serving {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPage = R"(# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).
# TYPE DCGM_FI_DEV_POWER_USAGE gauge
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1",modelName="a {b}"} 300.5
DCGM_FI_DEV_POWER_USAGE{gpu="1",UUID="GPU-2"} 199.5 1700000000000
DCGM_FI_DEV_GPU_UTIL{gpu="0"} 80
DCGM_FI_DEV_GPU_UTIL{gpu="1"} 60
DCGM_FI_DEV_FB_USED{gpu="0"} 1024
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0"} 5000000
vllm:num_requests_waiting{model_name="m"} 3
vllm:kv_cache_usage_perc NaN
broken{ 4
)";

TEST(Telemetry, reads_what_exporters_write) {
  const auto values = telemetry_of_page(kPage);
  ASSERT_TRUE(values.ok()) << values.error().what;
  EXPECT_DOUBLE_EQ(values->at("power"), 500);
  EXPECT_DOUBLE_EQ(values->at("utilization"), 0.7);
  EXPECT_DOUBLE_EQ(values->at("memory"), 1073741824.0);
  EXPECT_DOUBLE_EQ(values->at("energy"), 5000);
  EXPECT_DOUBLE_EQ(values->at("requests_waiting"), 3);
  EXPECT_FALSE(values->contains("cache_usage"));
  EXPECT_THAT(telemetry_of_page("go_threads 7\n").error().hint, HasSubstr("DCGM"));
}

/// 100 tokens/s and 2 requests/s from second 0 to 10.
ScenarioResult steady() {
  ScenarioResult result{.window_s = 10};
  result.began_ns = 1'000'000'000;
  result.metrics.push_back({.id = "output_throughput", .unit = "1/s", .n = 20, .mean = 100});
  result.metrics.push_back(
      {.id = "request_throughput", .unit = "1/s", .n = 20, .mean = 2, .mean_interval = Interval{1.6, 2.5, 0.95}});
  return result;
}

TEST(Telemetry, gives_tokens_per_joule_by_the_counter_or_by_power) {
  ScenarioResult result = steady();
  // Power is sampled where it is low; the counter knows of what is between.
  add_telemetry({{1'000'000'000, {{"power", 50}, {"energy", 100}}},
                 {6'000'000'000, {{"power", 50}, {"energy", 600}}},
                 {11'000'000'000, {{"power", 50}, {"energy", 1100}}},
                 {60'000'000'000, {{"power", 900}, {"energy", 9000}}}},
                result);
  EXPECT_DOUBLE_EQ(metric_of(result, "tokens_per_joule")->mean, 1.0);
  EXPECT_DOUBLE_EQ(metric_of(result, "gpu_power")->max, 50) << "the last sample is after the load";
  ScenarioResult by_power = steady();
  add_telemetry({{1'000'000'000, {{"power", 40}}}, {11'000'000'000, {{"power", 60}}}}, by_power);
  EXPECT_DOUBLE_EQ(metric_of(by_power, "tokens_per_joule")->mean, 2.0);
}

TEST(Cost, is_the_price_of_the_time_divided_by_what_was_done) {
  ScenarioResult result = steady();
  add_cost(7.2, result);
  EXPECT_DOUBLE_EQ(metric_of(result, "cost_per_request")->mean, 0.001);
  EXPECT_DOUBLE_EQ(metric_of(result, "cost_per_request")->mean_interval->low, 0.0008);
  EXPECT_DOUBLE_EQ(metric_of(result, "cost_per_million_output_tokens")->mean, 20);
  EXPECT_EQ(metric_of(result, "cost_per_million_input_tokens"), nullptr) << "no input was counted";
}

RequestRecord turn_of(std::uint32_t prepared, int turn, double from_s, double took_s) {
  RequestRecord record;
  record.prepared = prepared;
  record.turn = turn;
  record.intended_ns = record.sent_ns = 1 + static_cast<std::int64_t>(from_s * 1e9);
  record.ended_ns = record.last_token_ns = record.sent_ns + static_cast<std::int64_t>(took_s * 1e9);
  return record;
}

TEST(Sessions, keep_the_time_outside_the_server_apart) {
  ScenarioResult result;
  // Two users hold the same prepared conversation at the same time; a third one has only its first turn.
  const RequestRecords records = stored(
      {turn_of(4, 0, 0, 1), turn_of(4, 0, 0.5, 1), turn_of(5, 1, 3, 1), turn_of(5, 1, 3.5, 2), turn_of(8, 0, 0, 1)});
  LoadPlan plan;
  plan.requests.resize(9);
  plan.requests[5].pause_ns = 1'500'000'000;
  plan.requests[5].tool_ns = 500'000'000;
  add_sessions(records, plan, 2, 0.95, result);
  const auto* session = metric_of(result, "session");
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->n, 2);
  EXPECT_THAT(session->samples,
              ::testing::UnorderedElementsAre(::testing::DoubleNear(4, 1e-6), ::testing::DoubleNear(5, 1e-6)));
  EXPECT_NEAR(metric_of(result, "session_external_share")->samples[0], 0.5, 1e-6);
  EXPECT_NEAR(metric_of(result, "e2e_turn_2")->mean, 1.5, 1e-6);
  // Turns end after 1 s, or 1.5 s, and the next is sent after 3 s, or 3.5 s: 2 s between, 1.5 s of them meant.
  EXPECT_NEAR(metric_of(result, "session_tool_share")->samples[0], 0.5 / 4, 1e-6);
  EXPECT_NEAR(metric_of(result, "session_transfer_share")->samples[0], 0.5 / 4, 1e-6);
  ScenarioResult single;
  add_sessions(records, plan, 1, 0.95, single);
  EXPECT_TRUE(single.metrics.empty());
}

std::string sent(const LoadOutcome& outcome) {
  std::string text;
  const Status all = send_outcome(outcome, "here", [&](std::string_view bytes) {
    text.append(bytes);
    return Status();
  });
  EXPECT_TRUE(all.ok());
  return text;
}

/// As it arrives in pieces.
Result<LoadOutcome> received(std::string_view text, std::size_t piece) {
  WM_ASSIGN(const auto spool, RecordSpool::open({}));
  OutcomeReader reader([&](std::string block) { spool->take(std::move(block)); });
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) WM_TRY(reader.take(text.substr(0, piece)));
  WM_ASSIGN(LoadOutcome outcome, reader.finish());
  WM_ASSIGN(outcome.records, spool->finish(outcome.gaps_of_one_in));
  return outcome;
}

TEST(OutcomeFile, says_everything_exactly) {
  LoadOutcome outcome;
  outcome.began_ns = 5'000'000'123;
  outcome.stopped_ns = 6'000'000'123;
  outcome.ended_ns = 7'000'000'123;
  outcome.stopped_because = "time is up";
  outcome.never_sent = 3;
  for (const std::int64_t ns : std::vector<std::int64_t>{10, 1000, 123456, 9999999999}) outcome.send_lag.add(ns);
  RequestRecord record = turn_of(7, 0, 0, 0);
  record.intended_ns = outcome.began_ns;
  record.ended_ns = outcome.began_ns + 42;
  record.first_byte_ns = 0;
  record.gaps_s = {0.001F, 0.0020000001F};
  record.fault = Fault::http_status;
  record.status = 503;
  record.message = "busy \"\n\xff";
  outcome.records = stored({record});
  const std::string text = sent(outcome);
  const auto read = received(text, text.size());
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_EQ(read->ended_ns - read->began_ns, 2'000'000'000);
  EXPECT_EQ(read->send_lag.counts(), outcome.send_lag.counts());
  EXPECT_EQ(read->send_lag.n(), 4U);
  ASSERT_EQ(read->records.size(), 1U);
  const RequestRecord same = all_of(read->records).front();
  EXPECT_EQ(same.intended_ns, 1);
  EXPECT_EQ(same.ended_ns, 43);
  EXPECT_EQ(same.first_byte_ns, 0);
  EXPECT_EQ(same.gaps_s, record.gaps_s);
  EXPECT_EQ(same.fault, Fault::http_status);
  EXPECT_EQ(same.message, record.message);
  EXPECT_TRUE(received(text, 1).ok()) << "byte by byte";
  EXPECT_FALSE(received(text.substr(0, text.size() / 2), text.size()).ok());
  EXPECT_FALSE(received(text.substr(0, text.size() - 1), text.size()).ok());
  EXPECT_FALSE(received(text + "more", text.size()).ok());
  EXPECT_FALSE(received("", 1).ok());
  EXPECT_FALSE(received("{\"requests\": 0}\n", 100).ok());
}

}  // namespace
}  // namespace warpmark::serving
