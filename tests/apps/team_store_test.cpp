// `watch`, `exporter` and `dashboard` over a real PostgreSQL that many nodes write into, and that goes and comes back.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "apps/cli_fixture.h"
#include "apps/in_background.h"
#include "apps/stored_history.h"
#include "base/clock.h"
#include "http/client.h"
#include "store/location.h"
#include "store/postgres_server.h"
#include "watch/dashboard/dashboard.h"

namespace warpmark::apps {
namespace {

using testing::HasSubstr;
using testing::Not;

class TeamStore : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    if (store::postgres_server().folder.empty()) GTEST_SKIP() << store::postgres_server().why;
    url_ = store::new_postgres_database();
    const auto slash = url_.find('/', url_.find('@'));
    name_ = url_.substr(slash + 1, url_.find('?') - slash - 1);
    setenv("WARPMARK_DB", url_.c_str(), 1);
    setenv("XDG_DATA_HOME", folder_.c_str(), 1);  // where state stands that cannot stand beside the database
  }
  void TearDown() override {
    unsetenv("XDG_DATA_HOME");
    Cli::TearDown();
  }

  /// Connections come and go, as they do with nodes.
  void keep(const StoredSession& session) { store_session(*store::open_store(url_).value(), session); }
  void keep_days(int days) {
    const auto store = store::open_store(url_).value();
    store_history(*store, days);
  }
  /// Nobody can connect, and who is connected is thrown out.
  void set_reachable(bool reachable) const {
    store::execute_on_postgres(store::postgres_url("postgres", "warpmark"),
                               "ALTER DATABASE " + name_ + " ALLOW_CONNECTIONS " + (reachable ? "true" : "false"));
    store::execute_on_postgres(
        store::postgres_url("postgres", "warpmark"),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name_ + "'");
  }
  pid_t begin(const std::string& verb) { return start_in_background(verb, path("out.txt")); }
  [[nodiscard]] std::string printed() const { return read_file(path("out.txt")).value(); }
  [[nodiscard]] bool prints(const std::string& text) const { return comes_to_have(path("out.txt"), text); }
  static int end(pid_t id) { return end_with_signal(id, SIGINT); }

  std::string url_, name_;
};

constexpr const char* kRules =
    "interval: 1s\ngroup_wait: 0s\ngroup_interval: 1s\nrules:\n  - {name: Slow, history: time, above: 2 s}\n"
    "  - {name: Worse, check: '*', baseline: main}\n";

TEST_F(TeamStore, watch_looks_once_and_at_the_past) {
  write("rules.yaml", kRules);
  EXPECT_EQ(warpmark({"watch", path("rules.yaml"), "--once"}).exit_code, 0) << "there is nothing yet";
  keep_days(20);
  EXPECT_EQ(warpmark({"watch", path("rules.yaml"), "--once"}).exit_code, 0);
  keep({.day = 21, .time = 3});
  const auto slow = warpmark({"watch", path("rules.yaml"), "--once"});
  EXPECT_EQ(slow.exit_code, 1) << slow.out << slow.err;
  EXPECT_THAT(slow.out, HasSubstr("firing Slow"));
  const auto past =
      warpmark({"watch", path("rules.yaml"), "--dry-run", "--since", "2026-01-01", "--json", path("past.json")});
  EXPECT_EQ(past.exit_code, 0) << past.err;
  EXPECT_EQ(json("past.json")["rules"]["Worse"], 2) << "in its time and in its rate";
  EXPECT_EQ(json("past.json")["rules"]["Slow"], 1);
}

TEST_F(TeamStore, watch_tells_what_nodes_store_and_goes_on_after_an_outage) {
  keep({.day = 1, .time = 1});
  write("rules.yaml", std::string(kRules) + "sinks:\n  - {name: ops, command: [/bin/sh, -c, 'cat >> \"" + path("told") +
                          "\"; echo >> \"" + path("told") + "\"']}\n");
  const pid_t watching = begin("watch " + in_quotes(path("rules.yaml")));
  keep({.day = 2, .time = 3});
  EXPECT_TRUE(prints("firing Slow benchmark=job, metric=time: value 3.000 s is above the limit 2 s")) << printed();
  EXPECT_TRUE(prints("notified ops")) << printed();
  set_reachable(false);
  EXPECT_TRUE(prints("is not currently accepting connections")) << printed();
  EXPECT_THAT(printed(), Not(HasSubstr("resolved Slow"))) << "what cannot be looked at resolves nothing";
  set_reachable(true);
  EXPECT_TRUE(prints("can be evaluated again")) << printed();
  keep({.day = 3, .time = 1});
  EXPECT_TRUE(prints("resolved Slow")) << printed();
  EXPECT_EQ(end(watching), 0);
  EXPECT_THAT(*read_file(path("told")), HasSubstr("\"Slow\""));
}

