// Public reports of result files that other tools misread, each as a small input: docs/results has the list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "read_files.h"

namespace warpmark::exchange {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

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
      "        4096          1024   float     sum    93.73    0.04    0.09  1e-06    93.15    0.04    0.09  1e-06\n"
      "# Out of bounds values : 0 OK\n");
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

// After benchmark-action/github-action-benchmark#264, #336 and golang/go#14313: packages with benchmarks of one name.
TEST(Reports, go_prints_benchmarks_of_one_name_in_several_packages) {
  const Session session = read_one(
      "pkg: github.com/gofiber/fiber/v3/middleware/cache\nBenchmarkAppendMsgitem-4 \t 100 \t 3.5 ns/op\n"
      "PASS\nok  \tgithub.com/gofiber/fiber/v3/middleware/cache\t1.5s\n"
      "pkg: github.com/gofiber/fiber/v3/middleware/csrf\nBenchmarkAppendMsgitem-4 \t 100 \t 350 ns/op\nPASS\n");
  ASSERT_THAT(session.runs, SizeIs(2)) << "no rounds of one another";
  EXPECT_EQ(session.runs[1].params.text("pkg"), "github.com/gofiber/fiber/v3/middleware/csrf");
  const Session old = read_one(
      "PASS\nBenchmarkEncodeToString-8\t   30000\t     42033 ns/op\t 194.89 MB/s\nok  \tencoding/base32\t3.593s\n"
      "PASS\nBenchmarkEncodeToString-8\t   30000\t     12033 ns/op\t 694.89 MB/s\nok  \tencoding/base64\t3.593s\n");
  ASSERT_THAT(old.runs, SizeIs(2));
  EXPECT_EQ(old.runs[0].params.text("pkg"), "encoding/base32");
}

// After benchmark-action/github-action-benchmark#131: commas and equals signs in names.
TEST(Reports, go_has_commas_and_equals_signs_in_names) {
  const Session session = read_one(
      "BenchmarkWorldTick/agentCount=20,interactableCount=10,awarenessRange_2000-16     589    2140095 ns/op\n"
      "BenchmarkWorldTick/agentCount=200,interactableCount=100,awarenessRange_60-16     194    5987727 ns/op\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].workload, "BenchmarkWorldTick/agentCount=20,interactableCount=10,awarenessRange_2000");
}

// After grafana/mimir#13297, kr/ct#30 and golang/go#52247: output between the name and the values, a name on its own.
TEST(Reports, go_prints_what_a_benchmark_logs_among_its_results) {
  const Session session = read_one(
      "BenchmarkQuery\nBenchmarkQuery/selector=0-8   starting\n     171   6722296 ns/op   5526405 B/op   58721 "
      "allocs/op\n"
      "--- BENCH: BenchmarkQuery/selector=0-8\n    benchmarks_test.go:132: series=2000 chunks=2545\n"
      "BenchmarkQuery/selector=1-8    177   6700066 ns/op   2545 chunks   2000 series   5511997 B/op\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].workload, "BenchmarkQuery/selector=0");
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, ElementsAre(6722296e-9));
  EXPECT_THAT(metric_of(session.runs[1], "chunks").samples, ElementsAre(2545));
}

// After benchmark-action/github-action-benchmark#122: an entry of a history in us/op, the next in ns/op.
TEST(Reports, histories_change_their_units) {
  const auto sessions = read_text(R"(window.BENCHMARK_DATA = {"entries":{"Benchmark":[
    {"commit":{"id":"a"},"date":1772366400000,"tool":"go","benches":[{"name":"B","value":1.5,"unit":"us/op"}]},
    {"commit":{"id":"b"},"date":1772370000000,"tool":"go","benches":[{"name":"B","value":1400,"unit":"ns/op"}]}]}})");
  ASSERT_TRUE(sessions.ok()) << sessions.error().what;
  ASSERT_THAT(*sessions, SizeIs(2));
  EXPECT_DOUBLE_EQ(metric_of(sessions->at(0).runs.at(0), "time").samples.at(0), 1500e-9);
  EXPECT_DOUBLE_EQ(metric_of(sessions->at(1).runs.at(0), "time").samples.at(0), 1400e-9);
}

// After benchmark-action/github-action-benchmark#365: rates of JMH are better high, also in the history of that tool.
TEST(Reports, jmh_has_rates_and_times_in_one_file) {
  const auto history = read_text(R"(window.BENCHMARK_DATA = {"entries":{"Benchmark":[{"commit":{"id":"a"},
    "date":1772366400000,"tool":"jmh","benches":[{"name":"parse","value":1500,"unit":"ops/s"},
                                                 {"name":"load","value":2.5,"unit":"ms/op"}]}]}})");
  ASSERT_TRUE(history.ok()) << history.error().what;
  const auto& runs = history->at(0).runs;
  EXPECT_EQ(runs.at(0).metrics.at(0).better, Better::higher);
  EXPECT_EQ(runs.at(1).metrics.at(0).better, Better::lower);
}

