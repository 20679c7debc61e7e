// A watch as a whole for tests: a store of its own, a clock that is set by hand, what it logs.
#pragma once

#include <gmock/gmock.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "apps/stored_history.h"
#include "base/files.h"
#include "store/sqlite/sqlite_store.h"
#include "watch/alerts/watcher.h"
#include "watch/exporter/stored.h"

namespace warpmark::watch {

class Watching : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-watch-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  store::Store& store() {
    if (!store_) store_ = store::open_sqlite(path("test.db")).value();
    return *store_;
  }
  static AlertRules rules_of(const std::string& yaml) {
    auto rules = parse_alert_rules(yaml, "rules.yaml");
    EXPECT_TRUE(rules.ok()) << rules.error().what;
    return rules.ok() ? *rules : AlertRules{};
  }
  WatcherOptions options_of(AlertRules rules) {
    WatcherOptions options{.rules = std::move(rules)};
    options.state_file = path("state.json");
    options.live = {.host = "node7"};
    options.live.gpus.list = []() -> Result<std::vector<device::nvml::GpuFacts>> { return environment_error("none"); };
    options.open_store = [this]() -> Result<std::unique_ptr<store::Store>> {
      if (!std::filesystem::exists(path("test.db"))) return environment_error("there is no database");
      return store::open_sqlite(path("test.db"), {.busy_timeout_s = 0.1});
    };
    options.delivery.environment = [](const char*) -> const char* { return nullptr; };
    options.delivery.interrupted = &interrupted_;
    options.log = [this](const std::string& line) { log_ += line + "\n"; };
    options.clock = {[this] { return wall_s_; }, [this] { return monotonic_ns_; }};
    return options;
  }
  std::unique_ptr<Watcher> start(const std::string& yaml) {
    auto watcher = Watcher::start(options_of(rules_of(yaml)));
    EXPECT_TRUE(watcher.ok()) << watcher.error().what;
    return std::move(watcher).value();
  }
  void pass(double seconds) {
    wall_s_ += seconds;
    monotonic_ns_ += static_cast<std::int64_t>(seconds * 1e9);
  }
  static void notify_all(Watcher& watcher) {
    watcher.notify();
    while (watcher.collect()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  void write_result(int day, double time) { apps::store_session(store(), {.day = day, .time = time}); }

  std::filesystem::path folder_;
  std::unique_ptr<store::Store> store_;
  std::atomic<bool> interrupted_{false};
  std::string log_;
  double wall_s_ = *unix_seconds("2026-01-10T12:00:00Z");
  std::int64_t monotonic_ns_ = 1;
};

}  // namespace warpmark::watch
