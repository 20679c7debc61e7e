// What is written reads back as what it was; and documents that other tools must understand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "read_files.h"
#include "report/results/labels.h"

namespace warpmark::exchange {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A session of our own: a case with three rounds, a wrong one, one that could not run.
Session own_session() {
  Session session;
  session.id = "20260301-120000-abcd";
  session.started = "2026-03-01T12:00:00Z";
  session.commit = "0123abcd";
  session.branch = "main";
  session.machine.hostname = "node7";
  session.machine.fingerprint = "00112233445566aa";
  session.build.version = "0.1.0";
  Run run;
  run.workload = "gemm";
  run.params.set("m", std::int64_t{64});
  run.params.set("dtype", std::string("f32"));
  run.device = "cpu";
  run.mode = Mode::cold;
  run.outcome = Outcome::passed;
  const std::vector<double> samples{0.1, 1.0 / 3.0, 2e-7, 0.25, 0.125, 0.3};
  Metric time{.id = "time", .unit = "s", .better = Better::lower, .samples = samples, .round_sizes = {2, 2, 2}};
  time.summary.n = 6;
  time.summary.min = 2e-7;
  time.summary.max = 1.0 / 3.0;
  time.summary.median = 0.1875;
  time.summary.mean = 0.18472;
  time.summary.stdev = 0.13;
  Metric rate{.id = "bandwidth", .unit = "B/s", .better = Better::higher, .samples = {5e9}, .round_sizes = {1}};
  rate.summary.n = 1;
  rate.summary.median = 5e9;
  run.metrics = {time, rate};
  run.id = session.id + ".0";
  session.runs.push_back(run);
  run.index = 1;
  run.id = session.id + ".1";
  run.outcome = Outcome::failed;
  run.reason = "error <0.5> & \"more\"";
  session.runs.push_back(run);
  return session;
}

void expect_same_results(const Session& session, const Session& again, double relative) {
  ASSERT_EQ(session.runs.size(), again.runs.size());
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const Run &run = session.runs[i], &other = again.runs[i];
    EXPECT_EQ(report::case_name(run), report::case_name(other));
    const Metric &time = metric_of(run, "time"), &time_again = metric_of(other, "time");
    ASSERT_EQ(time.samples.size(), time_again.samples.size()) << run.workload;
    EXPECT_EQ(time.better, time_again.better);
    for (std::size_t k = 0; k < time.samples.size(); ++k) {
      EXPECT_NEAR(time_again.samples[k] / time.samples[k], 1, relative) << run.workload;
    }
  }
}

TEST(RoundTrip, keeps_every_sample_of_the_tools_files) {
  expect_same_results(read_data("hyperfine.json"), read_one(written("hyperfine", read_data("hyperfine.json")).text), 0);
  const Session pytest = read_data("pytest_benchmark.json");
  const Session pytest_again = read_one(written("pytest-benchmark", pytest).text);
  expect_same_results(pytest, pytest_again, 0);
  EXPECT_EQ(pytest.commit, pytest_again.commit);
  EXPECT_EQ(pytest.branch, pytest_again.branch);
  EXPECT_EQ(pytest.started, pytest_again.started);
  Session google = read_data("google_benchmark.json");
  Session again = read_one(written("google-benchmark", google).text);
  EXPECT_EQ(again.runs.back().outcome, Outcome::error);
  EXPECT_EQ(again.runs.back().reason, google.runs.back().reason);
  for (auto* session : {&google, &again}) session->runs.pop_back();  // it reported an error, and has no time
  expect_same_results(google, again, 1e-14);
}

TEST(RoundTrip, gives_our_own_runs_the_same_name_and_value_in_every_format) {
  const Session session = own_session();
  for (const char* format : {"google-benchmark", "pytest-benchmark", "hyperfine"}) {
    Session again = read_one(written(format, session).text);
    if (again.runs.size() == 2) {  // it keeps that there was a wrong result, which has no speed
      EXPECT_EQ(again.runs[1].outcome, Outcome::failed) << format;
      EXPECT_TRUE(again.runs[1].metrics.empty()) << format;
      again.runs.pop_back();
    }
    ASSERT_EQ(again.runs.size(), 1U) << format << ": a wrong result has no speed";
    EXPECT_EQ(report::case_name(again.runs[0]), "gemm/m:64/dtype:f32/cold/cpu") << format;
    EXPECT_EQ(again.runs[0].metrics.at(0).samples.size(), 6U) << format;
    EXPECT_NEAR(again.runs[0].metrics[0].samples[1], 1.0 / 3.0, 1e-15) << format;
  }
  const Session nvbench = read_one(written("nvbench", session).text);
  EXPECT_EQ(nvbench.runs.at(0).params.integer("m"), 64);
  EXPECT_DOUBLE_EQ(metric_of(nvbench.runs[0], "time").samples.at(0), 0.1875);
  const Session bencher = read_one(written("bencher", session).text);
  EXPECT_DOUBLE_EQ(metric_of(bencher.runs.at(0), "time").samples.at(0), 0.1875);
}

