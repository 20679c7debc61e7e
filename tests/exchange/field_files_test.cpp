// Files as people have them, after public reports: what once was read wrongly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/quantities.h"
#include "read_files.h"

namespace warpmark::exchange {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Session field(const std::string& name, const ImportOptions& options = {}) {
  return read_data("field/" + name, options);
}

TEST(NcclLog, finds_the_columns_of_version_2_19_with_single_iterations) {
  const Session session = field("nccl_2.19_I1.txt");
  ASSERT_THAT(session.runs, SizeIs(6));
  EXPECT_EQ(session.build.version, "nccl-tests 2.19.6");
  EXPECT_THAT(session.build.features, Contains("nccl 2.30.7"));
  for (const warpmark::Run& run : session.runs) {
    EXPECT_EQ(run.outcome, Outcome::passed) << run.reason;
    EXPECT_EQ(run.workload, "all_reduce");
    EXPECT_EQ(run.params.integer("ranks"), 2);
  }
  const warpmark::Run& in_place = session.runs[1];
  EXPECT_EQ(in_place.params.integer("in_place"), 1);
  EXPECT_DOUBLE_EQ(metric_of(in_place, "time").samples.at(0), 77.16e-6);
  EXPECT_DOUBLE_EQ(metric_of(in_place, "time_p99").samples.at(0), 105.71e-6);
  EXPECT_DOUBLE_EQ(metric_of(in_place, "time_cv").samples.at(0), 0.041);
  EXPECT_EQ(session.machine.hostname, "node");
  ASSERT_THAT(session.machine.devices, SizeIs(2));
  EXPECT_EQ(session.machine.devices[1].name, "NVIDIA H200");
  EXPECT_THAT(session.remarks, IsEmpty());
}

TEST(NcclLog, takes_cycles_of_one_size_for_rounds) {
  const Session session = field("nccl_N5_cycles.txt");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, SizeIs(5));
  EXPECT_THAT(metric_of(session.runs[0], "bus_bandwidth").round_sizes, SizeIs(5));
  EXPECT_EQ(session.runs[0].rounds, 5);
}

TEST(NcclLog, puts_rows_together_that_debug_output_cut) {
  const Session session = field("nccl_info_interleaved.txt");
  ASSERT_THAT(session.runs, SizeIs(6));
  EXPECT_EQ(session.runs[0].params.integer("bytes"), 8);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[1], "time").samples.at(0), 16.95e-6);
  EXPECT_EQ(session.runs[2].params.integer("bytes"), 16);
  EXPECT_EQ(session.runs[0].outcome, Outcome::failed);
  EXPECT_EQ(session.runs[4].outcome, Outcome::failed);
  EXPECT_EQ(session.runs[4].reason, "50 elements are wrong");
  EXPECT_EQ(session.runs[5].outcome, Outcome::passed);
  EXPECT_EQ(session.machine.hostname, "Meowth");
}

TEST(NcclLog, knows_lines_behind_the_prefixes_of_launchers) {
  for (const char* name : {"nccl_mpirun_tag_output.txt", "nccl_srun_label.txt"}) {
    const Session session = field(name, {});
    ASSERT_THAT(session.runs, SizeIs(6)) << name;
    EXPECT_EQ(session.runs[4].params.integer("bytes"), 8589934592) << name;
    EXPECT_DOUBLE_EQ(metric_of(session.runs[4], "bus_bandwidth").samples.at(0), 188.88e9) << name;
    EXPECT_EQ(session.machine.hostname, "nodeset-1") << name;
    EXPECT_THAT(session.remarks, Contains(HasSubstr("--collective"))) << name;
  }
}

TEST(NcclLog, learns_any_prefix_from_the_lines_of_comments) {
  const std::string log = bytes_of("field/nccl_N5_cycles.txt");
  for (const std::string prefix : {"[0] ", "0: ", "node-a: ", "worker-0  | ",
                                   "[prterun-node-a-12345@1,0]<stdout>: ", "Fri Nov 27 12:00:00 2026<stdout>:"}) {
    std::string prefixed = prefix;
    for (const char c : log) prefixed += c == '\n' ? "\n" + prefix : std::string(1, c);
    const Session session = read_one(prefixed);
    ASSERT_THAT(session.runs, SizeIs(2)) << prefix;
    EXPECT_EQ(metric_of(session.runs[0], "time").samples.size(), 5U) << prefix;
    EXPECT_EQ(session.runs[0].params.integer("ranks"), 2) << prefix;
  }
}

