// A server of `warpmark net` for a test.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "collectives/net/clock.h"
#include "collectives/net/session.h"

namespace warpmark::collectives::net {

/// A server in a thread, on a free port of the loopback.
class Served : public ::testing::Test {
 protected:
  void SetUp() override {
    auto listener = listen_on({"127.0.0.1", 0});
    ASSERT_TRUE(listener.ok()) << listener.error().what;
    client_.server = {"127.0.0.1", port_of(*listener)};
    client_.token = "secret";
    thread_ = std::thread([this, socket = std::make_shared<Socket>(std::move(*listener))] {
      status_ = serve(std::move(*socket), {.token = "secret", .interrupted = &interrupted_, .more = answer_more});
    });
  }
  void TearDown() override {
    interrupted_.store(true);
    if (thread_.joinable()) thread_.join();
    EXPECT_TRUE(status_.ok());
  }
  static std::optional<Status> answer_more(const std::string& kind, const Json& /*request*/, Socket& socket) {
    if (kind == "clock") return answer_clock(socket, monotonic_ns);
    return std::nullopt;
  }
  ClientOptions client_;
  std::atomic<bool> interrupted_{false};
  std::thread thread_;
  Status status_;
};

}  // namespace warpmark::collectives::net
