// `warpmark watch` as a person and as cron use it: exit codes, kill -9, a full disk, secrets.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "apps/cli_fixture.h"
#include "apps/in_background.h"
#include "apps/stored_history.h"
#include "base/clock.h"
#include "store/running.h"
#include "support/schema_check.h"
#include "watch/played_server.h"

namespace warpmark::apps {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::PlayedServer;

class WatchVerb : public WithHistory {
 protected:
  ProcessOutput watch(std::vector<std::string> words) {
    words.insert(words.begin(), {"watch", path("rules.yaml")});
    return warpmark(std::move(words));
  }
  /// Starts it in the background; its output goes to a file.
  pid_t begin(const std::string& before = "") {
    return start_in_background("watch " + in_quotes(path("rules.yaml")), path("out.txt"), before);
  }
  [[nodiscard]] bool printed(const std::string& text) const { return comes_to_have(path("out.txt"), text); }
  static int end(pid_t id, int signal) { return end_with_signal(id, signal); }
};

constexpr const char* kSlowRule = "rules:\n  - {name: Slow, history: time, above: 2 s}\n";

TEST_F(WatchVerb, once_says_by_its_exit_code_whether_something_fires) {
  write("rules.yaml", kSlowRule);
  EXPECT_EQ(watch({"--once"}).exit_code, 5) << "there is no database";
  store_session(store(), {.day = 1, .time = 1});
  EXPECT_EQ(watch({"--once"}).exit_code, 0);
  store_session(store(), {.day = 2, .time = 3});
  const auto fires = watch({"--once"});
  EXPECT_EQ(fires.exit_code, 1) << fires.err;
  EXPECT_THAT(fires.out, HasSubstr("firing Slow benchmark=job, metric=time: value 3.000 s is above the limit 2 s"));
  write("rules.yaml", std::string(kSlowRule) + "sinks:\n  - {name: ops, command: [\"false\"]}\n");
  EXPECT_EQ(watch({"--once"}).exit_code, 1) << "what fires comes before what was not delivered";
  store_session(store(), {.day = 3, .time = 1});
  const auto over = watch({"--once"});
  EXPECT_EQ(over.exit_code, 5) << over.out;
  EXPECT_THAT(over.out, HasSubstr("0 firing, 2 messages wait"));
}

TEST_F(WatchVerb, bad_rules_and_options_are_told_with_the_line) {
  store_session(store(), {.day = 1, .time = 1});
  write("rules.yaml", "rules:\n  - name: A\n    live: m\n    abvoe: 3\n");
  const auto wrong = watch({"--once"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("rules.yaml line 4: unknown key 'abvoe'"));
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'above'?"));
  write("rules.yaml", std::string(kSlowRule) +
                          "sinks:\n  - {name: chat, webhook: {format: slack, url_env: WARPMARK_TEST_NO_SUCH}}\n");
  const auto unset = watch({"--once"});
  EXPECT_EQ(unset.exit_code, 2);
  EXPECT_THAT(unset.err, HasSubstr("line 4: sink 'chat': the variable WARPMARK_TEST_NO_SUCH is not set"));
  write("rules.yaml", kSlowRule);
  EXPECT_EQ(watch({"--once", "--dry-run"}).exit_code, 2);
  EXPECT_EQ(watch({"--since", "3d"}).exit_code, 2);
  EXPECT_EQ(watch({"--dry-run", "--since", "yesterday"}).exit_code, 2);
  EXPECT_EQ(warpmark({"watch"}).exit_code, 2);
  EXPECT_EQ(warpmark({"watch", path("none.yaml")}).exit_code, 2);
}

TEST_F(WatchVerb, a_dry_run_shows_the_past_and_tells_nobody) {
  store_history(store(), 20);
  store_history(store(), 10, 1.3, 21);
  write("rules.yaml",
        "rules:\n  - {name: Slower, history: time, change: worse}\nsinks:\n  - {name: ops, command: "
        "[touch, \"" +
            path("told") + "\"]}\n");
  const auto text = warpmark_narrow({"watch", path("rules.yaml"), "--dry-run", "--since", "2026-01-01"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("Slower"));
  for (const auto& line : split(text.out, '\n')) EXPECT_LE(display_width(line), 80U) << line;
  const auto json = parse_json(watch({"--dry-run", "--since", "2026-01-01", "--format", "json"}).out, "replay");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(testing_support::schema_errors(*json, "alert_replay.schema.json"), "");
  EXPECT_EQ((*json)["rules"]["Slower"], 1);
  EXPECT_FALSE(std::filesystem::exists(path("told")));
  EXPECT_EQ(watch({"--dry-run", "--since", "2026-02-01"}).exit_code, 0);
}

TEST_F(WatchVerb, survives_kill_9_and_tells_what_it_had_not_told) {
  store_session(store(), {.day = 1, .time = 3});
  PlayedServer server(folder_, "http", {"--plan", "hang,200"});
  write("rules.yaml", std::string("interval: 1s\ngroup_wait: 0s\n") + kSlowRule +
                          "sinks:\n  - {name: ops, timeout: 60s, webhook: {url: \"" + server.url() + "\"}}\n");
  const pid_t first = begin();
  ASSERT_TRUE(printed("firing Slow"));
  ASSERT_EQ(server.got(1).size(), 1U);
  EXPECT_EQ(end(first, SIGKILL), 128 + SIGKILL);
  const pid_t second = begin();
  ASSERT_TRUE(printed("notified ops"));
  usleep(2'500'000);
  EXPECT_EQ(end(second, SIGINT), 0);
  const auto got = server.got();
  ASSERT_EQ(got.size(), 2U) << "once more, and not again and again";
  const auto id_of = [](const Json& one) { return parse_json(one["body"].get<std::string>(), "body").value()["id"]; };
  EXPECT_EQ(id_of(got[0]), id_of(got[1])) << "by which a receiver knows that it is the same";
  const auto out = *read_file(path("out.txt"));
  EXPECT_EQ(out.find("firing Slow", out.find("firing Slow") + 1), std::string::npos) << "it does not fire anew";
}

TEST_F(WatchVerb, tells_on_a_full_disk_too_and_says_that_it_will_forget) {
  store_session(store(), {.day = 1, .time = 3});
  PlayedServer server(folder_, "http");
  write("rules.yaml", std::string("interval: 1s\ngroup_wait: 0s\n") + kSlowRule +
                          "sinks:\n  - {name: ops, webhook: {url: \"" + server.url() + "\"}}\n");
  // The output goes through cat, whose files may grow.
  const std::string line = "trap '' XFSZ; (ulimit -f 0; exec timeout 20 " + in_quotes(kExecutable) + " watch " +
                           in_quotes(path("rules.yaml")) + " 2>&1) | cat";
  std::atomic<bool> seen{false};
  std::string said;
  const auto ended =
      run_process({"sh", "-c", line},
                  {.deadline_s = 60, .own_group = true, .interrupted = &seen, .on_out = [&](std::string_view text) {
                     said += text;
                     if (said.find("notified ops") != std::string::npos) seen.store(true);
                   }});
  EXPECT_THAT(said, HasSubstr("the state is not written, a restart would forget"));
  EXPECT_EQ(server.got(1).size(), 1U) << said;
}

TEST_F(WatchVerb, a_session_that_measures_is_seen_until_it_ends) {
  std::atomic<bool> seen{false};
  std::thread measuring([&] {
    const auto ended = run_process({kExecutable, "run", "--rounds", "200", "--budget", "100s", "--", "sleep", "0.2"},
                                   {.deadline_s = 120, .own_group = true, .interrupted = &seen, .grace_s = 20});
    (void)ended;  // it is ended when it was seen
  });
  std::vector<store::RunningSession> running;
  const auto until_ns = monotonic_ns() + 60'000'000'000;
  while (monotonic_ns() < until_ns && (running.empty() || running[0].done < 1)) {
    running = store::running_sessions(folder_);
    usleep(20'000);
  }
  seen.store(true);
  measuring.join();
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running[0].of, 200);
  EXPECT_THAT(running[0].phase, HasSubstr(" of 200"));
  EXPECT_TRUE(store::running_sessions(folder_).empty());
}

TEST_F(WatchVerb, shows_no_secret_anywhere) {
  store_session(store(), {.day = 1, .time = 3});
  PlayedServer server(folder_, "http", {"--plan", "404"});
  setenv("WARPMARK_TEST_HOOK", (server.url() + "/T0PSECRET").c_str(), 1);
  write("token", "T0PSECRET-token\n");
  write("rules.yaml", std::string(kSlowRule) +
                          "sinks:\n  - {name: chat, webhook: {format: slack, url_env: "
                          "WARPMARK_TEST_HOOK, token_file: \"" +
                          path("token") + "\"}}\n");
  const auto once = watch({"--once"});
  const auto tested = watch({"--send-test"});
  unsetenv("WARPMARK_TEST_HOOK");
  EXPECT_EQ(once.exit_code, 1);
  EXPECT_EQ(tested.exit_code, 5);
  EXPECT_THAT(tested.out, HasSubstr("chat (webhook): 127.0.0.1 answered 404"));
  for (const auto& text : {once.out, once.err, tested.out, tested.err}) EXPECT_THAT(text, Not(HasSubstr("T0PSECRET")));
  ASSERT_GE(server.got().size(), 2U);
  EXPECT_THAT(server.got()[0]["path"].get<std::string>(), HasSubstr("T0PSECRET")) << "the server got it";
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.path().filename().string().starts_with("watch-") && entry.path().extension() == ".json") {
      EXPECT_THAT(*read_file(entry.path()), Not(HasSubstr("T0PSECRET")));
    }
  }
}

}  // namespace
}  // namespace warpmark::apps