TEST(NcclLog, reads_its_own_json) {
  const Session session = field("nccl_J.json");
  ASSERT_THAT(session.runs, SizeIs(4));
  EXPECT_EQ(session.runs[0].workload, "all_reduce");
  EXPECT_EQ(session.runs[0].outcome, Outcome::passed);
  EXPECT_EQ(session.runs[2].outcome, Outcome::failed);
  EXPECT_EQ(session.runs[2].reason, "7 elements are wrong");
  EXPECT_EQ(session.runs[3].params.integer("in_place"), 1);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[3], "bus_bandwidth").samples.at(0), 56.28e9);
  EXPECT_EQ(session.machine.devices.at(0).name, "NVIDIA H200");
}

constexpr const char* kHead =
    "# nThread 1 nGpus 2 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 "
    "graph: 0\n# Using devices\n";
constexpr const char* kColumns =
    "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n";
std::string rank_line(int rank) {
  return "#  Rank  " + std::to_string(rank) + " Group  0 Pid 1 on box device  0 [0x1b] NVIDIA H100\n";
}

TEST(NcclLog, keeps_sweeps_of_other_ranks_apart_and_pools_repeated_ones) {
  const std::string two = kHead + rank_line(0) + rank_line(1) + kColumns;
  const std::string four = kHead + rank_line(0) + rank_line(3) + kColumns;
  const std::string row = " 8 2 float sum -1 10.0 1.5 2.25 0 12.0 1.25 2.0 0\n";
  const Session session = read_one(two + row + two + row + four + row);
  ASSERT_THAT(session.runs, SizeIs(4)) << "two sweeps over two ranks are rounds, four ranks are another configuration";
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, SizeIs(2));
  EXPECT_EQ(session.runs[2].params.integer("ranks"), 4) << "the largest rank + 1";
}

TEST(NcclLog, warns_of_processes_that_ran_alone) {
  const Session session =
      read_one(kHead + rank_line(0) + rank_line(0) + kColumns + " 8 2 float sum -1 10.0 1.5 0.00 0 12.0 1.25 0.00 0\n");
  EXPECT_THAT(session.remarks, Contains(HasSubstr("MPI=1")));
}

TEST(NcclLog, counts_rows_that_are_left_out) {
  const Session session = read_one(kHead + rank_line(0) + rank_line(1) + kColumns +
                                   " 8 2 float sum -1 10.0 1.5 2.25 0 12.0 1.25 2.0 0\n 16 4 float sum -1 1.0 2.0\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_THAT(session.remarks, Contains(AllOf(HasSubstr("1 rows that end early"), HasSubstr("16 4 float"))));
}

TEST(NcclLog, counts_the_errors_of_the_footer) {
  const std::string table = kHead + rank_line(0) + rank_line(1) + kColumns;
  const Session session =
      read_one(table + " 8 2 float sum -1 10.0 1.5 2.25 N/A 12.0 1.25 2.0 N/A\n# Out of bounds values : 3 FAILED\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].outcome, Outcome::failed);
  EXPECT_THAT(session.runs[0].reason, HasSubstr("3 elements of the sweep"));
}

TEST(NcclLog, names_the_collective_by_program_columns_or_option) {
  const std::string table = kHead + rank_line(0) + rank_line(1) + rank_line(2) + kColumns;
  const auto of = [&](const std::string& text) { return read_one(text).runs.at(0).workload; };
  const std::string gathers = " 1024 2 float none -1 10.0 1.5 1.0 0 12.0 1.5 1.0 0\n";
  EXPECT_EQ(of("+ mpirun -np 2 ./build/all_gather_perf -b 8\n" + table + gathers), "all_gather");
  EXPECT_EQ(of(table + " 1024 2 float sum -1 10.0 1.5 2.0 0 12.0 1.5 2.0 0\n"), "all_reduce");
  EXPECT_EQ(of(table + " 1024 2 float sum -1 10.0 1.5 1.0 0 12.0 1.5 1.0 0\n"), "reduce_scatter");
  EXPECT_EQ(of(table + " 1024 2 float sum 0 10.0 1.5 1.5 0 12.0 1.5 1.5 0\n"), "reduce");
  EXPECT_EQ(of(table + gathers), "unknown") << "all_gather and alltoall look alike";
  const std::string text = table + gathers;
  auto document = open_document("input", text);
  ASSERT_TRUE(document.ok());
  document->collective = "alltoall";
  EXPECT_EQ(import_results(*document, {})->at(0).runs.at(0).workload, "alltoall");
}

TEST(Hyperfine, numbers_results_of_one_name) {
  const Session session = field("hyperfine_dup_b.json");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].workload, "dup");
  EXPECT_EQ(session.runs[1].workload, "dup #2");
  EXPECT_NEAR(metric_of(session.runs[1], "time").summary.median, 2.6, 0.01);
}

