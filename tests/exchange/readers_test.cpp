// Files of the real tools, and what is made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "read_files.h"

namespace warpmark::exchange {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(Hyperfine, keeps_every_time_in_seconds_as_a_process_of_its_own) {
  const Session session = read_data("hyperfine.json");
  EXPECT_THAT(session.id, StartsWith("hyperfine-"));
  EXPECT_EQ(session.build.version, "hyperfine");
  ASSERT_THAT(session.runs, SizeIs(2));
  const auto& run = session.runs[0];
  EXPECT_EQ(run.workload, "sleep 0.01");
  EXPECT_EQ(run.outcome, Outcome::passed);
  EXPECT_EQ(note_of(run, "measured by"), "hyperfine");
  const Metric& time = metric_of(run, "time");
  EXPECT_THAT(time.samples, SizeIs(12));
  EXPECT_THAT(time.round_sizes, SizeIs(12));
  EXPECT_EQ(time.unit, "s");
  EXPECT_EQ(time.better, Better::lower);
  EXPECT_GE(time.summary.min, 0.01);
  EXPECT_LT(time.summary.median, 0.1);
  EXPECT_EQ(metric_of(run, "user_time").summary.n, 1);
}

TEST(Hyperfine, distrusts_commands_that_failed_and_reads_parameters) {
  const Session session = read_data("hyperfine_fails.json");
  ASSERT_THAT(session.runs, SizeIs(4));
  EXPECT_EQ(session.runs[0].outcome, Outcome::unreliable);
  EXPECT_EQ(session.runs[0].reason, "5 of 5 executions ended with a failure");
  EXPECT_EQ(session.runs[0].params.integer("n"), 1);
  EXPECT_EQ(session.runs[1].outcome, Outcome::passed);
}

TEST(Hyperfine, takes_the_median_where_the_times_are_left_out) {
  const Session session = read_one(
      R"({"results":[{"command":"x","mean":0.5,"stddev":null,"median":0.25,
                      "user":0.1,"system":0.2,"min":0.1,"max":1}]})");
  EXPECT_THAT(metric_of(session.runs.at(0), "time").samples, ElementsAre(0.25));
  EXPECT_THAT(note_of(session.runs[0], "time"), HasSubstr("median"));
}

TEST(GoogleBenchmark, groups_repetitions_and_knows_units_and_directions) {
  const Session session = read_data("google_benchmark.json");
  ASSERT_THAT(session.runs, SizeIs(3));
  EXPECT_EQ(session.machine.hostname, "vm");
  EXPECT_EQ(session.started, "2026-11-21T07:14:39Z");
  const auto& run = session.runs[0];
  EXPECT_EQ(run.workload, "sum/1000");
  const Metric& time = metric_of(run, "time");
  ASSERT_THAT(time.samples, SizeIs(5));
  EXPECT_DOUBLE_EQ(time.samples[0], 8.2259106927591386e-07);  // the file has microseconds
  EXPECT_DOUBLE_EQ(metric_of(run, "cpu_time").samples[0], 6.3167403643687638e-07);
  EXPECT_EQ(metric_of(run, "bandwidth").better, Better::higher);
  EXPECT_DOUBLE_EQ(metric_of(run, "bandwidth").samples[0], 1.2664759889651480e+10);
  EXPECT_EQ(metric_of(run, "item_rate").unit, "1/s");
  EXPECT_EQ(metric_of(run, "length").better, Better::neither);
  EXPECT_EQ(session.runs[2].outcome, Outcome::error);
  EXPECT_EQ(session.runs[2].reason, "there is no such device");
}

TEST(GoogleBenchmark, reads_aggregates_where_they_are_all_there_is) {
  const Session session = read_data("google_benchmark_aggregates.json");
  ASSERT_THAT(session.runs, SizeIs(3));
  EXPECT_EQ(metric_of(session.runs[0], "time").samples.size(), 1U);
  EXPECT_EQ(note_of(session.runs[0], "aggregate"), "median");
}

