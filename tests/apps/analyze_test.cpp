// `warpmark analyze` as a person uses it: on the example trace, on two ranks, and on files that are no profiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

const std::string kExample =
    std::string(WARPMARK_SOURCE_DIR) + "/examples/traces/resnet18_slow_loading.pt.trace.json.gz";

using AnalyzeCli = Cli;

TEST_F(AnalyzeCli, names_the_bottleneck_of_the_example) {
  const auto output = warpmark({"analyze", kExample, "--json", path("a.json"), "--html", path("a.html")});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("data_loading"));
  EXPECT_THAT(output.out, HasSubstr("num_workers"));
  const auto json = parse_json(*read_file(path("a.json")), "a.json");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["schema"], "warpmark.analysis/1");
  EXPECT_EQ((*json)["findings"][0]["rule"], "data_loading");
  EXPECT_EQ(testing_support::schema_errors(*json, "analysis.schema.json"), "");
  EXPECT_THAT(*read_file(path("a.html")), HasSubstr("</html>"));
}

TEST_F(AnalyzeCli, prints_each_format) {
  EXPECT_THAT(warpmark({"analyze", kExample, "--format", "md"}).out, HasSubstr("## Summary"));
  EXPECT_THAT(warpmark({"analyze", kExample, "--format", "html"}).out, HasSubstr("<!DOCTYPE html>"));
  EXPECT_TRUE(parse_json(warpmark({"analyze", kExample, "--format", "json"}).out, "out").ok());
  const auto unknown = warpmark({"analyze", kExample, "--format", "pdf"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("formats: text, md, html, json"));
}

TEST_F(AnalyzeCli, fails_the_gate_above_the_severity_that_was_named) {
  EXPECT_EQ(warpmark({"analyze", kExample, "--fail-above", "critical"}).exit_code, 1);
  EXPECT_EQ(warpmark({"analyze", kExample, "--fail-above", "0.1"}).exit_code, 1);
  EXPECT_EQ(warpmark({"analyze", kExample, "--fail-above", "1"}).exit_code, 0);
  const auto unknown = warpmark({"analyze", kExample, "--fail-above", "bad"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("critical"));
}

TEST_F(AnalyzeCli, refuses_what_is_no_profile_and_says_what_it_looks_like) {
  std::ofstream(path("page.json")) << "<!DOCTYPE html><html><body>404</body></html>";
  std::ofstream(path("empty.json"));
  const auto page = warpmark({"analyze", path("page.json")});
  EXPECT_EQ(page.exit_code, 2);
  EXPECT_THAT(page.err, HasSubstr("page.json"));
  EXPECT_EQ(warpmark({"analyze", path("empty.json")}).exit_code, 2);
  const auto missing = warpmark({"analyze", path("none.json")});
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_THAT(missing.err, HasSubstr("none.json"));
  EXPECT_EQ(warpmark({"analyze"}).exit_code, 2);
}

TEST_F(AnalyzeCli, reads_a_truncated_file_as_far_as_it_goes) {
  std::ofstream(path("cut.json")) << R"({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10.5, "dur": 3.25, "args": {"stream": 7}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20.5, "dur": 3.)";
  const auto output = warpmark({"analyze", path("cut.json"), "--json", path("cut.out.json")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("Data quality"));
}

TEST_F(AnalyzeCli, answers_questions_in_sql_and_lets_none_of_them_write) {
  const auto output = warpmark(
      {"analyze", kExample, "--query", "select count(*) as n from events where kind = 'kernel'", "--format", "json"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto json = parse_json(output.out, "out");
  ASSERT_TRUE(json.ok());
  EXPECT_GT((*json)[0]["n"].get<int>(), 1000);
  EXPECT_EQ(warpmark({"analyze", kExample, "--query", "drop table names"}).exit_code, 2);
  EXPECT_EQ(warpmark({"analyze", kExample, "--query", "selec 1"}).exit_code, 2);
}

TEST_F(AnalyzeCli, converts_and_finds_the_same) {
  ASSERT_EQ(warpmark({"convert", kExample, "--to", "warpmark", "--out", path("e.wmrec")}).exit_code, 0);
  const auto again = warpmark({"analyze", path("e.wmrec"), "--format", "json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const auto json = parse_json(again.out, "out");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["findings"][0]["rule"], "data_loading");
  const auto unknown = warpmark({"convert", kExample, "--to", "pdf"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("chrome"));
}

TEST_F(AnalyzeCli, sets_a_profile_against_an_earlier_one) {
  const auto output = warpmark({"analyze", kExample, "--against", kExample});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("What changed"));
}

}  // namespace
}  // namespace warpmark::apps
