// `warpmark check --results FILE --baseline FILE`: the values of two files, without a history and without a test.
#include <string>
#include <vector>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

class PointGate : public Cli {
 protected:
  ProcessOutput check(std::vector<std::string> words) {
    words.insert(words.begin(), "check");
    return warpmark(std::move(words));
  }
};

/// The CI step of a document: two flat files, more than 5 % worse fails.
TEST_F(PointGate, judges_a_file_by_point_values_and_says_that_they_are_untested) {
  write("old.json", R"({"throughput_samples_sec": 448.2, "latency_ms_p99": 20, "memory_gb": 10})");
  write("new.json", R"({"throughput_samples_sec": 389.9, "latency_ms_p99": 20.5, "memory_gb": 9})");
  const auto gate = [&](std::vector<std::string> more) {
    return check(with({"--results", path("new.json"), "--baseline", path("old.json")}, more));
  };
  const auto output = gate({"--threshold", "5%", "--json", path("check.json"), "--out", path("out")});
  EXPECT_EQ(output.exit_code, 1) << output.out << output.err;
  EXPECT_NE(output.out.find("worse, 13.0 % lower"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("Untested: "), std::string::npos) << output.out;
  const Json result = json("check.json");
  EXPECT_EQ(testing_support::schema_errors(result, "check.schema.json"), "");
  EXPECT_EQ(result["tested"], false);
  EXPECT_EQ(result["verdict"], "worse");
  EXPECT_EQ(result["metrics"].size(), 3U);
  const auto badge = read_file(path("out/badge.svg"));
  ASSERT_TRUE(badge.ok());
  EXPECT_NE(badge->find("-13.0 % item_rate"), std::string::npos) << *badge;
  EXPECT_EQ(gate({"--threshold", "20%"}).exit_code, 0);
  EXPECT_EQ(gate({"--metrics", "*latency*"}).exit_code, 0);
  const auto comment = gate({"--format", "github"});
  EXPECT_EQ(comment.exit_code, 1);
  EXPECT_TRUE(comment.out.starts_with("### Performance regression\n")) << comment.out;
  EXPECT_TRUE(comment.err.starts_with("::error title=")) << comment.err;
  write("other.json", R"({"accuracy": 0.9})");
  const auto nothing = check({"--results", path("new.json"), "--baseline", path("other.json")});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_NE(nothing.err.find("no metric in common"), std::string::npos) << nothing.err;
  EXPECT_NE(check({"--baseline", path("old.json")}).err.find("--results names the file to check"), std::string::npos);
}

TEST_F(PointGate, passes_no_change_whose_direction_is_unknown) {
  write("old.json", R"({"a": 100, "b": 2})");
  write("new.json", R"({"a": 113, "b": 2})");
  const std::vector<std::string> gate{"--results", path("new.json"), "--baseline", path("old.json")};
  const auto open = check(gate);
  EXPECT_EQ(open.exit_code, 3) << open.out;
  EXPECT_NE(open.out.find("'a=lower'"), std::string::npos) << open.out;
  EXPECT_EQ(check(with(gate, {"--better", "a=lower"})).exit_code, 1);
  EXPECT_EQ(check(with(gate, {"--better", "a=higher"})).exit_code, 0);
  EXPECT_EQ(check(with(gate, {"--threshold", "20%"})).exit_code, 0) << "nothing changed by as much";
  EXPECT_EQ(check(with(gate, {"--better", "a=sideways"})).exit_code, 2);
  // Where something else decides, it is shown, and does not.
  write("old.json", R"({"a": 100, "latency_ms": 2})");
  write("new.json", R"({"a": 113, "latency_ms": 2})");
  const auto mixed = check(gate);
  EXPECT_EQ(mixed.exit_code, 0) << mixed.out;
  EXPECT_NE(mixed.out.find("a value: different, 13.0 % higher: whether lower or"), std::string::npos)
      << mixed.out;
}

TEST_F(PointGate, judges_by_the_metrics_that_decide_a_comparison) {
  const auto file = [&](const std::string& name, const std::string& system) {
    write(name, R"({"results":[{"command":"x","mean":1,"system":)" + system + R"(,"times":[1,1.001,1.002,1]}]})");
  };
  file("old.json", "0.000171");
  file("new.json", "0.000222");
  EXPECT_EQ(check({"--results", path("new.json"), "--baseline", path("old.json")}).exit_code, 0);
  EXPECT_EQ(warpmark({"compare", path("old.json"), path("new.json")}).exit_code, 0);
  EXPECT_EQ(
      check({"--results", path("new.json"), "--baseline", path("old.json"), "--metrics", "system_time"}).exit_code, 1);
}

}  // namespace
}  // namespace warpmark::apps