TEST(PytestBenchmark, keeps_seconds_commit_and_machine) {
  const Session session = read_data("pytest_benchmark.json");
  EXPECT_EQ(session.build.version, "pytest-benchmark 3.2.2");
  EXPECT_EQ(session.commit, "0b5f02bc31a71b3918866404558eaf1f7ab917dc");
  EXPECT_EQ(session.branch, "master");
  EXPECT_FALSE(session.dirty);
  EXPECT_EQ(session.started, "2026-11-21T07:14:36Z");
  EXPECT_THAT(session.machine.cpu, HasSubstr("Xeon"));
  ASSERT_THAT(session.runs, SizeIs(3));
  const auto& run = session.runs[0];
  EXPECT_EQ(run.workload, "test_sorting.py::test_sort[100]");
  EXPECT_EQ(run.params.integer("count"), 100);
  EXPECT_EQ(run.timing.launches_per_sample, 4);
  const Metric& time = metric_of(run, "time");
  EXPECT_THAT(time.samples, SizeIs(15));
  EXPECT_THAT(time.round_sizes, AllOf(SizeIs(15), Each(1)));
  EXPECT_DOUBLE_EQ(time.summary.median, 2.5992494556703605e-06);
  EXPECT_EQ(time.better, Better::lower);
}

TEST(Nvbench, reads_numbers_in_texts_and_samples_beside) {
  const Session session = read_data("nvbench.json");
  ASSERT_THAT(session.runs, SizeIs(3));
  const auto& run = session.runs[0];
  EXPECT_EQ(run.workload, "copy_sweep");
  EXPECT_EQ(run.device, "cuda:0");
  EXPECT_EQ(run.mode, Mode::cold);
  EXPECT_EQ(run.params.integer("Elements"), 1048576);
  EXPECT_EQ(run.params.text("T"), "F32");
  ASSERT_THAT(metric_of(run, "time").samples, SizeIs(4));
  EXPECT_FLOAT_EQ(static_cast<float>(metric_of(run, "time").samples[1]), 1.5e-5F);
  EXPECT_DOUBLE_EQ(metric_of(run, "bandwidth").samples.at(0), 624152381000.0);
  EXPECT_THAT(metric_of(session.runs[1], "time").samples, ElementsAre(0.00021));
  EXPECT_EQ(note_of(session.runs[1], "samples"), "120");
  EXPECT_EQ(session.runs[2].outcome, Outcome::skipped);
  EXPECT_EQ(session.runs[2].reason, "out of memory");
  EXPECT_EQ(session.machine.devices.at(0).compute_units, 132);
}

TEST(Nvbench, looks_for_samples_in_no_other_place) {
  std::string text = bytes_of("nvbench.json");
  const std::string name = "nvbench.json-bin/0.bin";
  text.replace(text.find(name), name.size(), "../../../../../etc/../etc/passwd");
  const Session session = read_one(text, {}, kData);
  EXPECT_THAT(metric_of(session.runs.at(0), "time").samples, ElementsAre(1.3125e-05));
}

TEST(Nvbench, reads_what_older_versions_wrote) {
  const Session session = read_data("nvbench_old.json");
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_EQ(session.runs[0].device, "cuda:1");
  EXPECT_EQ(session.runs[0].params.integer("N"), 64);
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, ElementsAre(3.5e-6));
}

constexpr const char* kNccl = R"(# nThread 1 nGpus 2 minBytes 8 maxBytes 64 step: 8(factor) warmup iters: 5 iters: 20
# Using devices
#  Rank  0 Group  0 Pid  1 on box device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  1 on box device  1 [0x43] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
           8             2     float     sum      -1    10.00    1.50    2.25      0    12.00    1.25    2.00    N/A
          64            16     float     sum      -1    20.00    3.00    4.50      3    21.00    3.00    4.50      0
)";

TEST(NcclTests, makes_a_run_of_each_half_of_a_row) {
  const Session session = read_one(kNccl);
  ASSERT_THAT(session.runs, SizeIs(4));
  EXPECT_EQ(session.runs[0].params.integer("bytes"), 8);
  EXPECT_EQ(session.runs[0].params.text("op"), "sum");
  EXPECT_EQ(session.runs[1].params.integer("in_place"), 1);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "time").samples.at(0), 10e-6);
  EXPECT_THAT(metric_of(session.runs[0], "bus_bandwidth").samples, ElementsAre(2.25e9));
  EXPECT_EQ(metric_of(session.runs[0], "bus_bandwidth").better, Better::higher);
  EXPECT_EQ(session.runs[2].outcome, Outcome::failed);
  EXPECT_EQ(session.runs[2].reason, "3 elements are wrong");
}

TEST(NcclTests, reads_what_the_tool_printed_on_two_gpus) {
  const Session session = read_one(bytes_of("../../../fuzz/corpus/nccl_tests/all_reduce"));
  ASSERT_THAT(session.runs, SizeIs(20));
  const auto& last = session.runs[18];
  EXPECT_EQ(last.workload, "all_reduce");
  EXPECT_EQ(last.params.integer("ranks"), 2);
  EXPECT_THAT(metric_of(last, "bus_bandwidth").samples, ElementsAre(328.75e9));
}

