// How much of a file of results is believed, and the memory that it takes.
#include <gmock/gmock.h>

#include "exchange/read_files.h"
#include "support/expect_refused.h"
#include "support/peak_memory.h"

namespace warpmark::exchange {
namespace {

using testing_support::expect_refused;

/// `line(i)` for every i, with what stands between them.
template <typename Line>
std::string joined(int count, const std::string& separator, Line&& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : separator) + line(i);
  return text;
}

std::string table(const std::string& header, int rows, const std::string& auxiliary = "") {
  return header + "\n" + joined(rows, "\n", [&](int i) { return std::to_string(i) + auxiliary + ",1"; }) + "\n";
}

std::string hyperfine(const std::string& fields) {
  return R"({"results": [{"command": "a", "mean": 1, )" + fields + "}]}";
}

TEST(ImportBounds, refuse_more_results_than_a_short_file_can_mean) {
  EXPECT_TRUE(read_text(table("name,value", 15'000)).ok());
  expect_refused(read_text(table("name,value", 30'001)), "row 30001: it has more than 30000 results");
  expect_refused(read_text(table("commit,name,value", 15'001, ",a")), "it has more than 30000 results");
  const auto bench = [](int i) { return R"({"name":"b)" + std::to_string(i) + R"(","unit":"s","value":1})"; };
  const std::string benches = "[" + joined(30'001, ",", bench) + "]";
  expect_refused(read_text(benches, {.format = "customSmallerIsBetter"}), "it has more than 30000 results");
  expect_refused(read_text("window.BENCHMARK_DATA = {\"entries\":{\"Benchmark\":[{\"commit\":{\"id\":\"c\"},"
                           "\"date\":1,\"benches\":" +
                           benches + "}]}}"),
                 "it has more than 30000 results");
}

TEST(ImportBounds, believe_more_results_of_a_longer_file) {
  const auto sessions = read_text(table("name,value", 30'100, std::string(100, 'x')));
  ASSERT_TRUE(sessions.ok()) << sessions.error().what;
  EXPECT_EQ(sessions->front().runs.size(), 30'100U);
}

TEST(ImportBounds, refuse_what_no_result_has) {
  const auto name = [](int i) { return "p" + std::to_string(i); };
  expect_refused(read_text("name,value," + joined(300, ",", name) + "\n"), "it has 302 columns, at most 271");
  expect_refused(read_text("name,value\na,1" + std::string(1'000'000, ',') + "\n"), "row 2: it has 1000002 fields");
  const auto metric = [&](int i) { return name(i) + ",a,1"; };
  expect_refused(read_text("metric,name,value\n" + joined(1001, "\n", metric) + "\n"),
                 "row 1002: 'a' has more than 1000 metrics");
  const auto key = [&](int i) { return '"' + name(i) + "\": 1"; };
  expect_refused(read_text(hyperfine("\"parameters\": {" + joined(257, ",", key) + "}")),
                 "'a' has more than 256 parameters");
  expect_refused(read_text(R"({"context": {}, "benchmarks": [{"name": "a", )" + joined(1001, ",", key) + "}]}"),
                 "'a' has more than 1000 metrics");
}

/// 25 bytes of a parameter are enough to be believed, 3 are not.
TEST(ImportBounds, refuse_more_parameters_than_a_short_file_can_mean) {
  const auto name = [](int i) { return "p" + std::to_string(i); };
  const std::string header = "name,value," + joined(250, ",", name) + "\n";
  const auto table_of = [&](const std::string& cell) {
    const std::string cells = joined(250, ",", [&](int) { return cell; });
    return header + joined(500, "\n", [&](int i) { return std::to_string(i) + ",1," + cells; }) + "\n";
  };
  expect_refused(read_text(table_of("11")), "row 402: it has more than 100000 parameters");
  EXPECT_TRUE(read_text(table_of(std::string(24, '1'))).ok());
}

TEST(ImportBounds, refuse_json_that_takes_far_more_memory_or_time_than_its_text) {
  const auto one = [](int) { return "1"; };
  expect_refused(read_text(hyperfine("\"times\": [" + joined(600'000, ",", one) + "]")),
                 "input has more than 500000 values in 1200054 bytes of JSON");
  const auto key = [](int i) { return "\"k" + std::to_string(i) + "\": 1"; };
  expect_refused(read_text("{" + joined(10'001, ",", key) + "}"), "input has an object of more than 10000 keys");
  expect_refused(read_text("window.BENCHMARK_DATA = {" + joined(10'001, ",", key) + "}"),
                 "input has an object of more than 10000 keys");
  // Commas, colons and brackets in texts are none, and values of ordinary length are believed in any number.
  EXPECT_EQ(read_one(hyperfine("\"x\": \"" + std::string(600'000, ',') + "\\\":{[\"")).runs.size(), 1U);
  const auto number = [](int) { return "0.00012345"; };
  EXPECT_EQ(read_one(hyperfine("\"times\": [" + joined(600'000, ",", number) + "]")).runs.size(), 1U);
}

TEST(ImportBounds, of_a_table_are_those_of_its_export) {
  Session session = read_one("name,value\na,1\n");
  for (int i = 0; i < 257; ++i) session.runs[0].params.set("p" + std::to_string(i), std::int64_t{1});
  const auto exported = find_in(formats(), "csv")->write(session);
  ASSERT_FALSE(exported.ok());
  EXPECT_EQ(exported.error().kind, ErrorKind::data);
  EXPECT_EQ(exported.error().what, session.id + " has more than 256 parameters, a column each");
}

/// Ten times the text, and for what has hardly any text the 30 000 results and 500 000 values that are believed.
TEST(Memory, of_an_import_is_bounded_by_the_text) {
  if (!testing_support::memory_can_be_measured()) GTEST_SKIP() << "a sanitizer changes what memory costs";
  constexpr std::int64_t kOfContent = 80 << 20;
  const auto cell = [](int) { return "1"; };
  const std::string wide = "name,value\n" + joined(3'000'000, ",", cell) + "\n";
  const auto number = [](int) { return "0.0001234567"; };
  const std::string samples = hyperfine("\"times\": [" + joined(1'000'000, ",", number) + "]");
  std::string repeated = "name,value\n";
  for (int i = 0; i < 2'000'000; ++i) repeated += "a,1\n";
  for (const std::string& text : {table("name,value", 1'000'000), table("commit,name,value", 500'000, ",a"), wide,
                                  repeated, samples, "[" + joined(2'000'000, ",", cell) + "]"}) {
    const std::int64_t peak = testing_support::peak_bytes_beyond_this([&] {
      (void)read_text(text);
      return true;
    });
    ASSERT_GE(peak, 0);
    EXPECT_LE(peak, 10 * static_cast<std::int64_t>(text.size()) + kOfContent) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace warpmark::exchange
