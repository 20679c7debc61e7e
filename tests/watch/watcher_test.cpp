// The watch as a whole: real stores, real receivers, a clock that is set, a store that goes and comes back, a full
// disk, and the past.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <filesystem>
#include <functional>

#include "apps/stored_history.h"
#include "base/files.h"
#include "store/sqlite/sqlite_store.h"
#include "support/schema_check.h"
#include "watch/alerts/history.h"
#include "watch/alerts/replay.h"
#include "watch/alerts/watcher.h"
#include "watch/exporter/stored.h"
#include "watch/played_server.h"
#include "watch/watching.h"

namespace warpmark::watch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing_support::PlayedServer;

constexpr const char* kSlow = R"(
group_wait: 0s
rules:
  - {name: Slow, history: time, above: 2 s, for: 5m}
)";

TEST_F(Watching, a_clock_that_is_set_neither_fires_nor_ends_nor_forgets_anything) {
  write_result(5, 3);
  auto watcher = start(kSlow);
  watcher->probe();
  wall_s_ += 365 * 86400.0;
  pass(60);
  watcher->probe();
  EXPECT_EQ(watcher->state().states.firing(), 0U) << "a year forward, but one minute passed";
  EXPECT_THAT(log_, HasSubstr("the clock was set forward"));
  wall_s_ -= 2 * 365 * 86400.0;
  pass(60);
  watcher->probe();
  EXPECT_THAT(watcher->state().states.alerts(), SizeIs(1)) << "results of the future are there still";
  EXPECT_THAT(log_, HasSubstr("the clock was set back"));
  pass(180);
  watcher->probe();
  EXPECT_EQ(watcher->state().states.firing(), 1U) << "five minutes";
  watcher->notify();
  watcher.reset();
  watcher = start(kSlow);  // the clock is before that of the state
  pass(1);
  watcher->probe();
  EXPECT_EQ(watcher->state().states.firing(), 1U);
}

TEST_F(Watching, an_alert_goes_on_over_a_restart_but_not_over_a_long_silence) {
  write_result(5, 3);
  auto watcher = start(kSlow);
  watcher->probe();
  watcher->notify();
  watcher.reset();
  pass(200);
  watcher = start(kSlow);
  watcher->probe();
  EXPECT_EQ(watcher->state().states.firing(), 0U);
  watcher->notify();
  pass(100);
  watcher->probe();
  EXPECT_EQ(watcher->state().states.firing(), 1U) << "300 s in all";

  std::filesystem::remove(path("state.json"));
  watcher.reset();
  std::filesystem::remove(path("state.json"));
  watcher = start(kSlow);
  watcher->probe();
  watcher->notify();
  watcher.reset();
  pass(3 * 3600);
  watcher = start(kSlow);
  watcher->probe();
  EXPECT_EQ(watcher->state().states.firing(), 0U) << "nobody knows what was in these three hours";
}

TEST_F(Watching, a_store_that_goes_and_comes_back_resolves_nothing_and_is_told_itself) {
  write_result(5, 3);
  store_.reset();
  auto watcher = start(R"(
group_wait: 0s
rules:
  - {name: Slow, history: time, above: 2 s}
sinks:
  - {name: ops, command: ["true"]}
)");
  watcher->probe();
  notify_all(*watcher);
  ASSERT_EQ(watcher->state().states.firing(), 1U);
  std::filesystem::rename(path("test.db"), path("away.db"));
  for (int i = 0; i < 7; ++i) {
    pass(60);
    watcher->probe();
  }
  EXPECT_THAT(log_, HasSubstr("rule Slow: there is no database"));
  EXPECT_THAT(log_, HasSubstr(std::string("firing ") + kBlindRule));
  EXPECT_EQ(watcher->state().states.firing(), 2U);
  std::filesystem::rename(path("away.db"), path("test.db"));
  watcher->probe();
  EXPECT_EQ(watcher->state().states.firing(), 1U);
  EXPECT_THAT(log_, HasSubstr("rule Slow can be evaluated again"));
  EXPECT_THAT(log_, Not(HasSubstr("resolved Slow")));
}

