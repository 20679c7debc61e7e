// The load client against the reference server over real sockets, and against a server that does as it likes.
#include "serving/client/load_client.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "base/subprocess.h"
#include "http/client.h"
#include "serving/client/prepare_load.h"
#include "serving/load_fixture.h"
#include "serving/reference/reference_server.h"
#include "serving/results/evaluate_load.h"

namespace warpmark::serving {
namespace {

TEST(LoadClient, measures_every_request_of_a_closed_loop) {
  const auto server = serve(quick());
  const Measured measured = measure(target_of(server->url()), traffic_of("D(20,10)", 4, 40));
  EXPECT_EQ(measured.result.sent, 40);
  EXPECT_EQ(measured.result.completed, 40) << measured.result.first_error;
  EXPECT_EQ(measured.result.stopped_because, "all requests were sent");
  for (const auto& record : measured.outcome.records) {
    EXPECT_EQ(record.events, 10);
    EXPECT_EQ(record.output_tokens, 10);
    EXPECT_GE(record.first_token_ns, record.sent_ns + 5'000'000) << "the server waits so long";
    EXPECT_GE(record.last_token_ns, record.first_token_ns) << "a busy machine may hand over all at once";
    EXPECT_GE(record.last_token_ns, record.sent_ns + 14'000'000) << "nine more of a millisecond each";
    EXPECT_LE(record.intended_ns, record.sent_ns);
  }
  EXPECT_EQ(server->counts().connections.load(), 4) << "connections are kept";
  // Of a client that a busy machine kept from reading, an answer arrives at once.
  const LoadMetric* gaps = metric_of(measured.result, "itl");
  EXPECT_EQ(gaps == nullptr ? 0 : gaps->n, (40 - measured.result.buffered) * 9);
  EXPECT_EQ(measured.result.tokens.source, "usage");
  EXPECT_NEAR(*measured.result.tokens.tokens_per_event, 1, 1e-9);
}

TEST(LoadClient, speaks_every_api) {
  const auto server = serve(quick());
  for (const char* api : {"chat", "completions", "responses", "messages"}) {
    for (const bool stream : {true, false}) {
      Target target = target_of(server->url(), api);
      target.stream = stream;
      const Measured measured = measure(target, traffic_of("D(20,5)", 2, 6));
      EXPECT_EQ(measured.result.completed, 6) << api << (stream ? " streaming: " : ": ") << measured.result.first_error;
      EXPECT_EQ(metric_of(measured.result, "output_tokens")->mean, 5) << api;
      EXPECT_EQ(metric_of(measured.result, "ttft") != nullptr, stream)
          << "the first token is not seen apart without a stream";
    }
  }
  EXPECT_EQ(measure(target_of(server->url(), "embeddings"), traffic_of("E(16)", 2, 6)).result.completed, 6);
  EXPECT_EQ(measure(target_of(server->url(), "rerank"), traffic_of("R(16,4)", 2, 6)).result.completed, 6);
  EXPECT_EQ(measure(target_of(server->url(), "vision"), traffic_of("I(16,16)", 1, 2)).result.completed, 2);
}

TEST(LoadClient, sends_at_the_times_of_an_open_loop_whatever_the_server_does) {
  auto options = quick();
  options.script.ttft_s = 0.3;
  const auto server = serve(options);
  Traffic traffic = traffic_of("D(5,2)", 0, 0);
  traffic.arrivals = {.kind = ArrivalKind::constant, .rate = 50};
  traffic.duration_s = 1;
  const Measured measured = measure(target_of(server->url()), traffic);
  EXPECT_EQ(measured.result.sent, 50);
  EXPECT_EQ(measured.result.completed, 50);
  EXPECT_GE(server->counts().most_streams.load(), 2) << "requests do not wait for answers";
}

TEST(LoadClient, tells_waiting_for_a_place_as_queue_delay) {
  const auto server = serve(quick());
  Traffic traffic = traffic_of("D(5,10)", 1, 0);  // at most one at a time, of 14 ms or more each, every 5 ms
  traffic.arrivals = {.kind = ArrivalKind::constant, .rate = 200};
  traffic.duration_s = 0.2;
  const Measured measured = measure(target_of(server->url()), traffic);
  EXPECT_GT(measured.result.completed, 0);
  EXPECT_GT(metric_of(measured.result, "queue_delay")->max, 0.02);
  EXPECT_GT(metric_of(measured.result, "e2e_from_due")->max, metric_of(measured.result, "e2e")->max);
}

TEST(LoadClient, lets_no_request_overtake_one_that_waits_for_a_place) {
  const auto server = serve(quick());
  Traffic traffic = traffic_of("D(5,10)", 0, 0);
  traffic.arrivals = {.kind = ArrivalKind::constant, .rate = 1000};  // one may be under way, of 14 ms or more
  traffic.duration_s = 0.5;
  const Measured measured = measure(target_of(server->url()), traffic, [](LoadPlan& plan) { plan.users = 1; });
  ASSERT_GT(measured.result.completed, 5);
  std::int64_t last_begun_ns = 0;
  for (const auto& record : measured.outcome.records) {  // by when they were due
    EXPECT_GT(record.begun_ns, last_begun_ns);
    last_begun_ns = record.begun_ns;
  }
}

TEST(LoadClient, keeps_the_turns_of_a_conversation_in_order) {
  const auto server = serve(quick());
  Traffic traffic = traffic_of("D(10,4)", 2, 12);
  traffic.conversations = {.turns = 3, .think_s = 0.01, .think_varies = false};
  const Measured measured = measure(target_of(server->url()), traffic);
  EXPECT_EQ(measured.result.completed, 12);
  std::int64_t tokens[3] = {0, 0, 0};
  for (const auto& record : measured.outcome.records) {
    ASSERT_LT(record.turn, 3);
    tokens[record.turn] = record.prompt_tokens;
  }
  EXPECT_LT(tokens[0], tokens[1]) << "a later turn holds the earlier ones";
  EXPECT_LT(tokens[1], tokens[2]);
}

TEST(LoadClient, chains_the_turns_of_a_conversation_over_servers) {
  const auto first = serve(quick()), second = serve(quick());
  Traffic traffic = traffic_of("D(10,4)", 1, 12);
  traffic.conversations = {.turns = 2, .tool_s = 0.005, .chained = true};
  Target target = target_of(first->url());
  target.bases.push_back(*http::parse_url(second->url()));
  const Measured measured = measure(target, traffic);
  EXPECT_EQ(measured.result.completed, 12);
  // Each conversation has one turn at either.
  EXPECT_EQ(first->counts().requests.load(), 6);
  EXPECT_EQ(second->counts().requests.load(), 6);
}

TEST(LoadClient, counts_each_class_of_failure) {
  struct Case {
    double ReferenceScript::*share;
    const char* name;
  };
  for (const auto& [share, name] :
       {Case{&ReferenceScript::status_500, "http_500"}, Case{&ReferenceScript::status_429, "http_429"},
        Case{&ReferenceScript::truncate, "truncated"}, Case{&ReferenceScript::stream_error, "stream_error_500"},
        Case{&ReferenceScript::stall, "stall"}}) {
    auto options = quick();
    options.script.*share = 1;
    const auto server = serve(options);
    Traffic traffic = traffic_of("D(5,20)", 2, 2);
    const Measured measured =
        measure(target_of(server->url()), traffic, [](LoadPlan& plan) { plan.stall_timeout_s = 0.3; });
    EXPECT_EQ(measured.result.completed, 0) << name;
    EXPECT_EQ(measured.result.errors.count(name), 1U) << name << " but " << measured.result.first_error;
    EXPECT_EQ(measured.result.failed, 2) << name;
  }
}

TEST(LoadClient, tells_a_reset_from_an_end) {
  auto options = quick();
  options.script.reset = 1;
  const auto server = serve(options);
  const Measured measured = measure(target_of(server->url()), traffic_of("D(5,50)", 1, 3));
  EXPECT_EQ(measured.result.failed, 3);
  const auto found = measured.result.errors.find("reset");
  EXPECT_TRUE(found != measured.result.errors.end()) << measured.result.first_error;
}

TEST(LoadClient, ends_at_once_where_no_server_is) {
  auto listening = http::listen_on(http::resolve("127.0.0.1", 0)->front());
  ASSERT_TRUE(listening.ok());
  const std::string url = "http://" + http::local_address(*listening).text();
  listening->close();
  auto plan = prepare_load(target_of(url), traffic_of("D(5,5)", 1, 1), {});
  ASSERT_TRUE(plan.ok());
  const auto outcome = run_load_on(std::move(*plan), 1, {});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind, ErrorKind::environment);
  EXPECT_NE(outcome.error().what.find("refused"), std::string::npos) << outcome.error().what;
}

TEST(LoadClient, keeps_what_was_measured_when_interrupted) {
  auto options = quick();
  options.script.ttft_s = 0.002;
  const auto server = serve(options);
  std::atomic<bool> interrupted{false};
  LiveCounters live;
  std::thread interrupter([&] {
    for (int i = 0; i < 2000 && live.completed.load() < 10; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    interrupted.store(true);
  });
  const Measured measured = measure(target_of(server->url()), traffic_of("D(5,30)", 4, 0), [&](LoadPlan& plan) {
    plan.interrupted = &interrupted;
    plan.live = &live;
  });
  interrupter.join();
  EXPECT_TRUE(measured.result.interrupted);
  EXPECT_GE(measured.result.completed, 10);
  EXPECT_EQ(measured.result.failed, 0) << "what was under way is censored, not failed: " << measured.result.first_error;
}

TEST(LoadClient, reads_ipv6) {
  auto options = quick();
  options.host = "::1";
  const auto server = ReferenceServer::start(options);
  if (!server.ok()) GTEST_SKIP() << server.error().what;
  EXPECT_EQ(measure(target_of((*server)->url()), traffic_of("D(5,5)", 1, 3)).result.completed, 3);
}

TEST(LoadClient, shares_the_load_among_servers_and_threads) {
  const auto one = serve(quick()), two = serve(quick());
  Target target = target_of(one->url());
  target.bases.push_back(*http::parse_url(two->url()));
  auto plan = prepare_load(target, traffic_of("D(5,5)", 4, 40), {});
  ASSERT_TRUE(plan.ok());
  const auto outcome = run_load_on(*plan, 2, {});
  ASSERT_TRUE(outcome.ok()) << outcome.error().what;
  EXPECT_EQ(outcome->records.size(), 40U);
  EXPECT_GT(one->counts().requests.load(), 0);
  EXPECT_GT(two->counts().requests.load(), 0);
  EXPECT_EQ(one->counts().requests.load() + two->counts().requests.load(), 40);
}

/// A certificate for 127.0.0.1, made by openssl(1), in a folder of its own.
class Tls : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-tls-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    const auto made = run_process({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                                   "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                                   "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key(), "-out", certificate()});
    if (!made.ok() || made->exit_code != 0) GTEST_SKIP() << "openssl(1) makes no certificate here";
    ReferenceServerOptions options = quick();
    options.certificate_file = certificate();
    options.key_file = key();
    server_ = serve(options);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string key() const { return folder_ / "key.pem"; }
  [[nodiscard]] std::string certificate() const { return folder_ / "certificate.pem"; }

  std::filesystem::path folder_;
  std::unique_ptr<ReferenceServer> server_;
};

TEST_F(Tls, carries_a_load_where_the_certificate_is_trusted) {
  Target target = target_of(server_->url());
  const auto tls = http::TlsContext::for_client(certificate());
  ASSERT_TRUE(tls.ok()) << tls.error().what;
  target.tls = *tls;
  const Measured measured = measure(target, traffic_of("D(20,30)", 3, 12));
  EXPECT_EQ(measured.result.completed, 12) << measured.result.first_error;
}

TEST_F(Tls, refuses_a_certificate_that_is_not_trusted) {
  const auto answer =
      http::request({.method = "GET", .url = *http::parse_url(server_->url() + "/v1/models")}, {.deadline_s = 20});
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().what.find("not trusted"), std::string::npos) << answer.error().what;
  EXPECT_NE(answer.error().hint.find("--ca-file"), std::string::npos);
}

