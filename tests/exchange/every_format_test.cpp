// Import, export, import: for every format that is read and written, what the second import has is what the first had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "read_files.h"
#include "report/results/labels.h"

namespace warpmark::exchange {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

void expect_equal(const Session& first, const Session& again, const std::string& what) {
  EXPECT_EQ(first.commit, again.commit) << what;
  EXPECT_EQ(first.branch, again.branch) << what;
  EXPECT_EQ(first.started, again.started) << what;
  EXPECT_EQ(first.machine.hostname, again.machine.hostname) << what;
  EXPECT_EQ(first.machine.devices.size(), again.machine.devices.size()) << what;
  ASSERT_EQ(first.runs.size(), again.runs.size()) << what;
  for (std::size_t i = 0; i < first.runs.size(); ++i) {
    const auto &run = first.runs[i], &other = again.runs[i];
    const std::string where = what + ", " + run.workload;
    EXPECT_EQ(report::case_name(run), report::case_name(other)) << where;
    EXPECT_EQ(run.outcome, other.outcome) << where;
    EXPECT_EQ(run.reason, other.reason) << where;
    EXPECT_EQ(run.params, other.params) << where;
    EXPECT_EQ(note_of(run, "label"), note_of(other, "label")) << where;
    ASSERT_EQ(run.metrics.size(), other.metrics.size()) << where;
    for (const Metric& metric : run.metrics) {
      const Metric& read = metric_of(other, metric.id);
      EXPECT_EQ(metric.unit, read.unit) << where << ' ' << metric.id;
      EXPECT_EQ(metric.better, read.better) << where << ' ' << metric.id;
      EXPECT_EQ(metric.round_sizes, read.round_sizes) << where << ' ' << metric.id;
      ASSERT_EQ(metric.samples.size(), read.samples.size()) << where << ' ' << metric.id;
      for (std::size_t k = 0; k < metric.samples.size(); ++k) {
        EXPECT_NEAR(metric.samples[k], read.samples[k], std::abs(metric.samples[k]) * 1e-12)
            << where << ' ' << metric.id;
      }
    }
  }
}

struct Case {
  const char* format;
  const char* file;
};

TEST(EveryFormat, is_the_same_after_import_and_export) {
  for (const auto& [format, file] :
       {Case{"google-benchmark", "google_benchmark.json"},
        Case{"google-benchmark", "field/gbench_cpu_time_roundtrip.json"},
        Case{"google-benchmark", "field/gbench_1.4_aggregates.json"}, Case{"pytest-benchmark", "pytest_benchmark.json"},
        Case{"hyperfine", "hyperfine.json"}, Case{"hyperfine", "hyperfine_fails.json"},
        Case{"hyperfine", "field/hyperfine_dup_a.json"}, Case{"nvbench", "nvbench_old.json"},
        Case{"nccl-tests", "field/nccl_2.19_I1.txt"}, Case{"nccl-tests", "field/nccl_N5_cycles.txt"},
        Case{"nccl-tests", "field/nccl_info_interleaved.txt"}, Case{"nccl-tests", "field/nccl_J.json"}}) {
    const Session first = read_data(file);
    const Exported out = written(format, first);
    EXPECT_TRUE(out.left_out.empty()) << file << ": " << (out.left_out.empty() ? "" : out.left_out[0]);
    expect_equal(first, read_one(out.text, {.started = first.started}), file);
  }
}

TEST(EveryFormat, csv_and_warpmark_hold_what_any_reader_made) {
  for (const char* file : {"google_benchmark.json", "pytest_benchmark.json", "hyperfine.json", "nvbench_old.json",
                           "field/nccl_2.19_I1.txt", "field/hyperfine_dup_a.json"}) {
    const Session first = read_data(file);
    expect_equal(first, read_one(written("warpmark", first).text), std::string(file) + " as warpmark");
  }
}

TEST(EveryFormat, says_which_metrics_it_has_no_place_for) {
  Session session = read_data("pytest_benchmark.json");
  Metric more = session.runs[0].metrics[0];
  more.id = "energy";
  session.runs[0].metrics.push_back(more);
  for (const char* format : {"hyperfine", "pytest-benchmark"}) {
    EXPECT_THAT(written(format, session).left_out, Contains(HasSubstr("energy"))) << format;
  }
}

TEST(EveryFormat, google_benchmark_keeps_cpu_time_counters_and_labels) {
  const Session session = read_data("field/gbench_cpu_time_roundtrip.json");
  const Session again = read_one(written("google-benchmark", session).text);
  EXPECT_DOUBLE_EQ(metric_of(again.runs.at(0), "time").samples.at(0), 0.4);
  EXPECT_DOUBLE_EQ(metric_of(again.runs[0], "cpu_time").samples.at(0), 0.5);
  EXPECT_DOUBLE_EQ(metric_of(again.runs[0], "my_counter").samples.at(0), 3.5);
  EXPECT_EQ(note_of(again.runs[0], "label"), "L");
}

}  // namespace
}  // namespace warpmark::exchange
