// Results of other tools: in, out, twice, and through a kill.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "cli_fixture.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kFiles = std::string(WARPMARK_SOURCE_DIR) + "/tests/data/exchange/";

class Exchange : public Cli {};

TEST_F(Exchange, imports_files_of_tools_once) {
  const std::vector<std::string> words{"history", "import", kFiles + "hyperfine.json", kFiles + "pytest_benchmark.json",
                                       kFiles + "google_benchmark.json"};
  const auto first = warpmark(words);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("pytest-benchmark-"));
  EXPECT_THAT(first.out, HasSubstr("3 results of commit 0b5f02bc31"));
  EXPECT_THAT(first.err, HasSubstr("--machine NAME"));
  const auto again = warpmark(words);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("stored already"));
  EXPECT_THAT(again.out, Not(HasSubstr("results")));
  const auto shown = warpmark({"history", "show", "pytest"});
  EXPECT_THAT(shown.out, HasSubstr("test_sort[100]"));
}

TEST_F(Exchange, exports_what_it_imported) {
  ASSERT_EQ(warpmark({"history", "import", kFiles + "hyperfine.json", "--commit", "c1"}).exit_code, 0);
  const auto output = warpmark({"history", "export", "last", "--format", "hyperfine", "--out", path("h.json")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const auto table = warpmark({"history", "export", "--format", "csv"});
  EXPECT_THAT(table.out, HasSubstr(",c1,,sleep 0.01,cpu,hot,passed,time,s,lower,0,0.0"));
  const auto back = warpmark({"history", "import", path("h.json"), "--commit", "c1"});
  EXPECT_THAT(back.out, HasSubstr("stored already")) << "samples, names and commit are the same";
  const auto wrong = warpmark({"history", "export", "--format", "hyprfine"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'hyperfine'?"));
  EXPECT_EQ(warpmark({"history", "export"}).exit_code, 2);
}

TEST_F(Exchange, stores_nothing_if_one_file_is_wrong) {
  write("cut.json", "{\"results\":[{\"command\":");
  const auto output = warpmark({"history", "import", kFiles + "hyperfine.json", path("cut.json")});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("cut.json is not valid JSON"));
  EXPECT_THAT(warpmark({"history"}).out, HasSubstr("nothing is stored yet"));
  EXPECT_EQ(warpmark({"history", "import", path("absent.json")}).exit_code, 2);
  EXPECT_EQ(warpmark({"history", "import"}).exit_code, 2);
}

TEST_F(Exchange, never_takes_names_for_commands) {
  const std::string name = "'; DROP TABLE runs; -- $(touch " + path("touched") + ") %s";
  write("evil.csv", "name,value,unit,\"x'); DELETE FROM sessions; --\"\n\"" + name + "\",1,ms,\"'\"\n");
  const auto output =
      warpmark({"history", "import", path("evil.csv"), "--commit", "' OR 1=1; --", "--branch", "\"; DROP TABLE runs"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(warpmark({"history", "export", "--format", "csv"}).out, HasSubstr("DROP TABLE runs; --"));
  EXPECT_FALSE(std::filesystem::exists(path("touched")));
}

TEST_F(Exchange, compares_two_files_of_another_tool) {
  const auto output = warpmark({"compare", kFiles + "hyperfine.json", kFiles + "hyperfine.json"});
  EXPECT_THAT(output.out, HasSubstr("sleep 0.01"));
  EXPECT_THAT(output.err, HasSubstr("do not say on which machine"));
  const auto foreign = warpmark({"compare", kFiles + "pytest_benchmark.json", kFiles + "google_benchmark.json"});
  EXPECT_EQ(foreign.exit_code, 5) << foreign.err;
  EXPECT_THAT(foreign.err, HasSubstr("different machines"));
}

/// Starts an import and kills it after the delay.
void import_and_kill(const std::string& file, int delay_ms) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(STDOUT_FILENO);
    ::execl(kExecutable.c_str(), "warpmark", "history", "import", file.c_str(), nullptr);
    ::_exit(127);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
}

TEST_F(Exchange, an_import_that_is_killed_goes_on_and_counts_nothing_twice) {
  constexpr int kCases = 20000;
  std::string table = "name,value,unit,n,commit\n";
  for (int i = 0; i < kCases; ++i) table += "case," + std::to_string(1 + i) + ",us," + std::to_string(i) + ",c1\n";
  write("big.csv", table);
  for (const int delay_ms : {100, 200, 400, 800}) import_and_kill(path("big.csv"), delay_ms);
  const auto whole = warpmark({"history", "import", path("big.csv")});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  const auto again = warpmark({"history", "import", path("big.csv")});
  EXPECT_THAT(again.out, HasSubstr("stored already"));
  const auto exported = warpmark({"history", "export", "--format", "csv", "--out", path("out.csv")});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  const auto text = read_file(path("out.csv"));
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(std::count(text->begin(), text->end(), '\n'), kCases + 1);
}

}  // namespace
}  // namespace warpmark::apps