TEST(GoogleBenchmark, takes_no_aggregate_of_version_1_4_for_a_benchmark) {
  const Session session = field("gbench_1.4_aggregates.json");
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, ElementsAre(0.446, 0.448, 0.444));
  EXPECT_THAT(session.remarks, Contains(HasSubstr("2 fits of complexity")));
}

TEST(GoogleBenchmark, reads_the_rest_of_a_file_with_a_counter_that_is_no_number) {
  const Session session = field("gbench_nan.json");
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "time").samples.at(0), 0.4);
  EXPECT_EQ(note_of(session.runs[0], "my_counter"), "is not a number");
}

TEST(GoogleBenchmark, numbers_different_benchmarks_of_one_name) {
  const std::string entry = R"({"name":"x","run_name":"x","run_type":"iteration","repetitions":1,"repetition_index":0,
    "iterations":10,"real_time":%,"cpu_time":1,"time_unit":"ms"})";
  const auto with = [&](const std::string& ms) { return std::string(entry).replace(entry.find('%'), 1, ms); };
  const Session session =
      read_one(R"({"context":{"host_name":"h"},"benchmarks":[)" + with("10") + "," + with("20") + "]}");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[1].workload, "x #2");
  EXPECT_EQ(note_of(session.runs[0], "of this name"), "1 of 2");
  EXPECT_THAT(metric_of(session.runs[1], "time").samples, ElementsAre(0.02));
}

TEST(GoogleBenchmark, tells_skipped_benchmarks_and_failed_repetitions) {
  const Session session = read_one(R"({"context":{"host_name":"h"},"benchmarks":[
    {"name":"s","run_name":"s","run_type":"iteration","repetition_index":0,"skipped":true,"skip_message":"no GPU"},
    {"name":"r","run_name":"r","run_type":"iteration","repetition_index":0,"real_time":1,"cpu_time":1,"time_unit":"s"},
    {"name":"r","run_name":"r","run_type":"iteration","repetition_index":1,"error_occurred":true,
     "error_message":"bad"}]})");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].outcome, Outcome::skipped);
  EXPECT_EQ(session.runs[0].reason, "no GPU");
  EXPECT_EQ(session.runs[1].outcome, Outcome::unreliable);
  EXPECT_EQ(session.runs[1].reason, "1 of 2 repetitions reported an error: bad");
}

// After google/benchmark#379 and #784: `"rms": 2%`, `inf` and `nan` are no JSON.
TEST(Reports, google_benchmark_wrote_percent_signs_and_infinities) {
  const Session session = read_one(R"({"context":{"host_name":"h"},"benchmarks":[
    {"name":"x","iterations":10,"real_time":446,"cpu_time":446,"time_unit":"ms","rate":inf,"share":-nan},
    {"name":"x_BigO","cpu_coefficient":672,"real_coefficient":672,"big_o":"N","time_unit":"ns"},
    {"name":"x_RMS","rms":2%}]})");
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_EQ(note_of(session.runs[0], "rate"), "is not a number");
  EXPECT_EQ(note_of(session.runs[0], "share"), "is not a number");
}

// After redis/memtier_benchmark#271: one value that is no number takes none of the others with it.
TEST(Reports, scripts_write_nan_for_one_of_many_values) {
  const Session flat = read_one(R"({"latency_ms": NaN, "throughput": 450})");
  ASSERT_THAT(flat.runs, SizeIs(1));
  EXPECT_THAT(flat.remarks, Contains("latency_ms is not a number: left out"));
  const Session named = read_one(R"([{"name":"a","unit":"ms","value":NaN},{"name":"b","unit":"ms","value":2}])",
                                 {.format = "customSmallerIsBetter"});
  ASSERT_THAT(named.runs, SizeIs(2));
  EXPECT_EQ(named.runs[0].outcome, Outcome::error);
  EXPECT_DOUBLE_EQ(metric_of(named.runs[1], "time").samples.at(0), 0.002);
}

// After airspeed-velocity/asv#1028: one combination of parameters is skipped, the other is not.
TEST(Reports, asv_skips_some_combinations) {
  const Session session = read_one(R"({"commit_hash":"ee28c181","date":1692734960000,"params":{"machine":"onion"},
    "result_columns":["result","params","version","started_at","duration","stats_ci_99_a","samples"],
    "results":{"simple.SimpleSlow.time_failure":
      [[NaN,9.6e-08],[["False","True"]],"4ada",1699115189427,0.39,[null,8.6e-08]]}})");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].outcome, Outcome::skipped);
  EXPECT_EQ(session.runs[1].params.text("param1"), "True");
  EXPECT_DOUBLE_EQ(metric_of(session.runs[1], "time").samples.at(0), 9.6e-08);
}