TEST(RoundTrip, csv_keeps_rounds_parameters_and_bits) {
  const Session session = own_session();
  const Session again = read_one(written("csv", session).text);
  ASSERT_EQ(again.runs.size(), 1U);
  const auto &run = session.runs[0], &other = again.runs[0];
  EXPECT_EQ(run.params, other.params);
  EXPECT_EQ(run.mode, other.mode);
  EXPECT_EQ(run.device, other.device);
  EXPECT_EQ(metric_of(run, "time").samples, metric_of(other, "time").samples);
  EXPECT_EQ(metric_of(run, "time").round_sizes, metric_of(other, "time").round_sizes);
  EXPECT_EQ(metric_of(other, "bandwidth").better, Better::higher);
  EXPECT_EQ(again.commit, session.commit);
}

TEST(RoundTrip, csv_has_no_cell_that_a_spreadsheet_would_run) {
  Session session = own_session();
  auto& run = session.runs[0];
  run.params.set("flag", std::string("--fast"));
  run.params.set("delta", std::int64_t{-3});
  run.params.set("=1+1", std::string("@SUM(A1)"));
  run.metrics[0].id = "=cmd|' /C calc'!A0";
  run.metrics[1].id = "'=quoted";
  const std::string text = written("csv", session).text;
  for (const char* cell : {",'--fast,", ",-3,", ",'@SUM(A1),", ",'=1+1,", ",'=cmd|", ",''=quoted,"}) {
    EXPECT_THAT(text, HasSubstr(cell));
  }
  const Session again = read_one(text);
  EXPECT_EQ(again.runs.at(0).params, run.params);
  ASSERT_EQ(again.runs[0].metrics.size(), 2U);
  EXPECT_EQ(again.runs[0].metrics[0].id, run.metrics[0].id);
  EXPECT_EQ(again.runs[0].metrics[1].id, run.metrics[1].id);
}

TEST(RoundTrip, warpmark_keeps_everything) {
  const Session session = own_session();
  const Session again = read_one(written("warpmark", session).text);
  EXPECT_EQ(again.id, session.id);
  EXPECT_EQ(again.machine.fingerprint, session.machine.fingerprint);
  EXPECT_EQ(again.runs.at(0).metrics.at(0).samples, session.runs[0].metrics[0].samples);
}

TEST(RoundTrip, custom_formats_part_by_direction) {
  const Session session = own_session();
  const Session smaller = read_one(written("customSmallerIsBetter", session).text, {.format = "customSmallerIsBetter"});
  ASSERT_EQ(smaller.runs.size(), 1U);
  EXPECT_DOUBLE_EQ(metric_of(smaller.runs[0], "time").samples.at(0), 0.1875);
  const Session bigger = read_one(written("customBiggerIsBetter", session).text, {.format = "customBiggerIsBetter"});
  EXPECT_DOUBLE_EQ(metric_of(bigger.runs.at(0), "bandwidth").samples.at(0), 5e9);
}

TEST(RoundTrip, nccl_tests_reads_its_own_table) {
  const std::string text =
      "#       size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "1024 256 float sum -1 10.25 1.50 2.25 0 12.00 1.25 2.00 0\n";
  const Session session = read_one(text);
  const Session again = read_one(written("nccl-tests", session).text);
  ASSERT_EQ(again.runs.size(), 2U);
  EXPECT_NEAR(metric_of(again.runs[0], "time").samples.at(0), 10.25e-6, 1e-12);
  EXPECT_NEAR(metric_of(again.runs[1], "bus_bandwidth").samples.at(0), 2e9, 1);
  EXPECT_EQ(again.runs[1].params.integer("in_place"), 1);
  const auto none = find_in(formats(), "nccl-tests")->write(own_session());
  EXPECT_EQ(none.error().kind, ErrorKind::usage);
}

TEST(Junit, marks_failures_and_escapes_names) {
  const std::string xml = written("junit", own_session()).text;
  EXPECT_THAT(xml, HasSubstr("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"error &lt;0.5&gt; &amp; &quot;more&quot;\"/>"));
  EXPECT_THAT(xml, HasSubstr("time=\"0.187500000\""));
  EXPECT_THAT(xml, HasSubstr("<property name=\"bandwidth\" value=\"5000000000 B/s\"/>"));
  EXPECT_THAT(xml, Not(HasSubstr("error <")));
}

TEST(Junit, marks_commands_that_failed_and_keeps_what_was_measured_of_them) {
  const auto junit = [](const std::string& codes) {
    return written("junit", read_one(R"({"results":[{"command":"./job","mean":1,"times":[1,2,1,1],"exit_codes":)" +
                                     codes + "}]}"))
        .text;
  };
  EXPECT_THAT(junit("[0,0,0,0]"), HasSubstr("tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(junit("[0,0,0,0]"), Not(HasSubstr("<error")));
  const std::string failed = junit("[0,0,3,0]");
  EXPECT_THAT(failed, HasSubstr("tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\""));
  EXPECT_THAT(failed, HasSubstr("<error message=\"1 of 4 executions ended with a failure\"/>"));
  EXPECT_THAT(failed, HasSubstr("<property name=\"time\" value=\"1 s\"/>"));
  EXPECT_THAT(junit("[null]"), HasSubstr("<error message=\"1 of 1 executions ended with a failure\"/>"));
}

TEST(Formats, each_has_a_reader_or_a_writer_and_a_summary_of_one_line) {
  for (const Format* format : formats()) {
    EXPECT_TRUE(format->read != nullptr || format->write != nullptr) << format->id;
    EXPECT_EQ(format->read == nullptr, format->detect == nullptr) << format->id;
    EXPECT_LT(std::string(format->summary).size(), 70U) << format->id;
  }
}

}  // namespace
}  // namespace warpmark::exchange
