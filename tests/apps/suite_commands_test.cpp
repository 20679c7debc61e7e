// Suites that hold collectives, loads and evaluations beside workloads: one run, one document.
#include <gmock/gmock.h>

#include <set>

#include "apps/cli_fixture.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

TEST_F(Cli, a_suite_with_commands_gives_one_document) {
  write("ref.txt", "a\nb\n");
  write("out.txt", "a\nc\n");
  write("suite.yaml",
        "rounds: 1\nprecision: 20%\ncases:\n  - {workload: copy, device: cpu, set: {size: 1MiB}}\ncommands:\n"
        "  - collective all_reduce --ranks 2 --oversubscribe -b 256 -e 4K -n 5\n"
        "  - eval score exact_match --ref " +
            in_quotes(path("ref.txt")) + " --predictions " + in_quotes(path("out.txt")) +
            "\n  - links --device cuda:77\n");
  const auto output = warpmark({"run", "--suite", path("suite.yaml"), "--no-ceilings", "--json", path("o.json")});
  EXPECT_THAT(output.err, HasSubstr("warpmark collective all_reduce"));
  std::set<std::string> found;
  std::set<std::int64_t> indices;
  const auto session = json("o.json");
  for (const auto& run : session["runs"]) {
    found.insert(run["workload"]);
    EXPECT_TRUE(indices.insert(run["index"].get<std::int64_t>()).second) << "an index for each";
    if (run["workload"] == "links") {
      EXPECT_THAT(run["outcome"].get<std::string>(), ::testing::AnyOf("unsupported", "error")) << run;
      EXPECT_FALSE(run["reason"].get<std::string>().empty());
    } else {
      EXPECT_THAT(run["outcome"].get<std::string>(), ::testing::AnyOf("passed", "unreliable")) << run;
    }
  }
  EXPECT_EQ(found, (std::set<std::string>{"copy", "all_reduce", "eval", "links"})) << session["runs"].dump(1);
  const auto stored = warpmark({"report", "last", "--json", path("again.json")});
  EXPECT_EQ(json("again.json")["runs"].size(), session["runs"].size()) << stored.err;
  EXPECT_THAT(stored.out, HasSubstr("all_reduce"));
}

TEST_F(Cli, a_suite_refuses_commands_that_measure_nothing) {
  write("suite.yaml", "commands:\n  - trend time\n");
  const auto output = warpmark({"run", "--suite", path("suite.yaml"), "--no-store"});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("line 2 of the suite: 'trend time' measures nothing that a suite can keep"));
  write("suite.yaml", "commands:\n  - run --suite " + in_quotes(path("suite.yaml")) + "\n");
  const auto itself = warpmark({"run", "--suite", path("suite.yaml"), "--no-store"});
  EXPECT_EQ(itself.exit_code, 2);
  EXPECT_THAT(itself.err, HasSubstr("--suite is not for its commands"));
}

}  // namespace
}  // namespace warpmark::apps