TEST_F(Tls, refuses_a_certificate_for_another_host) {
  const auto tls = http::TlsContext::for_client(certificate());
  ASSERT_TRUE(tls.ok());
  const std::string url = "https://localhost:" + std::to_string(server_->port()) + "/v1/models";
  const auto answer = http::request({.method = "GET", .url = *http::parse_url(url)}, {.deadline_s = 20, .tls = *tls});
  EXPECT_FALSE(answer.ok());
}

TEST_F(Tls, answers_a_plain_request_with_an_error_and_no_hang) {
  const auto answer =
      http::request({.method = "GET", .url = *http::parse_url("http://127.0.0.1:" + std::to_string(server_->port()))},
                    {.deadline_s = 20});
  EXPECT_FALSE(answer.ok());
}

TEST(Client, keeps_its_connection_and_has_a_deadline) {
  auto options = quick();
  const auto server = serve(options);
  http::Client client({.deadline_s = 20});
  const http::Request models{.method = "GET", .url = *http::parse_url(server->url() + "/v1/models")};
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.send(models);
    ASSERT_TRUE(answer.ok()) << answer.error().what;
    EXPECT_EQ(answer->status, 200);
    EXPECT_NE(answer->body.find("reference"), std::string::npos);
  }
  EXPECT_EQ(server->counts().connections.load(), 1);
  options.script.ttft_s = 100;
  const auto slow = serve(options);
  http::Request chat{.method = "POST", .url = *http::parse_url(slow->url() + "/v1/chat/completions")};
  chat.body = R"({"model":"m","messages":[{"role":"user","content":"hi"}]})";
  const auto answer = http::request(chat, {.deadline_s = 0.2});
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().what.find("no whole answer within 0.2 s"), std::string::npos);
}

TEST(FirstProbe, learns_token_counts_and_names_a_wrong_key) {
  auto options = quick();
  options.script.key = "right";
  const auto server = serve(options);
  Target target = target_of(server->url());
  target.key = "wrong-key-secret";
  const auto refused = inspect_server(target, {.deadline_s = 20});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("401"), std::string::npos);
  EXPECT_NE(refused.error().hint.find("key"), std::string::npos);
  EXPECT_EQ(refused.error().what.find("secret"), std::string::npos);
  target.key = "right";
  const auto probe = inspect_server(target, {.deadline_s = 20});
  ASSERT_TRUE(probe.ok()) << probe.error().what;
  EXPECT_NEAR(probe->fit.per_word, 1, 1e-9);
  EXPECT_NEAR(probe->fit.fixed, 8, 1e-6) << "the template and the serial number";
}

}  // namespace
}  // namespace warpmark::serving
