// A load test as a program calls it that has no command line: against the reference server.
#include "loadtest/run_load.h"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>

#include "base/files.h"
#include "serving/reference/reference_server.h"

namespace warpmark::loadtest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<serving::ReferenceServer> quick_server() {
  serving::ReferenceServerOptions options;
  options.script.ttft_s = 0.002;
  options.script.itl_s = 0.0005;
  auto server = serving::ReferenceServer::start(options);
  EXPECT_TRUE(server.ok()) << server.error().what;
  return std::move(*server);
}

LoadRequest small_load(const std::string& url) {
  LoadRequest request;
  request.server.bases = {url};
  request.server.api_model = "reference";
  request.levels.scenarios = {"D(10,5)"};
  request.levels.users = {1, 3};
  request.traffic.most_requests = 12;
  request.files.stores = false;
  return request;
}

const char* nothing_set(const char*) { return nullptr; }

TEST(RunLoad, measures_every_level_and_writes_what_was_asked_for) {
  const auto server = quick_server();
  const auto scratch = ScratchFolder::make("load-test");
  ASSERT_TRUE(scratch.ok()) << scratch.error().what;
  LoadRequest request = small_load(server->url());
  request.files.json = (scratch->path() / "load.json").string();
  const std::atomic<bool> interrupted{false};
  std::vector<std::int64_t> users;
  std::string title;
  const auto test =
      run_load(request, {.environment = nothing_set,
                         .interrupted = interrupted,
                         .command = "a program",
                         .live = [&](const RunningLoad& load, const serving::LiveCounters&) { title = load.title; },
                         .measured = [&](const serving::ScenarioResult& result) { users.push_back(result.users); }});
  ASSERT_TRUE(test.ok()) << test.error().what;
  ASSERT_TRUE(test->ended.ok()) << test->ended.error().what;
  EXPECT_THAT(users, ElementsAre(1, 3));
  EXPECT_EQ("D(10,5), 3 users", title);
  ASSERT_EQ(2U, test->report.scenarios.size());
  EXPECT_EQ(12, test->report.scenarios[1].completed);
  EXPECT_EQ("a program", test->report.command);
  EXPECT_TRUE(test->report.complete);
  EXPECT_FALSE(test->stored);
  const auto written = read_file(request.files.json);
  ASSERT_TRUE(written.ok()) << written.error().what;
  EXPECT_THAT(*written, HasSubstr("warpmark.load/1"));
}

TEST(RunLoad, keeps_what_was_measured_before_an_interruption) {
  const auto server = quick_server();
  LoadRequest request = small_load(server->url());
  std::atomic<bool> interrupted{false};
  const auto test = run_load(request, {.environment = nothing_set,
                                       .interrupted = interrupted,
                                       .measured = [&](const serving::ScenarioResult&) { interrupted.store(true); }});
  ASSERT_TRUE(test.ok()) << test.error().what;
  EXPECT_TRUE(test->interrupted);
  EXPECT_EQ(1U, test->report.scenarios.size());
  EXPECT_FALSE(test->report.complete);
}

TEST(RunLoad, names_what_excludes_each_other_before_it_asks_the_server) {
  LoadRequest request = small_load("http://127.0.0.1:1");
  request.levels.rates = {5};
  const std::atomic<bool> interrupted{false};
  const auto test = run_load(request, {.environment = nothing_set, .interrupted = interrupted});
  ASSERT_FALSE(test.ok());
  EXPECT_EQ("give --num-concurrency or --request-rate, not both", test.error().what);
}

}  // namespace
}  // namespace warpmark::loadtest