constexpr const char* kCustom = R"([{"name":"a","unit":"ms","value":12.5,"range":"± 3"},
                                    {"name":"b","unit":"ops/sec","value":"1000","extra":"x\u001b[31m"}])";

TEST(CustomIsBetter, asks_which_direction_it_is) {
  const auto sessions = read_text(kCustom);
  ASSERT_FALSE(sessions.ok());
  EXPECT_EQ(sessions.error().kind, ErrorKind::usage);
  EXPECT_THAT(sessions.error().hint, HasSubstr("--format customSmallerIsBetter or --format customBiggerIsBetter"));
  const Session bigger = read_one(kCustom, {.format = "customBiggerIsBetter"});
  EXPECT_EQ(metric_of(bigger.runs.at(0), "time").better, Better::higher);
  const Session smaller = read_one(kCustom, {.format = "customSmallerIsBetter"});
  EXPECT_EQ(metric_of(smaller.runs.at(0), "time").better, Better::lower);
  EXPECT_THAT(metric_of(smaller.runs[0], "time").samples, ElementsAre(0.0125));
  EXPECT_THAT(metric_of(smaller.runs.at(1), "item_rate").samples, ElementsAre(1000.0));
  EXPECT_EQ(note_of(smaller.runs[1], "extra"), "x [31m") << "no control characters";
}

TEST(FlatMetrics, knows_units_and_directions_by_the_names) {
  const Session session = read_one(R"({"latency_p50_ms": 12.5, "throughput": [448.0, 452.0], "samples_per_sec": 450,
    "peak_memory_gb": 61.5, "top1Accuracy": 0.76, "layers": 24, "allreduce_busbw_gbps": 571, "gpu": "H100",
    "ok": true})");
  ASSERT_EQ(session.runs.size(), 7U) << "texts and truth values are no results";
  const auto found = [&](std::size_t run, const char* metric, Better better, double value) {
    const Metric& read = metric_of(session.runs.at(run), metric);
    EXPECT_EQ(read.better, better) << session.runs[run].workload;
    EXPECT_DOUBLE_EQ(read.samples.front(), value) << session.runs[run].workload;
  };
  found(0, "time", Better::lower, 0.0125);
  found(1, "value", Better::higher, 448);
  EXPECT_EQ(session.runs[1].metrics[0].samples.size(), 2U);
  found(2, "item_rate", Better::higher, 450);
  found(3, "size", Better::lower, 61.5e9);
  found(4, "value", Better::higher, 0.76);
  found(5, "value", Better::neither, 24);
  found(6, "bandwidth", Better::higher, 571e9);
}

TEST(FlatMetrics, gives_objects_within_dotted_names) {
  const Session session =
      read_one(R"({"train": {"throughput": 450, "latency": {"p99_ms": 3}, "note": "warm", "gpus": ["a", "b"]},
    "memory": {"bandwidth_gbps": 2}, "latency_ms": {"p50": [1, 2]}})");
  ASSERT_EQ(session.runs.size(), 4U);
  EXPECT_EQ(session.runs[0].workload, "train.throughput");
  EXPECT_EQ(session.runs[0].metrics.at(0).better, Better::higher);
  EXPECT_EQ(note_of(session.runs[0], "train.note"), "warm");
  EXPECT_EQ(session.runs[1].workload, "train.latency.p99_ms");
  EXPECT_DOUBLE_EQ(metric_of(session.runs[1], "time").samples.at(0), 0.003);
  EXPECT_EQ(session.runs[1].metrics[0].better, Better::lower);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[2], "bandwidth").samples.at(0), 2e9);
  EXPECT_EQ(session.runs[2].metrics[0].better, Better::higher) << "by the nearest name";
  EXPECT_DOUBLE_EQ(metric_of(session.runs[3], "time").samples.at(1), 0.002);
}

TEST(FlatMetrics, takes_a_direction_that_is_given) {
  const auto text = R"({"layers": 24, "latency": 3})";
  const Session session = read_one(text, {.better = {{"layers", Better::higher}, {"lat*", Better::higher}}});
  EXPECT_EQ(session.runs.at(0).metrics.at(0).better, Better::higher);
  EXPECT_EQ(session.runs.at(1).metrics.at(0).better, Better::higher) << "what is given counts above the name";
  const auto typo = read_text(text, {.better = {{"latenzy", Better::lower}}});
  ASSERT_FALSE(typo.ok());
  EXPECT_EQ(typo.error().kind, ErrorKind::usage);
}