// After ionelmc/pytest-benchmark#81: files of 3.0 have no "ops".
TEST(Reports, old_pytest_benchmarks_have_no_ops) {
  const Session session = read_one(R"({"machine_info":{"node":"n"},"commit_info":{"id":"c","dirty":false},
    "datetime":"2017-07-24T10:00:00","version":"3.0.0",
    "benchmarks":[{"name":"test_x","fullname":"t.py::test_x","stats":{"median":0.5,"rounds":5,"iterations":1}}]})");
  EXPECT_DOUBLE_EQ(metric_of(session.runs.at(0), "time").samples.at(0), 0.5);
}

// After esnet/iperf#1223 and #613: a warning before the JSON, and -nan in it.
TEST(Reports, iperf3_prints_warnings_before_its_json) {
  const Session session = read_one(
      "warning: UDP block size 2048 exceeds TCP MSS 1448\n"
      R"({"start":{"version":"iperf 3.7","test_start":{"protocol":"UDP"}},
    "intervals":[{"sum":{"bits_per_second":66005.6,"lost_percent":-nan,"omitted":false}}],
    "end":{"sum":{"jitter_ms":0.5,"lost_percent":2.5}}})");
  EXPECT_DOUBLE_EQ(metric_of(session.runs.at(0), "bandwidth").samples.at(0), 66005.6 / 8);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "jitter").samples.at(0), 0.5e-3);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "lost").samples.at(0), 0.025);
}

// After NVIDIA/nccl-tests#176: versions before 2.13 print the largest error, which is no count of wrong elements.
TEST(Reports, nccl_tests_printed_the_error_as_a_number) {
  const Session session = read_one(
      "# nThread 1 nGpus 1 minBytes 4096 maxBytes 8192 step: 2(factor) validation: 1\n"
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "        4096          1024   float     sum    93.73    0.04    0.09  1e-06    93.15    0.04    0.09  1e-06\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].outcome, Outcome::passed);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[1], "time").samples.at(0), 93.15e-6);
}

// After ROCm/rocm-systems#8273: columns behind those that are known, and blanks for operation and root.
TEST(Reports, rccl_tests_print_further_columns_and_blanks) {
  const std::string head =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n"
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  const Session more = read_one(head + " 8 2 float sum -1 1.5 2.5 3.5 0 4.5 5.5 6.5 0 Ring LL 4\n");
  ASSERT_THAT(more.runs, SizeIs(2));
  EXPECT_DOUBLE_EQ(metric_of(more.runs[1], "bus_bandwidth").samples.at(0), 6.5e9);
  const Session blank = read_one(head + " 8 2 float 1.5 2.5 3.5 0 4.5 5.5 6.5 0\n");
  ASSERT_THAT(blank.runs, SizeIs(2));
  EXPECT_FALSE(blank.runs[0].params.has("op"));
  EXPECT_DOUBLE_EQ(metric_of(blank.runs[0], "time").samples.at(0), 1.5e-6);
}

// After NVIDIA/cluster-readiness-engine#31: times of any zone before each line, and one rank, whose bus bandwidth is 0.
TEST(Reports, kubectl_logs_print_timestamps) {
  const std::string zone = "-07:00 ";
  const auto stamp = [&](int n) {
    return "2026-08-06T10:00:0" + std::to_string(n) + ".12345678" + std::to_string(n) + zone;
  };
  const Session session = read_one(stamp(0) + "# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n" + stamp(1) +
                                   "#  Rank  0 Group  0 Pid 1 on box device  0 [0x1b] NVIDIA A100\n" + stamp(2) +
                                   "# size count type redop root time algbw busbw #wrong\n" + stamp(3) +
                                   "   1024   256   float   sum   -1   1.5   688.95   0.00   0\n");
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "algorithm_bandwidth").samples.at(0), 688.95e9);
  EXPECT_THAT(session.remarks, Contains(HasSubstr("ran alone")));
}

// After benchmark-action/github-action-benchmark#39 and #280: colons in names, commas in numbers, other units.
TEST(Reports, cargo_bench_prints_commas_and_other_units) {
  const Session session = read_one(
      "running 2 tests\n"
      "test core::graph::tests::bench_mid_graph   ... bench:   4,720,415 ns/iter (+/- 498,541) \n"
      "test cmov ... bench:        2835 cycles/iter (+/- 14)\ntest other ... ok\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].workload, "core::graph::tests::bench_mid_graph");
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "time").samples.at(0), 4720415e-9);
  EXPECT_EQ(session.runs[1].metrics.at(0).unit, "cycles/iter");
  EXPECT_EQ(session.runs[1].metrics[0].better, Better::lower);
}

