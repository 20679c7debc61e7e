// What `warpmark check` is asked about besides the newest session: files of other tools, and commands that fail.
#include <string>
#include <vector>

#include "apps/cli_fixture.h"
#include "apps/stored_history.h"

namespace warpmark::apps {
namespace {

class CheckedFiles : public WithHistory {
 protected:
  ProcessOutput check(std::vector<std::string> words) {
    words.insert(words.begin(), "check");
    return warpmark(std::move(words));
  }
};

TEST_F(CheckedFiles, judges_a_file_of_a_machine_by_its_name) {
  const auto results = [](int run) { return "{\"sort_ms\": " + std::to_string(100 + run % 3) + "}"; };
  for (int run = 0; run < 12; ++run) {
    write("new.json", results(run));
    const auto kept =
        warpmark({"history", "import", path("new.json"), "--branch", "main", "--machine", "runner-3", "--commit",
                  std::to_string(1000000 + run), "--started", "2026-01-" + std::to_string(10 + run) + "T00:00:00Z"});
    ASSERT_EQ(kept.exit_code, 0) << kept.err;
  }
  write("new.json", results(1));
  EXPECT_EQ(check({"--run", path("new.json")}).exit_code, 5) << "of which machine is not known";
  const auto same = check({"--run", path("new.json"), "--machine", "runner-3"});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  write("new.json", results(60));
  EXPECT_EQ(check({"--run", path("new.json"), "--machine", "runner-3"}).exit_code, 0);
  write("new.json", "{\"sort_ms\": 160}");
  EXPECT_EQ(check({"--run", path("new.json"), "--machine", "runner-3"}).exit_code, 1);
}

TEST_F(CheckedFiles, refuses_options_of_a_measurement_where_nothing_is_measured) {
  store_history(store(), 12);
  const auto output = check({"--reference", "HEAD~1", "--rounds", "3"});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.err.find("--rounds is for a command that is measured now"), std::string::npos) << output.err;
}

TEST_F(CheckedFiles, says_how_the_command_failed) {
  const auto output = check({"--", "sh", "-c", "echo broken >&2; exit 3"});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.err.find("exit code 2: sh -c"), std::string::npos) << output.err;
}

}  // namespace
}  // namespace warpmark::apps