// After presidentio/teamcity-plugin-jmh#5: mode "sample" has percentiles; a score without values is the text "NaN".
TEST(Reports, jmh_writes_nan_as_text_and_percentiles_of_samples) {
  const Session session = read_one(R"([{"benchmark":"a.B.m","mode":"sample","threads":16,
    "primaryMetric":{"score":107926.5,"scoreError":"NaN","scoreConfidence":["NaN","NaN"],
      "scorePercentiles":{"0.0":202.0,"50.0":241.0,"99.0":167680.0,"99.9":345600.0},"scoreUnit":"ns/op",
      "rawDataHistogram":[[[[202.0,1],[241.0,2]]]]},
    "secondaryMetrics":{"gc.alloc.rate.norm":{"score":"NaN","scoreUnit":"B/op","rawData":[["NaN"]]}}}])");
  const auto& run = session.runs.at(0);
  EXPECT_DOUBLE_EQ(metric_of(run, "time").samples.at(0), 107926.5e-9);
  EXPECT_DOUBLE_EQ(metric_of(run, "time_p99.9").samples.at(0), 345600e-9);
  EXPECT_EQ(note_of(run, "gc.alloc.rate.norm"), "is not a number");
}

// After benchmark-action/github-action-benchmark#94: names with blanks.
TEST(Reports, criterion_has_names_with_blanks) {
  const Session session = read_one("test String creation (Execution) ... bench:   1,234 ns/iter (+/- 56)\n");
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_EQ(session.runs[0].workload, "String creation (Execution)");
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "time").samples.at(0), 1234e-9);
}

// After BurntSushi/critcmp#3 and boa-dev/criterion-compare-action#22: what an iteration handles, elements or bytes.
TEST(Reports, criterion_has_throughputs_of_elements) {
  const Session session = read_one(
      R"({"reason":"benchmark-complete","id":"sort/8","iteration_count":[1,2],"measured_values":[10,40],"unit":"ns",)"
      R"("throughput":[{"per_iteration":8,"unit":"elements"}],"typical":{"estimate":15.0,"unit":"ns"}})");
  EXPECT_THAT(metric_of(session.runs.at(0), "time").samples, ElementsAre(10e-9, 20e-9));
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "item_rate").samples.at(1), 8 / 20e-9);
}

// After sharkdp/hyperfine#827, #861 and #348: a command that fails is fast, and no winner.
TEST(Reports, hyperfine_times_commands_that_fail) {
  const Session session = read_one(R"({"results":[
    {"command":"tool 100","mean":0.01,"times":[0.01,0.01],"exit_codes":[1,1],"parameters":{"size":"100"}},
    {"command":"tool 1000","mean":2,"times":[2.0,2.1],"exit_codes":[0,0],"parameters":{"size":"1000"}}]})");
  EXPECT_EQ(session.runs.at(0).outcome, Outcome::unreliable);
  EXPECT_EQ(session.runs.at(1).outcome, Outcome::passed);
}

// After sharkdp/hyperfine#642: times of 0 are times.
TEST(Reports, hyperfine_measures_zero) {
  const Session session = read_one(
      R"({"results":[{"command":"true","mean":0.0,"stddev":null,"median":0.0,"user":0.0,"system":0.0,"min":0.0,
          "max":0.0,"times":[0.0],"exit_codes":[0]}]})");
  EXPECT_THAT(metric_of(session.runs.at(0), "time").samples, ElementsAre(0.0));
  for (const char* format : {"google-benchmark", "pytest-benchmark", "hyperfine", "csv"}) {
    EXPECT_THAT(metric_of(read_one(written(format, session).text).runs.at(0), "time").samples, ElementsAre(0.0))
        << format;
  }
}

// After esnet/iperf#826: packet loss that is no number.
TEST(Reports, iperf3_writes_nan_for_the_loss) {
  const Session session = read_one(
      "{\"start\":{\"version\":\"iperf "
      "3.1b3\",\"test_start\":{\"protocol\":\"UDP\"}},\"intervals\":[],\"end\":{\"sum\":"
      "{\"bits_per_second\":8e6,\"jitter_ms\":0.5,\"lost_percent\":\tnan}}}");
  EXPECT_DOUBLE_EQ(metric_of(session.runs.at(0), "jitter").samples.at(0), 0.5e-3);
}

// After microsoft/superbenchmark#748: the sum of a test case behind one that was waived.
TEST(Reports, nvbandwidth_waives_test_cases) {
  const Session session = read_one(
      "nvbandwidth Version: v0.8\n\nRunning device_to_device_memcpy_read_ce.\nWaived: \n\n"
      "Running device_to_device_latency_sm.\nDevice to Device Latency SM GPU(row) <- GPU(column) (ns)\n"
      "           0         1\n 0       N/A    772.58\n 1    773.25       N/A\n\n"
      "SUM device_to_device_latency_sm 1545.83\n\nNOTE: The reported results may not reflect the full capabilities.\n");
  ASSERT_THAT(session.runs, SizeIs(3));
  EXPECT_EQ(session.runs[0].outcome, Outcome::skipped);
  EXPECT_EQ(session.runs[1].workload, "device_to_device_latency_sm");
  EXPECT_DOUBLE_EQ(metric_of(session.runs[1], "time").samples.at(0), 772.58e-9);
}

