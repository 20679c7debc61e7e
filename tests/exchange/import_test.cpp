// Which format a file is, whose results they are, and when they are the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/imported.h"
#include "read_files.h"

namespace warpmark::exchange {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Import, tells_formats_apart_by_content) {
  const std::pair<const char*, const char*> files[] = {{"hyperfine.json", "hyperfine-"},
                                                       {"google_benchmark.json", "google-benchmark-"},
                                                       {"pytest_benchmark.json", "pytest-benchmark-"},
                                                       {"nvbench.json", "nvbench-"}};
  for (const auto& [file, prefix] : files) EXPECT_THAT(read_data(file).id, StartsWith(prefix)) << file;
}

TEST(Import, says_what_a_file_is_that_it_refuses) {
  const auto what = [](const std::string& text) { return read_text(text).error().what; };
  EXPECT_THAT(what(""), HasSubstr("it is empty"));
  EXPECT_THAT(what("{}"), HasSubstr("an empty JSON object"));
  EXPECT_THAT(what("[]"), HasSubstr("an empty JSON array"));
  EXPECT_THAT(what(R"({"a":{"x":1},"b":2})"), HasSubstr("JSON with the keys 'a', 'b'"));
  EXPECT_THAT(what(R"({"traceEvents":[]})"), HasSubstr("'warpmark analyze' reads it"));
  EXPECT_THAT(what(R"({"schema":"warpmark.doctor/1"})"), HasSubstr("warpmark.doctor/1"));
  EXPECT_THAT(what("SQLite format 3"), HasSubstr("a SQLite database"));
  EXPECT_THAT(what("\x1F\x8B\x08"), HasSubstr("unpack it first"));
  EXPECT_THAT(what("<html>"), HasSubstr("HTML"));
  EXPECT_THAT(what("hello \x1b[31mworld\n"), HasSubstr("'hello  [31mworld'"));
  EXPECT_THAT(what(std::string("a\0b", 3)), HasSubstr("a binary file"));
  EXPECT_EQ(read_text("").error().kind, ErrorKind::data);
}

TEST(Import, explains_damage) {
  std::string cut = bytes_of("hyperfine.json");
  cut.resize(cut.size() / 2);
  EXPECT_THAT(read_text(cut).error().what, HasSubstr("not valid JSON"));
  const auto what = [](const std::string& text) { return read_text(text).error().what; };
  EXPECT_EQ(what(R"({"results":[{"command":"x","mean":"fast"}]})"),
            "input: results[0].mean must be a number, not string \"fast\"");
  EXPECT_EQ(what(R"({"results":[{"command":5,"mean":1}]})"), "input: results[0].command must be a text, not number 5");
  EXPECT_EQ(what(R"({"results":[{"command":"x","times":[1,-1]}]})"), "input: 'x' has a time of -1 s, below 0");
  EXPECT_EQ(what(R"({"results":[{"command":"x","times":[1,1e300]}]})"),
            "input: 'x' has a time of 1e+300, which is no measurement");
  EXPECT_THAT(what(R"({"results":[{"command":"x","mean":NaN}]})"), HasSubstr("mean")) << "NaN is read as unknown";
  EXPECT_THAT(what("name,value\na,1e150\na,-1e150\na,1e-300\n"), HasSubstr("too far apart"));
  EXPECT_THAT(what(R"({"results":[{"command":"x","mean":1e999}]})"), HasSubstr("not valid JSON"));
  EXPECT_EQ(what(R"({"context":{},"benchmarks":[]})"), "input holds no results");
  EXPECT_THAT(what(R"({"context":{},"benchmarks":[{"name":"x","real_time":1,"time_unit":"h"}]})"),
              HasSubstr("benchmarks[0].time_unit cannot be 'h'"));
}

TEST(Import, knows_the_same_results_again) {
  const std::string text = bytes_of("hyperfine.json");
  EXPECT_EQ(read_one(text).id, read_one(text, {.fallback_started = "2026-01-01T00:00:00Z"}).id);
  EXPECT_EQ(read_one(text).id, read_one("\n" + text + " ").id);
  EXPECT_NE(read_one(text, {.commit = "c1"}).id, read_one(text, {.commit = "c2"}).id) << "a coincidence";
  EXPECT_NE(read_one(text).id, read_data("hyperfine_fails.json").id);
  EXPECT_EQ(read_one(text).runs.at(1).id, read_one(text).id + ".1");
}

