// A password in the URL of a database stands on the command line, and in no report.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/json.h"

#include "apps/stored_history.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Password : public WithHistory {
 protected:
  void expect_hidden(std::vector<std::string> words) {
    words.insert(words.end(), {"--format", "json"});
    const auto output = warpmark(words);
    EXPECT_THAT(output.out + output.err, Not(HasSubstr("hunter2")));
    const auto report = parse_json(output.out, words.front());
    ASSERT_TRUE(report.ok()) << output.out << output.err;
    EXPECT_THAT((*report)["command"].get<std::string>(), HasSubstr("postgresql://me:***@"));
  }
};

TEST_F(Password, is_hidden_by_accept) {
  write("c.yaml", "criteria:\n  - {title: Memory, fact: host_memory, operator: '>=', value: 1 B}\n");
  expect_hidden({"accept", path("c.yaml"), "--db", "postgresql://me:hunter2@/x?host=" + path("")});
}

TEST_F(Password, is_hidden_by_matrix) {
  setenv("XDG_DATA_HOME", path("data").c_str(), 1);  // of the journal, as the database is elsewhere
  write("m.yaml", "command: {run: 'true {x}'}\naxes: {x: [1, 2]}\nbaseline: {x: 1}\nrounds: 1\nwarmup: 0\n");
  expect_hidden({"matrix", path("m.yaml"), "--no-store", "--db", "postgresql://me:hunter2@/x?host=" + path("")});
  unsetenv("XDG_DATA_HOME");
}

// check and trend tell nothing without a database that answers, so the URL is that of a folder.

TEST_F(Password, is_hidden_by_check) {
  store_history(store(), 10);
  std::filesystem::create_directories(path("postgresql://me:hunter2@host"));
  expect_hidden({"check", "--run", "last", "--out", path("postgresql://me:hunter2@host/x")});
}

TEST_F(Password, is_hidden_by_trend) {
  store_history(store(), 10);
  std::filesystem::create_directories(path("postgresql://me:hunter2@host"));
  expect_hidden({"trend", "--out", path("postgresql://me:hunter2@host/x")});
}

}  // namespace
}  // namespace warpmark::apps