TEST_F(TeamStore, exporter_and_dashboard_tell_of_all_nodes) {
  for (int node = 1; node <= 4; ++node) {
    Machine machine = device::machine_facts();
    machine.hostname = "node" + std::to_string(node);
    keep({.day = node, .time = 0.5 * node, .machine = machine});
  }
  const auto exported = warpmark({"exporter", "--textfile", path("w.prom"), "--once"});
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  const auto metrics = read_file(path("w.prom"));
  EXPECT_THAT(*metrics, HasSubstr("warpmark_store_up 1\n"));
  for (int node = 1; node <= 4; ++node) {
    EXPECT_THAT(*metrics, HasSubstr("host=\"node" + std::to_string(node) + "\"}"));
  }
  const auto site = warpmark({"dashboard", "--export", path("site")});
  EXPECT_EQ(site.exit_code, 0) << site.err;
  std::string answers;
  for (const auto& file : std::filesystem::directory_iterator(path("site") + "/data")) answers += *read_file(file);
  EXPECT_THAT(answers, HasSubstr("warpmark.fleet/1"));
  for (int node = 1; node <= 4; ++node) {
    EXPECT_THAT(answers, HasSubstr("\"hostname\":\"node" + std::to_string(node) + "\""));
  }
  set_reachable(false);
  EXPECT_EQ(warpmark({"exporter", "--textfile", path("w.prom"), "--once"}).exit_code, 0);
  EXPECT_THAT(*read_file(path("w.prom")), HasSubstr("warpmark_store_up 0\n"));
  set_reachable(true);
}

TEST_F(TeamStore, dashboard_says_that_the_server_is_gone_and_goes_on_when_it_is_back) {
  keep({.day = 1, .time = 1});
  const pid_t serving = begin("dashboard --port 0");
  ASSERT_TRUE(prints("listening on http://"));
  const auto said = printed();
  const auto at = said.find("http://");
  const auto asked = [&](const char* path) {
    const auto url = http::parse_url(said.substr(at, said.find('\n', at) - at) + path);
    const auto answer = http::request({.url = *url}, {.deadline_s = 30});
    EXPECT_TRUE(answer.ok()) << answer.error().what;
    return answer.ok() ? *answer : http::Response{};
  };
  EXPECT_THAT(asked("api/sessions").body, HasSubstr("2026-0001"));
  set_reachable(false);
  const auto gone = asked("api/sessions");
  EXPECT_EQ(gone.status, 503);
  EXPECT_THAT(gone.body, HasSubstr("not currently accepting connections"));
  set_reachable(true);
  keep({.day = 2, .time = 1});
  for (const char* path : {"api/sessions", "api/fleet", "api/runs", "api/documents", "api/cases", "api/changes"}) {
    EXPECT_EQ(asked(path).status, 200) << path;
  }
  EXPECT_THAT(asked("api/sessions").body, HasSubstr("2026-0002"));
  EXPECT_EQ(end(serving), 0);
}

TEST_F(TeamStore, dashboard_keeps_its_connection_and_takes_another_when_that_is_lost) {
  keep_days(3);
  int opened = 0;
  watch::DashboardOptions wanted;
  wanted.keeps_store = true;
  wanted.open_store = [&] {
    ++opened;
    return store::open_store(url_);
  };
  watch::Dashboard dashboard(wanted);
  for (const char* name : {"sessions", "runs", "cases", "fleet"}) EXPECT_TRUE(dashboard.api(name, "").ok()) << name;
  EXPECT_EQ(opened, 1);
  set_reachable(false);
  const auto away = dashboard.api("sessions", "");
  EXPECT_EQ(away.ok() ? ErrorKind::internal : away.error().kind, ErrorKind::environment);
  set_reachable(true);
  EXPECT_TRUE(dashboard.api("sessions", "").ok());
}

}  // namespace
}  // namespace warpmark::apps