TEST_F(Watching, a_store_that_is_locked_is_looked_at_later) {
  write_result(5, 3);
  store_.reset();
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path("test.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE held(x); COMMIT", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  auto watcher = start(kSlow);
  watcher->probe();
  EXPECT_THAT(watcher->state().states.alerts(), testing::Not(Contains(testing::Key(HasSubstr("Slow")))));
  EXPECT_THAT(log_, HasSubstr("rule Slow: "));
  sqlite3_close(other);
  pass(60);
  watcher->probe();
  EXPECT_THAT(watcher->state().states.alerts(), Contains(testing::Key(HasSubstr("Slow"))));
}

TEST_F(Watching, what_a_sink_refuses_is_told_later_in_order_and_nothing_is_lost) {
  write_result(5, 3);
  PlayedServer server(folder_, "http", {"--plan", "500,503,200"});
  auto watcher = start(fmt::format(R"(
group_wait: 0s
group_interval: 1s
rules:
  - {{name: Slow, history: time, above: 2 s}}
sinks:
  - {{name: ops, webhook: {{url: "{}"}}}}
)",
                                   server.url()));
  watcher->probe();
  notify_all(*watcher);
  EXPECT_EQ(watcher->state().outbox.size(), 1U);
  write_result(6, 1);  // over before anybody could be told that it fires
  pass(700);
  watcher->probe();
  EXPECT_EQ(watcher->state().states.firing(), 0U);
  for (int i = 0; i < 3; ++i) {
    notify_all(*watcher);
    pass(10);
  }
  EXPECT_EQ(watcher->state().outbox.size(), 0U);
  const auto got = server.got(4);
  ASSERT_EQ(got.size(), 4U);
  std::vector<std::string> ids, states;
  for (const auto& one : got) {
    const auto json = parse_json(one["body"].get<std::string>(), "body").value();
    ids.push_back(json["id"].get<std::string>());
    states.push_back(json["status"].get<std::string>());
  }
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[1], ids[2]);
  EXPECT_NE(ids[2], ids[3]);
  EXPECT_EQ(states, (std::vector<std::string>{"firing", "firing", "firing", "resolved"}));
}

TEST_F(Watching, a_damaged_state_is_put_aside_and_a_second_watcher_refused) {
  ASSERT_TRUE(write_file(path("state.json"), "{\"schema\": \"warpmark.watch_state/1\", \"alerts\": [").ok());
  auto watcher = start(kSlow);
  EXPECT_THAT(log_, HasSubstr("was put aside"));
  EXPECT_TRUE(std::filesystem::exists(path("state.json.damaged")));
  const auto second = Watcher::start(options_of(rules_of(kSlow)));
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().what, HasSubstr("another warpmark watch"));
}