TEST(FlatMetrics, leaves_other_documents_alone) {
  EXPECT_FALSE(read_text(R"({"name": "x"})").ok());
  EXPECT_FALSE(read_text(R"({"model": {"layers": 24}, "seed": 4})").ok()) << "settings";
  EXPECT_FALSE(read_text(R"({"time": 3, "inner": [{"time": 4}]})").ok());
  EXPECT_FALSE(read_text(R"({"schema": "warpmark.something/1", "time": 3})").ok());
  EXPECT_FALSE(read_text(R"({"time": []})").ok());
}

TEST(GithubActionHistory, gives_a_session_for_each_commit) {
  const std::string entry = R"({"commit":{"id":"c1","timestamp":"2026-03-01T12:00:00+02:00"},"date":1772366400000,
    "tool":"pytest","benches":[{"name":"t","value":5,"unit":"iter/sec"}]})";
  const std::string other = R"({"commit":{"id":"c2","timestamp":"2026-03-02T12:00:00+02:00"},"tool":"cargo",
    "benches":[{"name":"t","value":5,"unit":"ns/iter","range":"1"}]})";
  const auto first = read_text("window.BENCHMARK_DATA = {\"entries\":{\"Rust\":[" + entry + "]}}");
  const auto both = read_text("window.BENCHMARK_DATA = {\"entries\":{\"Rust\":[" + entry + "," + other + "]}};\n");
  ASSERT_TRUE(first.ok() && both.ok()) << both.error().what;
  ASSERT_THAT(*both, SizeIs(2));
  EXPECT_EQ(first->at(0).id, both->at(0).id) << "the history has grown: what was there is the same";
  EXPECT_EQ(both->at(0).started, "2026-03-01T12:00:00Z");
  EXPECT_EQ(metric_of(both->at(0).runs.at(0), "item_rate").better, Better::higher);
  EXPECT_EQ(both->at(1).commit, "c2");
  EXPECT_EQ(both->at(1).started, "2026-03-02T10:00:00Z");
  EXPECT_DOUBLE_EQ(metric_of(both->at(1).runs.at(0), "time").samples.at(0), 5e-9);
  EXPECT_EQ(metric_of(both->at(1).runs.at(0), "time").better, Better::lower);
}

TEST(Bencher, knows_the_units_of_its_own_measures) {
  const Session session =
      read_one(R"({"bench":{"latency":{"value":88.5,"lower_value":87,"upper_value":89.5},"my-score":{"value":3}}})");
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "time").samples.at(0), 88.5e-9);
  EXPECT_EQ(metric_of(session.runs[0], "my-score").better, Better::neither);
  EXPECT_EQ(note_of(session.runs[0], "latency upper_value"), "89.5");
}

TEST(Csv, takes_other_columns_as_parameters_and_groups_by_commit) {
  const Session session = read_one("name;value;unit;batch\nnet;12.5;ms;8\nnet;13;ms;8\nnet;40;ms;\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].params.integer("batch"), 8);
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, ElementsAre(0.0125, 0.013));
  EXPECT_TRUE(session.runs[1].params.items().empty());
  const auto two = read_text("name,value,commit\na,1,c1\na,2,c2\n");
  ASSERT_TRUE(two.ok()) << two.error().what;
  EXPECT_THAT(*two, SizeIs(2));
}

TEST(Csv, names_the_row_that_is_wrong) {
  const auto what = [](const std::string& text) { return read_text(text).error().what; };
  EXPECT_EQ(what("name,value\na,1\nb,fast\n"), "input: row 3: the value 'fast' is no number");
  EXPECT_EQ(what("name,value\na,nan\n"), "input: no row has a value that is a number");
  EXPECT_EQ(what("name,value\na,1,2\n"), "input: row 2: it has 3 fields, the header 2");
  EXPECT_EQ(what("name,value,value\na,1,2\n"), "input: there are two columns 'value'");
  EXPECT_EQ(what("name,value,unit,metric\na,1,s,x\na,1,B,x\n"), "input: row 3: the unit of 'x' changes from 's'");
  EXPECT_EQ(what("name,value,started\na,1,yesterday\n"), "input: row 2: 'yesterday' is no date");
  EXPECT_EQ(what("name,value\n\"a,1\n"), "input: row 2: a quote is not closed");
}

}  // namespace
}  // namespace warpmark::exchange