// After benchmark-action/github-action-benchmark#77: benchmarks of tables in Go.
TEST(Reports, go_prints_benchmarks_of_tables) {
  const Session session = read_one(
      "goos: darwin\ncpu: Intel(R) Core(TM) i5-1038NG7 CPU @ 2.00GHz\n"
      "BenchmarkUpload/10M_64K-8         \t      39\t 312026046 ns/op\t264405427 B/op\t 1799151 allocs/op\n"
      "BenchmarkUpload/10M_6M__NoHash-8  \t     315\t  39228720 ns/op\t35551235 B/op\t   30194 allocs/op\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[1].workload, "BenchmarkUpload/10M_6M__NoHash");
}

TEST(Units, are_read_as_people_write_them) {
  const auto is = [](const char* text, const char* si, double one) {
    const Unit unit = unit_of(text);
    EXPECT_EQ(unit.si, si) << text;
    EXPECT_DOUBLE_EQ(unit.to_si(1), one) << text;
  };
  is("Gbit/s", "B/s", 125e6);
  is("Gbps", "B/s", 125e6);
  is("Mbits/sec", "B/s", 125e3);
  is("GBps", "B/s", 1e9);
  is("MB/sec", "B/s", 1e6);
  is("MiB/s", "B/s", 1048576);
  is("bytes/second", "B/s", 1);
  is("tokens/s", "1/s", 1);
  is("tok/s", "1/s", 1);
  is("Mops/s", "1/s", 1e6);
  is("img/sec", "1/s", 1);
  is("req/min", "1/s", 1.0 / 60);
  is("kIOPS", "1/s", 1e3);
  is("TFLOPS", "FLOP/s", 1e12);
  is("TFLOP/s", "FLOP/s", 1e12);
  is("GFLOPs/s", "FLOP/s", 1e9);
  is("ns/iter", "s", 1e-9);
  is("ms/op", "s", 1e-3);
  is("\xC2\xB5s", "s", 1e-6);
  is("msec", "s", 1e-3);
  is("milliseconds", "s", 1e-3);
  is("ps", "s", 1e-12);
  is("min", "s", 60);
  is("GiB", "B", 1073741824);
  is("kB", "B", 1e3);
  is("mJ", "J", 1e-3);
  is("(us)", "s", 1e-6);
  is("bananas", "bananas", 1);
  is("%", "%", 1);
}

TEST(Names, have_units_and_directions_by_their_words) {
  const auto is = [](const char* name, const char* si, double one, Better better, const char* id) {
    const Described what = described(name);
    EXPECT_EQ(what.unit.si, si) << name;
    EXPECT_DOUBLE_EQ(what.unit.to_si(1), one) << name;
    EXPECT_EQ(what.better, better) << name;
    EXPECT_EQ(what.id, id) << name;
  };
  is("samples_per_second", "1/s", 1, Better::higher, "samples");
  is("throughput_samples_sec", "1/s", 1, Better::higher, "throughput_samples");
  is("throughput_seq_per_sec", "1/s", 1, Better::higher, "throughput_seq");
  is("tokens_per_second", "1/s", 1, Better::higher, "tokens");
  is("latency_p99_ms", "s", 1e-3, Better::lower, "latency_p99");
  is("latency_ms_p99", "s", 1e-3, Better::lower, "latency_p99");
  is("avg_time_per_sequence_ms", "s", 1e-3, Better::lower, "avg_time_per_sequence");
  is("nccl_allreduce_bandwidth_gbps", "B/s", 1e9, Better::higher, "nccl_allreduce_bandwidth");
  is("network_gbps", "B/s", 125e6, Better::higher, "network");
  is("peak_memory_gb", "B", 1e9, Better::lower, "peak_memory");
  is("memory_saved_gb", "B", 1e9, Better::higher, "memory_saved");
  is("mean_ttft_ms", "s", 1e-3, Better::lower, "mean_ttft");
  is("request_throughput", "1/s", 1, Better::higher, "request_throughput");
  is("total_token_throughput", "1/s", 1, Better::higher, "total_token_throughput");
  is("gpu_utilization", "", 1, Better::higher, "gpu_utilization");
  is("p99 (us)", "s", 1e-6, Better::lower, "p99");
  is("throughput", "", 1, Better::higher, "throughput");
  is("error_rate", "", 1, Better::lower, "error_rate");
  is("layers", "", 1, Better::neither, "layers");
}

}  // namespace
}  // namespace warpmark::exchange
