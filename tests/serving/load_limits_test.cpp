// The load client where there is more to do than can be done, and where servers are slow, refuse, or end half.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "http/socket.h"
#include "serving/load_fixture.h"

namespace warpmark::serving {
namespace {

TEST(ReferenceServer, ends_connections_that_send_no_whole_request) {
  ReferenceServerOptions options = quick();
  options.idle_deadline_s = 0.3;
  const auto server = serve(options);
  const auto addresses = http::resolve("127.0.0.1", server->port());
  ASSERT_TRUE(addresses.ok());
  for (const bool begins : {false, true}) {
    auto socket = http::begin_connect(addresses->front());
    ASSERT_TRUE(socket.ok());
    std::array<char, 16> byte{};
    auto got = http::receive_from(*socket, byte);
    for (int i = 0; i < 1000 && got.state == http::Received::State::would_block; ++i) {
      if (begins) (void)http::send_to(*socket, "G");  // one byte now and then is no whole request
      ::usleep(20'000);
      got = http::receive_from(*socket, byte);
    }
    EXPECT_NE(got.state, http::Received::State::would_block) << begins;
  }
}

TEST(LoadClient, gives_no_thread_an_empty_share_which_would_be_without_limit) {
  const auto server = serve(quick());
  auto plan = prepare_load(target_of(server->url()), traffic_of("D(5,5)", 4, 3), {});
  ASSERT_TRUE(plan.ok()) << plan.error().what;
  const auto outcome = run_load_on(std::move(*plan), 4, {});
  ASSERT_TRUE(outcome.ok()) << outcome.error().what;
  EXPECT_EQ(outcome->records.size(), 3U);
}

TEST(LoadClient, ends_in_time_where_the_schedule_asks_for_more_than_it_can_send) {
  const auto server = serve(quick());
  Traffic traffic = traffic_of("D(5,5)", 0, 0);
  traffic.arrivals = {.kind = ArrivalKind::constant, .rate = 1e6};
  traffic.duration_s = 0.2;
  auto plan = prepare_load(target_of(server->url()), traffic, {});
  ASSERT_TRUE(plan.ok()) << plan.error().what;
  plan->users = 4;  // at a time
  plan->drain_s = 10;
  const auto outcome = run_load_on(std::move(*plan), 1, {});
  ASSERT_TRUE(outcome.ok()) << outcome.error().what;
  EXPECT_EQ(outcome->stopped_because, "time is up");
  EXPECT_GT(outcome->never_sent, 0);
  EXPECT_EQ(outcome->never_sent + static_cast<std::int64_t>(outcome->records.size()), 200'000);
}

TEST(LoadClient, waits_as_long_as_a_refusal_asks_for) {
  auto options = quick();
  options.script.status_429 = 1;
  const auto server = serve(options);
  const Measured measured = measure(target_of(server->url()), traffic_of("D(5,5)", 1, 2));
  const auto records = all_of(measured.outcome.records);
  ASSERT_EQ(records.size(), 2U);
  const auto &first = records[0], &second = records[1];
  ASSERT_GE(first.retry_after_s, 1) << "the reference server asks for some time";
  EXPECT_GE(second.begun_ns - first.ended_ns, first.retry_after_s * 1'000'000'000);
}

TEST(LoadClient, gives_up_on_a_slow_server_at_the_deadline) {
  auto options = quick();
  options.script.ttft_s = 60;
  const auto server = serve(options);
  const Measured measured = measure(target_of(server->url()), traffic_of("D(5,5)", 1, 1),
                                    [](LoadPlan& plan) { plan.request_timeout_s = 0.2; });
  EXPECT_EQ(measured.result.errors.count("timeout"), 1U) << measured.result.first_error;
}

TEST(LoadClient, takes_a_half_closed_connection_for_the_end_of_the_answer) {
  auto listening = http::listen_on(http::resolve("127.0.0.1", 0)->front());
  ASSERT_TRUE(listening.ok());
  const std::string url = "http://" + http::local_address(*listening).text();
  std::atomic<bool> ended{false};
  // Says one token, then that it sends no more, and keeps the connection open.
  std::thread half([&] {
    std::vector<http::Socket> open;
    std::vector<char> buffer(65536);
    while (!ended.load()) {
      pollfd entry{listening->fd(), POLLIN, 0};
      if (::poll(&entry, 1, 20) <= 0) continue;
      http::Socket socket = http::accept_from(*listening);
      if (!socket.open()) continue;
      pollfd asked{socket.fd(), POLLIN, 0};
      (void)::poll(&asked, 1, 2000);
      (void)http::receive_from(socket, buffer);
      (void)http::send_to(socket,
                          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "2f\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n\r\n");
      ::shutdown(socket.fd(), SHUT_WR);
      open.push_back(std::move(socket));
    }
  });
  const Measured measured = measure(target_of(url), traffic_of("D(5,5)", 1, 2), [](LoadPlan& plan) {
    plan.connect_ahead = 0;
    plan.stall_timeout_s = 20;
  });
  ended.store(true);
  half.join();
  EXPECT_EQ(measured.result.failed, 2);
  EXPECT_EQ(measured.result.errors.count("truncated"), 1U) << measured.result.first_error;
}

}  // namespace
}  // namespace warpmark::serving
