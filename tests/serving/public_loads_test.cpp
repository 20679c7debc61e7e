// What users of other load testers reported of whole loads, recreated against the reference server, and of prompts and
// results: one test for each report. docs/results/public-reports.md has the links.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "serving/answers_fixture.h"
#include "serving/load_fixture.h"
#include "serving/results/verdicts.h"
#include "serving/traffic/dataset.h"

namespace warpmark::serving {
namespace {

std::string prompt_of(const PreparedRequest& request) {
  const std::string body = request.bytes.substr(request.body_at);
  return Json::parse(body).at("messages").at(0).at("content").get<std::string>();
}

/// Of a load that sent all it was asked for and had these answers.
ScenarioResult result_of(const std::vector<RequestRecord>& records, std::int64_t input_tokens = 0) {
  LoadOutcome outcome;
  outcome.records = stored(records);
  outcome.began_ns = 1;
  outcome.everything_sent = true;
  outcome.stopped_ns = outcome.ended_ns = records.back().ended_ns;
  LoadPlan plan;
  plan.requests.resize(1);
  plan.requests.front().input_tokens = input_tokens;
  return evaluate_load(std::move(outcome), plan, {.find_warmup = false});
}

std::string usage_of(const std::string& counts) {
  return event_of(R"({"choices":[],"usage":{"completion_tokens":1,)" + counts + "}}");
}

LoadPlan planned(const Traffic& traffic) {
  auto plan = prepare_load(target_of("http://127.0.0.1:1"), traffic, {});
  EXPECT_TRUE(plan.ok()) << plan.error().what;
  return std::move(*plan);
}

TEST(PublicReport, llmperf_63_requests_need_not_divide_by_users) {
  const auto server = serve(quick());
  const Measured measured = measure(target_of(server->url()), traffic_of("D(10,3)", 4, 10));
  EXPECT_EQ(measured.result.completed, 10) << measured.result.first_error;
}

TEST(PublicReport, llmperf_82_as_many_requests_as_asked_for_with_lengths_that_vary) {
  const auto server = serve(quick());
  const Measured measured = measure(target_of(server->url()), traffic_of("N(2048,1024)/(8,4)", 20, 20));
  EXPECT_EQ(measured.result.completed, 20) << measured.result.first_error;
  EXPECT_EQ(server->counts().requests.load(), 20);
  std::set<std::int64_t> lengths;
  for (const auto& record : measured.outcome.records) lengths.insert(record.prompt_tokens);
  EXPECT_GT(lengths.size(), 10U) << "normal lengths, not two";
}

TEST(PublicReport, llmperf_59_a_user_asks_again_while_others_wait_for_their_answers) {
  auto options = quick();
  options.script.jitter = 1;
  const auto server = serve(options);
  const Measured measured = measure(target_of(server->url()), traffic_of("U(5,10)/(2,40)", 4, 40));
  auto records = all_of(measured.outcome.records);
  std::ranges::sort(records, {}, &RequestRecord::begun_ns);
  ASSERT_EQ(records.size(), 40U);
  bool overlaps = false;
  for (std::size_t i = 4; i < records.size(); i += 4) {  // batches would begin here, after all that began before
    for (std::size_t k = 0; k < i; ++k) overlaps |= records[k].ended_ns > records[i].begun_ns;
  }
  EXPECT_TRUE(overlaps);
}

TEST(PublicReport, guidellm_47_users_are_requests_at_a_time) {
  const auto server = serve(quick());
  EXPECT_EQ(measure(target_of(server->url()), traffic_of("D(5,5)", 4, 40)).result.completed, 40);
  EXPECT_LE(server->counts().most_streams.load(), 4);
}

TEST(PublicReport, guidellm_431_levels_in_any_order_end) {
  const auto server = serve(quick());
  for (const std::int64_t users : {99, 5, 10, 1, 50}) {
    const Measured measured = measure(target_of(server->url()), traffic_of("D(5,2)", users, 2 * users));
    EXPECT_EQ(measured.result.completed, 2 * users) << users << " users: " << measured.result.first_error;
  }
}

TEST(PublicReport, guidellm_75_prompt_tokens_are_the_servers_with_its_template) {
  const RequestRecord record = read_answer({kWord, kStop + usage_of(R"("prompt_tokens":131)")}, "", kChat);
  EXPECT_EQ(metric_of(result_of({record}, 100), "input_tokens")->mean, 131) << "asked for 100";
}

TEST(PublicReport, vllm_4987_a_load_without_any_token_has_a_result) {
  const RequestRecord empty = read_answer({kStop + event_of("[DONE]")}, "", kChat);
  EXPECT_EQ(empty.fault, Fault::empty);
  const ScenarioResult result = result_of({empty, empty});
  EXPECT_EQ(result.completed, 0);
  EXPECT_EQ(result.failed, 2);
  EXPECT_EQ(metric_of(result, "ttft"), nullptr);
  EXPECT_EQ(metric_of(result, "tpot"), nullptr);
}

TEST(PublicReport, vllm_26478_and_genai_bench_155_failed_requests_are_counted_by_their_kind) {
  auto options = quick();
  options.script.status_429 = 0.5;
  const auto server = serve(options);
  const Measured measured = measure(target_of(server->url()), traffic_of("D(5,2)", 2, 40));
  EXPECT_GT(measured.result.failed, 0);
  EXPECT_EQ(measured.result.completed + measured.result.failed, 40);
  EXPECT_EQ(measured.result.errors.at("http_429"), measured.result.failed);
}

TEST(PublicReport, genai_bench_165_embeddings_have_no_time_per_token_and_no_failure) {
  const auto server = serve(quick());
  const Measured measured = measure(target_of(server->url(), "embeddings"), traffic_of("E(64)", 1, 10));
  EXPECT_EQ(measured.result.completed, 10) << measured.result.first_error;
  EXPECT_EQ(metric_of(measured.result, "tpot"), nullptr);
  EXPECT_NE(metric_of(measured.result, "e2e"), nullptr);
}

TEST(PublicReport, vllm_20083_a_shared_prefix_is_not_the_whole_prompt) {
  Traffic traffic = traffic_of("D(64,2)", 2, 2);
  traffic.prefix_tokens = 32;
  const LoadPlan plan = planned(traffic);
  ASSERT_EQ(plan.requests.size(), 2U);
  const std::string a = prompt_of(plan.requests[0]), b = prompt_of(plan.requests[1]);
  const auto common = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const auto words = [](std::string_view text) { return std::ranges::count(text, ' '); };
  EXPECT_GE(words(a.substr(0, common)), 32);
  EXPECT_LE(words(a.substr(0, common)), 34) << "the number of the request, and words of its own, follow";
  EXPECT_GE(words(a), 63);
}

TEST(PublicReport, vllm_52884_another_run_has_other_prompts) {
  Traffic first = traffic_of("D(64,2)", 4, 8), second = first;
  second.seed = first.seed + 1;
  const LoadPlan a = planned(first), b = planned(second);
  EXPECT_NE(a.first_serial, b.first_serial);
  for (const auto& x : a.requests) {
    for (const auto& y : b.requests) EXPECT_NE(prompt_of(x).substr(8, 60), prompt_of(y).substr(8, 60));
  }
}

TEST(PublicReport, vllm_54227_prompts_that_the_server_had_cached_contradict_the_claim) {
  const RequestRecord cached = read_answer(
      {kWord, kStop + usage_of(R"("prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":90})")}, "", kChat);
  EXPECT_EQ(cached.cached_tokens, 90);
  const ScenarioResult result = result_of(std::vector<RequestRecord>(20, cached));
  EXPECT_NEAR(*result.prompts.cached, 0.9, 1e-9);
  EXPECT_NE(result.prompts.warning, "");
}

TEST(PublicReport, vllm_10847_a_prompt_is_longer_than_asked_for_and_the_result_reports_it) {
  const RequestRecord longer = read_answer({kWord, kStop + usage_of(R"("prompt_tokens":130)")}, "", kChat);
  const ScenarioResult result = result_of(std::vector<RequestRecord>(20, longer), 100);
  EXPECT_EQ(*result.tokens.input_asked, 100);
  EXPECT_EQ(*result.tokens.input_reported, 130);
  EXPECT_FALSE(result.tokens.disagreements.empty());
}

TEST(PublicReport, vllm_23820_throughput_has_all_of_the_time_and_speed_only_that_of_generation) {
  std::vector<std::string> pieces(99, "");  // a second of prefill
  for (int i = 0; i < 11; ++i) pieces.push_back(kWord);
  pieces.back() += kStop + event_of("[DONE]");
  const RequestRecord slow = read_answer(pieces, "", kChat);
  const ScenarioResult result = result_of({slow});
  EXPECT_NEAR(metric_of(result, "output_throughput")->mean, 11 / 1.1, 0.1);
  EXPECT_NEAR(metric_of(result, "output_speed")->mean, 100, 1e-3);
}

TEST(PublicReport, aiperf_368_every_event_of_a_read_counts) {
  const RequestRecord record =
      read_answer({kWord, kWord + kWord + kWord, kWord + kStop + event_of("[DONE]")}, "", kChat);
  EXPECT_EQ(record.events, 5);
  EXPECT_EQ(record.fault, Fault::none);
}

TEST(PublicReport, aiperf_380_a_rate_with_a_limit_in_flight_keeps_both) {
  const auto server = serve(quick());
  Traffic traffic = traffic_of("D(5,10)", 2, 0);
  traffic.arrivals = {.kind = ArrivalKind::constant, .rate = 500};
  traffic.duration_s = 0.2;
  const Measured measured = measure(target_of(server->url()), traffic);
  EXPECT_GT(measured.result.completed, 0);
  EXPECT_LE(server->counts().most_streams.load(), 2);
}

TEST(PublicReport, aiperf_480_more_users_than_a_usual_number_of_requests) {
  const auto server = serve(quick());
  Traffic traffic = traffic_of("D(5,2)", 30, 0);
  traffic.duration_s = 0.1;
  traffic.least_requests = 30;
  const Measured measured = measure(target_of(server->url()), traffic);
  EXPECT_GE(measured.result.completed, 30) << measured.result.first_error;
}

TEST(PublicReport, aiperf_531_a_connection_for_each_request) {
  const auto server = serve(quick());
  const Measured measured = measure(target_of(server->url()), traffic_of("D(5,2)", 2, 12),
                                    [](LoadPlan& plan) { plan.keep_connections = false; });
  EXPECT_EQ(measured.result.completed, 12) << measured.result.first_error;
  EXPECT_GE(server->counts().connections.load(), 12);
}

class TraceReports : public ::testing::Test {
 protected:
  TraceReports() : folder_(std::filesystem::temp_directory_path() / fmt::format("warpmark_trace_{}", getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~TraceReports() override { std::filesystem::remove_all(folder_); }

  LoadPlan replayed(const std::string& text, double speed = 1) {
    EXPECT_TRUE(write_file(folder_ / "trace.jsonl", text).ok());
    auto trace = read_trace(folder_ / "trace.jsonl");
    EXPECT_TRUE(trace.ok()) << trace.error().what;
    Traffic traffic = traffic_of("D(1,1)", 0, 0);
    traffic.arrivals.kind = ArrivalKind::trace;
    traffic.trace = std::move(*trace);
    traffic.trace_speed = speed;
    return planned(traffic);
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(TraceReports, dynamo_14254_a_row_is_a_whole_request_with_the_length_it_has) {
  const LoadPlan plan = replayed(
      "{\"timestamp\":0,\"input_length\":600,\"output_length\":2,\"hash_ids\":[1,2]}\n"
      "{\"timestamp\":10,\"input_length\":1100,\"output_length\":2,\"hash_ids\":[1,2,3]}\n");
  ASSERT_EQ(plan.requests.size(), 2U);
  const std::string first = prompt_of(plan.requests[0]), second = prompt_of(plan.requests[1]);
  const auto words = [](std::string_view text) { return std::ranges::count(text, ' '); };
  EXPECT_NEAR(static_cast<double>(words(first)), 600, 2);
  EXPECT_NEAR(static_cast<double>(words(second)), 1100, 2) << "the turn before it is not added again";
  EXPECT_EQ(first.substr(0, 2000), second.substr(0, 2000)) << "equal blocks are equal text";
}

TEST_F(TraceReports, aiperf_1129_a_trace_keeps_its_times_and_a_speed_divides_them) {
  const std::string rows =
      "{\"timestamp\":100,\"input_length\":6,\"output_length\":2}\n"
      "{\"timestamp\":2100,\"input_length\":6,\"output_length\":2}\n";
  EXPECT_EQ(replayed(rows).due_ns, (std::vector<std::int64_t>{0, 2'000'000'000}));
  EXPECT_EQ(replayed(rows, 2).due_ns, (std::vector<std::int64_t>{0, 1'000'000'000}));
}

}  // namespace
}  // namespace warpmark::serving
