// Results of other tools: in, out, twice, and through a kill.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "cli_fixture.h"
#include "support/schema_check.h"

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
  EXPECT_THAT(table.out, HasSubstr(",c1,,,sleep 0.01,"));
  EXPECT_THAT(table.out, HasSubstr(",cpu,hot,passed,,time,s,lower,0,0.0"));
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
  EXPECT_THAT(output.err, HasSubstr("do not name their machine"));
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

TEST_F(Exchange, pairs_results_of_one_name_by_their_numbers) {
  const std::string data = std::string(WARPMARK_SOURCE_DIR) + "/tests/data/exchange/field/";
  const auto output =
      warpmark({"compare", data + "hyperfine_dup_a.json", data + "hyperfine_dup_b.json", "--json", path("c.json")});
  EXPECT_EQ(output.exit_code, 1) << output.out << output.err;
  const Json metrics = json("c.json")["metrics"];
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[0]["verdict"], "same");
  EXPECT_EQ(metrics[1]["verdict"], "worse");
  EXPECT_NEAR(metrics[1]["ratio"].get<double>(), 1.3, 0.01);
  const auto alone = warpmark({"compare", data + "hyperfine_dup_a.json", "--json", path("c.json")});
  EXPECT_EQ(alone.exit_code, 1) << "the two results of one file: " << alone.out << alone.err;
  EXPECT_NEAR(json("c.json")["metrics"][0]["ratio"].get<double>(), 2, 0.01);
}

TEST_F(Exchange, refuses_to_pair_different_numbers_of_one_name) {
  const auto file = [&](const char* name, const char* more) {
    const std::string one = R"({"command":"dup","times":[1.0,1.01,0.99,1.0]},{"command":"x","times":[1,1,1.01,1]})";
    EXPECT_TRUE(write_file(path(name), "{\"results\":[" + one + more + "]}").ok());
    return path(name);
  };
  const auto output = warpmark({"compare", file("a.json", ""),
                                file("b.json", R"(,{"command":"dup","times":[2,2,2.1,2]})"), "--json", path("c.json")});
  EXPECT_EQ(json("c.json")["metrics"].size(), 1U) << output.out << output.err;
  EXPECT_NE(output.err.find("different numbers of results of this name"), std::string::npos) << output.err;
}

TEST_F(Exchange, compares_machines_where_that_is_asked_for) {
  const auto file = [&](const char* name, const char* gpu, const char* bus) {
    EXPECT_TRUE(
        write_file(path(name), std::string("# nThread 1 nGpus 2 minBytes 8\n#  Rank  0 Group  0 Pid 1 on box device  0 "
                                           "[0x1b] NVIDIA ") +
                                   gpu + "\n#  Rank  1 Group  0 Pid 1 on box device  1 [0x1c] NVIDIA " + gpu +
                                   "\n# size count type redop root time algbw busbw #wrong\n" + bus +
                                   "# Out of bounds values : 0 OK\n")
            .ok());
    return path(name);
  };
  const auto a =
      file("a.txt", "H100", " 1024 256 float sum -1 20.0 2.0 2.0 0\n 1024 256 float sum -1 20.1 2.0 2.0 0\n");
  const auto b =
      file("b.txt", "H200", " 1024 256 float sum -1 10.0 4.0 4.0 0\n 1024 256 float sum -1 10.1 4.0 4.0 0\n");
  EXPECT_EQ(warpmark({"compare", a, b}).exit_code, 5);
  const auto output =
      warpmark({"compare", a, b, "--across-machines", "--price-a", "2", "--price-b", "3", "--json", path("c.json")});
  EXPECT_NE(output.out.find("NVIDIA H200 x2 (box)"), std::string::npos) << output.out << output.err;
  EXPECT_NEAR(json("c.json")["metrics"][0]["per_price"].get<double>(), 4.0 / 3, 0.01);
  EXPECT_EQ(testing_support::schema_errors(json("c.json"), "compare.schema.json"), "");
  EXPECT_EQ(warpmark({"compare", a, b, "--across-machines", "--price-a", "2"}).exit_code, 2);
}

TEST_F(Exchange, tells_what_an_import_left_out) {
  ASSERT_TRUE(write_file(path("log.txt"),
                         "# nThread 1 nGpus 2 minBytes 8\n# size count type redop root time algbw busbw "
                         "#wrong\n 8 2 float sum -1 1.0 2.0 2.0 0\n 16 4 float sum\n")
                  .ok());
  const auto output = warpmark({"history", "import", path("log.txt")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_NE(output.err.find("rows that end early"), std::string::npos) << output.err;
  EXPECT_NE(output.err.find("--collective"), std::string::npos) << output.err;
  const auto named = warpmark({"history", "import", path("log.txt"), "--collective", "all_reduce", "--commit", "c1"});
  EXPECT_EQ(named.err.find("--collective"), std::string::npos) << named.err;
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