TEST(Import, takes_from_the_person_what_the_file_does_not_say) {
  const Session session = read_data("hyperfine.json", {.commit = "c1",
                                                       .branch = "dev",
                                                       .started = "2026-03-01T12:00:00+01:00",
                                                       .fallback_started = "2000-01-01T00:00:00Z"});
  EXPECT_EQ(session.commit, "c1");
  EXPECT_EQ(session.branch, "dev");
  EXPECT_EQ(session.started, "2026-03-01T11:00:00Z");
  EXPECT_EQ(read_data("hyperfine.json", {.fallback_started = "2000-01-01T00:00:00Z"}).started, "2000-01-01T00:00:00Z");
  EXPECT_EQ(read_text(bytes_of("hyperfine.json"), {.started = "soon"}).error().what, "'soon' is no date");
}

TEST(Import, mistakes_no_machine_for_another) {
  const Session unknown = read_data("hyperfine.json");
  EXPECT_EQ(unknown.machine.fingerprint, kUnknownMachine);
  const Session named = read_data("hyperfine.json", {.machine = "runner-3"});
  EXPECT_EQ(named.machine.hostname, "runner-3");
  EXPECT_THAT(named.machine.fingerprint, StartsWith("imported-"));
  EXPECT_EQ(named.machine.fingerprint, read_data("pytest_benchmark.json", {.machine = "runner-3"}).machine.fingerprint);
  const Session reported = read_data("pytest_benchmark.json");
  EXPECT_THAT(reported.machine.fingerprint, StartsWith("imported-"));
  EXPECT_NE(reported.machine.fingerprint, read_data("google_benchmark.json").machine.fingerprint);
  Machine here;
  here.fingerprint = "00112233445566aa";
  EXPECT_EQ(read_data("hyperfine.json", {.machine = "this", .measured_on = here}).machine.fingerprint,
            "00112233445566aa");
}

TEST(Import, suggests_formats) {
  const auto wrong = read_text("{}", {.format = "hyprfine"});
  EXPECT_THAT(wrong.error().hint, HasSubstr("did you mean 'hyperfine'?"));
  EXPECT_EQ(read_text("{}", {.format = "junit"}).error().what, "there is no reading of 'junit'");
  for (const auto& id : readable_formats()) {
    EXPECT_FALSE(read_text("{}", {.format = id}).ok()) << id;
    EXPECT_FALSE(read_text("nothing", {.format = id}).ok()) << id;
  }
}

TEST(ToUtc, reads_what_tools_write) {
  EXPECT_EQ(to_utc("2026-11-21T07:14:39+00:00"), "2026-11-21T07:14:39Z");
  EXPECT_EQ(to_utc("2026-11-21T07:14:36.281953"), "2026-11-21T07:14:36Z");
  EXPECT_EQ(to_utc("2026-11-21 00:14:36-0530"), "2026-11-21T05:44:36Z");
  EXPECT_EQ(to_utc("2026-01-01T00:30:00+01:00"), "2025-12-31T23:30:00Z");
  for (const char* wrong : {"", "2026", "2026-13-01T00:00:00Z", "2026-11-21T25:00:00Z", "2026-11-21T07:14:39+1",
                            "21.11.2026 07:14:39", "2026-11-21T07:14:39Zulu"}) {
    EXPECT_FALSE(to_utc(wrong)) << wrong;
  }
}

TEST(ParamValue, keeps_what_would_not_print_the_same) {
  EXPECT_EQ(param_value("8"), ParamValue(std::int64_t{8}));
  EXPECT_EQ(param_value("0.5"), ParamValue(0.5));
  EXPECT_EQ(param_value("007"), ParamValue(std::string("007")));
  EXPECT_EQ(param_value("0x10"), ParamValue(std::string("0x10")));
}

}  // namespace
}  // namespace warpmark::exchange