// After NVIDIA/cloudai#954: a row with a number that is none is left out and counted, the others are read.
TEST(Reports, nccl_tests_rows_have_damaged_numbers) {
  const Session session = read_one(
      "# nThread 1 nGpus 2 minBytes 8 maxBytes 16\n# size count type redop root time algbw busbw #wrong\n"
      " 8 2 float sum -1 10.5 1.5 2.25 0\n 16 4 float sum -1 NaNbad 1.5 2.25 0\n");
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_THAT(session.remarks, Contains(HasSubstr("16 4 float")));
}

// After Bodigrim/tasty-bench#9: two benchmarks of one name in a table cannot be told from two rounds, and that is said.
TEST(Reports, tables_repeat_a_name) {
  const Session session = read_one(
      "Name,Mean (ps),2*Stdev (ps)\nAll.map (+1),217000000,11000000\nAll.map (+1),52000,1300\nAll.filter,100,1\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_THAT(metric_of(session.runs[0], "Mean").samples, ElementsAre(217e-6, 52e-9));
  EXPECT_THAT(session.remarks, Contains(HasSubstr("1 rows repeat a name")));
}

// After apache/otava#11: the dates of its own example.
TEST(Reports, otava_has_dates_with_dots_and_a_zone) {
  const auto sessions = read_text(
      "time,commit,branch,metric1,metric2\n2024.01.01 3:00:00 +0100,aaa0,main,154023,10.43\n"
      "2024.01.02 13:00:00 +0100,aaa1,main,138455,10.23\n");
  ASSERT_TRUE(sessions.ok()) << sessions.error().what;
  ASSERT_THAT(*sessions, SizeIs(2));
  EXPECT_EQ(sessions->at(0).started, "2024-01-01T02:00:00Z");
  EXPECT_EQ(sessions->at(1).started, "2024-01-02T12:00:00Z");
  EXPECT_EQ(sessions->at(1).branch, "main");
}

// After elastic/elasticsearch#120998: what is missing in a series is no 0.
TEST(Reports, series_have_gaps) {
  const auto sessions = read_text("time,commit,latency_ms,errors\n1772366400,c1,12.5,\n1772370000,c2,,3\n");
  ASSERT_TRUE(sessions.ok()) << sessions.error().what;
  EXPECT_THAT(sessions->at(0).runs.at(0).metrics, SizeIs(1));
  EXPECT_EQ(sessions->at(1).runs.at(0).metrics.at(0).id, "errors");
}

// After vllm-project/vllm#11167, #24005 and #26478: figures of the requests that were answered alone.
TEST(Reports, vllm_leaves_failed_requests_out_of_its_figures) {
  const auto result = [](const char* completed) {
    return std::string(R"({"backend":"vllm","num_prompts":100,"completed":)") + completed +
           R"(,"request_throughput":8.0,"mean_ttft_ms":25.5})";
  };
  EXPECT_EQ(read_one(result("100")).runs.at(0).outcome, Outcome::passed);
  const Session some = read_one(result("97"));
  EXPECT_EQ(some.runs.at(0).outcome, Outcome::unreliable);
  EXPECT_EQ(some.runs[0].reason, "3 of 100 requests were not answered");
  const Session none = read_one(result("0"));
  EXPECT_EQ(none.runs.at(0).outcome, Outcome::error);
  EXPECT_TRUE(none.runs[0].metrics.empty()) << "a rate of no requests is none";
}

// After NVIDIA/nvbench#14: several benchmarks of one file, some of whose states were skipped.
TEST(Reports, nvbench_skips_states) {
  const std::string summary = R"("summaries":[{"tag":"nv/cold/time/gpu/mean","name":"GPU Time","data":
    [{"name":"value","type":"float64","value":"1e-3"}]}])";
  const Session session = read_one(R"({"devices":[{"id":0,"name":"H100"}],"benchmarks":[
    {"name":"a","states":[{"name":"s","device":0,"is_skipped":true,"skip_reason":"Short"}]},
    {"name":"b","states":[{"name":"s","device":0,"is_skipped":false,)" +
                                   summary + "}]}]}");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].reason, "Short");
  EXPECT_DOUBLE_EQ(metric_of(session.runs[1], "time").samples.at(0), 1e-3);
}

// After ionelmc/pytest-benchmark#36: several parameters, each by its name.
TEST(Reports, pytest_benchmark_has_several_parameters) {
  const Session session =
      read_one(R"({"machine_info":{"node":"n"},"commit_info":{"id":"c"},"datetime":"2026-03-01T12:00:00",
    "version":"4.0.0","benchmarks":[{"name":"test_getattr[instance-int32]",
    "fullname":"t.py::test_getattr[instance-int32]",
    "params":{"Storage":"instance","numeric_type":"int32"},"param":"instance-int32",
    "stats":{"data":[0.5],"rounds":1,"iterations":1}}]})");
  EXPECT_EQ(session.runs.at(0).params.text("Storage"), "instance");
  EXPECT_EQ(session.runs[0].params.text("numeric_type"), "int32");
}

}  // namespace
}  // namespace warpmark::exchange