TEST_F(Watching, ten_thousand_series_are_one_message_and_little_memory_and_time) {
  Session session{.id = "2026-0001", .started = "2026-01-05T00:00:00Z"};
  session.branch = "main";
  session.machine = device::machine_facts();
  ASSERT_TRUE(store().begin(session).ok());
  std::vector<warpmark::Run> runs(10'000);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    warpmark::Run& run = runs[i];
    run.id = fmt::format("{}.{}", session.id, i);
    run.index = static_cast<std::int64_t>(i);
    run.workload = "command";
    run.device = "host";
    run.params.set("name", fmt::format("job{}", i));
    run.outcome = Outcome::passed;
    run.rounds = 1;
    run.started = session.started;
    Metric metric{.id = "time", .unit = "s", .better = Better::lower, .samples = {3, 3, 3}, .round_sizes = {3}};
    metric.summary = stats::summarize(metric.samples);
    run.metrics = {metric};
  }
  ASSERT_TRUE(store().append_runs(session.id, runs).ok());
  ASSERT_TRUE(store().finish(session.id, {}).ok());
  auto watcher = start(R"(
group_wait: 0s
rules:
  - {name: Slow, history: time, above: 2 s}
  - {name: Changed, history: time, change: worse}
sinks:
  - {name: ops, command: [sh, -c, "cat > /dev/null"]}
)");
  watcher->probe();
  notify_all(*watcher);
  EXPECT_EQ(watcher->state().states.firing(), 10'000U);
  EXPECT_EQ(watcher->state().outbox.size(), 0U);
  EXPECT_LT(std::count(log_.begin(), log_.end(), '\n'), 100) << "the log is bounded, too";
  EXPECT_THAT(log_, HasSubstr("[FIRING:10000] Slow"));
  EXPECT_LT(std::filesystem::file_size(path("state.json")), 16U << 20);
}

TEST_F(Watching, once_counts_the_time_between_two_runs_as_watched) {
  write_result(5, 3);
  const auto once = [&] {
    auto options = options_of(rules_of("rules:\n  - {name: Slow, history: time, above: 2 s, for: 20h}\n"));
    options.once = true;
    return Watcher::start(std::move(options)).value()->run_once();
  };
  EXPECT_EQ(once().firing, 0U);
  pass(86400);
  EXPECT_EQ(once().firing, 1U);
}

Replay replayed(const AlertRules& rules, store::Store& store, const std::string& from, const std::string& to) {
  StoredHistory history(rules.rules);
  const double from_s = *unix_seconds(from), to_s = *unix_seconds(to);
  EXPECT_TRUE(history.refresh(store, {.since_s = from_s, .interrupted = nullptr}, to_s).ok());
  auto past = replay(rules, history, {.from_s = from_s, .to_s = to_s, .host = "h", .interrupted = nullptr});
  EXPECT_TRUE(past.ok());
  return *past;
}

TEST_F(Watching, the_past_is_judged_as_it_was_then) {
  apps::store_history(store(), 20);
  apps::store_history(store(), 10, 1.3, 21);
  apps::store_history(store(), 12, 1, 31);
  const auto rules = rules_of(R"(
rules:
  - {name: Slower, history: time, change: worse}
  - {name: Limit, history: time, above: 1.2 s}
  - {name: Lower, history: rate, below: 0.9 1/s}
  - {name: Silent, history: time, no_data: 30h}
  - {name: Verdict, check: time}
  - {name: Busy, live: warpmark_host_load1, above: 5}
sinks:
  - {name: ops, command: ["true"]}
)");
  const auto past = replayed(rules, store(), "2026-01-01T00:00:00Z", "2026-02-20T00:00:00Z");
  EXPECT_EQ(testing_support::schema_errors(write(kReplay, past), "alert_replay.schema.json"), "");
  EXPECT_EQ(past.by_rule.at("Limit"), 1);
  EXPECT_EQ(past.by_rule.at("Slower"), 1);
  EXPECT_EQ(past.by_rule.count("Busy"), 0) << "not 0 times: it was not evaluated";
  EXPECT_GE(past.by_rule.at("Verdict"), 1);
  EXPECT_EQ(past.by_rule.at("Silent"), 2) << "from January 28 to February 1, and after the last session";
  EXPECT_THAT(past.notes, Contains(HasSubstr("live metrics have no history: nothing is known of Busy")));
  EXPECT_GE(past.messages.at("ops"), 5);
  for (const auto& alert : past.alerts) {
    if (alert.rule == "Limit") {
      EXPECT_EQ(alert.fired_at, "2026-01-21T00:00:00Z");
      EXPECT_EQ(alert.resolved_at, "2026-02-03T00:00:00Z");
    }
    if (alert.rule == "Slower") {
      EXPECT_GT(alert.fired_at, "2026-01-21T00:00:00Z") << "one session does not show a change";
      EXPECT_LE(alert.fired_at, "2026-01-27T00:00:00Z");
      EXPECT_FALSE(alert.resolved_at.empty()) << "the level came back";
    }
  }
}

TEST_F(Watching, the_past_tells_what_the_watch_tells) {
  apps::store_history(store(), 20);
  apps::store_history(store(), 6, 1.3, 21);
  const auto rules = rules_of(R"(
rules:
  - {name: Slower, history: time, change: worse, for: 1h}
  - {name: Limit, history: time, above: 1.2 s, for: 36h}
  - {name: Silent, history: time, no_data: 30h}
)");
  const auto past = replayed(rules, store(), "2026-01-01T00:00:00Z", "2026-01-30T00:00:00Z");
  auto watcher = Watcher::start(options_of(rules)).value();
  wall_s_ = *unix_seconds("2026-01-30T00:00:00Z");
  watcher->probe();
  pass(40 * 3600.0);
  watcher->probe();
  std::size_t still = 0;
  for (const auto& alert : past.alerts) still += alert.resolved_at.empty() ? 1U : 0U;
  EXPECT_EQ(still, watcher->state().states.firing());
  EXPECT_EQ(still, 3U);
}

TEST_F(Watching, a_limit_of_another_unit_is_a_problem_that_is_told) {
  write_result(5, 3);
  auto watcher = start("rules:\n  - {name: Slow, history: time, above: 2 GB/s}\n");
  watcher->probe();
  EXPECT_THAT(log_, HasSubstr("which is not of the unit of job (s)"));
  EXPECT_EQ(watcher->state().states.firing(), 0U);
}

}  // namespace
}  // namespace warpmark::watch
