// Tables of results: CSV of samples, CSV with a metric a column, NVBench's, and SuperBench's summaries.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "read_files.h"

namespace warpmark::exchange {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(Superbench, keeps_a_benchmark_that_failed_as_an_error) {
  const Session session = read_one(
      "{\"nccl-bw:nvlink/allreduce_8_busbw:0\": 12.5, \"nccl-bw:nvlink/return_code\": 0, "
      "\"ib-loopback/return_code:1\": 3, \"node\": \"n1\"}\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].workload, "nccl-bw:nvlink/allreduce_8_busbw");
  EXPECT_EQ(session.runs[0].params.integer("rank"), 0);
  EXPECT_EQ(session.runs[1].workload, "ib-loopback");
  EXPECT_EQ(session.runs[1].outcome, Outcome::error);
  EXPECT_EQ(session.runs[1].reason, "return code 3");
  EXPECT_THAT(session.runs[1].metrics, SizeIs(0));
  EXPECT_THAT(session.remarks, Contains(HasSubstr("ib-loopback failed")));
}

TEST(Superbench, knows_the_units_of_each_benchmark) {
  const Session session = read_one(
      "{\"cpu-memory-bw-latency/mem_bandwidth_matrix_numa_0_1_bw:0\": 90000, "
      "\"cpu-memory-bw-latency/mem_bandwidth_matrix_numa_0_1_lat:0\": 120, "
      "\"cpu-stream/copy_time_avg\": 0.5, \"cublaslt-gemm/fp16_1_2048_2048_2048_flops:0\": 600, "
      "\"cudnn-function/name_f_time\": 15, \"tcp-connectivity/n2_time_avg\": 3, "
      "\"kernel-launch/launch_throughput_mkps\": 0.5, \"node\": \"n1\"}\n");
  const std::vector<std::pair<std::string, double>> expected{
      {"B/s", 90e9}, {"s", 120e-9}, {"s", 0.5}, {"FLOP/s", 600e12}, {"s", 15e-6}, {"s", 3e-3}, {"1/s", 0.5e6}};
  ASSERT_EQ(session.runs.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Metric& metric = session.runs[i].metrics.at(0);
    EXPECT_EQ(metric.unit, expected[i].first) << session.runs[i].workload;
    EXPECT_NEAR(metric.samples.at(0) / expected[i].second, 1, 1e-12) << session.runs[i].workload;
  }
}

TEST(Superbench, makes_a_session_of_each_node) {
  const auto sessions = read_text(
      "{\"kernel-launch/event_time:0\": 0.006, \"nccl-bw/allreduce_8388608_busbw:0\": 250.5, "
      "\"gemm-flops/fp64_flops:1\": 9031.6, \"kernel-launch/return_code\": 0, \"node\": \"n1\"}\n"
      "{\"kernel-launch/event_time:0\": 0.007, \"ib/return_code\": 1, \"node\": \"n2\"}\n");
  ASSERT_TRUE(sessions.ok()) << sessions.error().what;
  ASSERT_THAT(*sessions, SizeIs(2));
  EXPECT_THAT(sessions->at(0).id, StartsWith("superbench-"));
  EXPECT_EQ(sessions->at(0).machine.hostname, "n1");
  const auto& runs = sessions->at(0).runs;
  ASSERT_THAT(runs, SizeIs(3));
  EXPECT_EQ(runs[2].workload, "gemm-flops/fp64_flops");
  EXPECT_DOUBLE_EQ(metric_of(runs[2], "flop_rate").samples.at(0), 9031.6e9);
  EXPECT_DOUBLE_EQ(metric_of(runs[0], "time").samples.at(0), 6e-6);
  EXPECT_DOUBLE_EQ(metric_of(runs[1], "bandwidth").samples.at(0), 250.5e9);
  EXPECT_THAT(sessions->at(1).remarks, Contains(HasSubstr("ib failed: return code 1")));
}

TEST(NvbenchCsv, takes_columns_before_skipped_for_axes) {
  const Session session = read_one(
      "Benchmark,Device,Device Name,T,Elements,Skipped,Samples,CPU Time (sec),Noise (%),GPU Time (sec),Noise (%),"
      "GlobalMem BW (bytes/sec),Batch GPU (sec)\n"
      "copy,0,NVIDIA H200,F32,1048576,No,2096,2.5e-05,3.5,1.25e-05,0.5,6.2e+11,1.1e-05\n"
      "copy,0,NVIDIA H200,F64,1048576,Yes,,,,,,,\n\n"
      "Benchmark,Device,Device Name,Skipped,Samples,GPU Time (sec)\nempty,0,NVIDIA H200,No,10,1e-06\n");
  EXPECT_THAT(session.id, StartsWith("nvbench-csv-"));
  ASSERT_THAT(session.runs, SizeIs(3));
  EXPECT_EQ(session.runs[0].params.text("T"), "F32");
  EXPECT_EQ(session.runs[0].metrics.at(0).id, "time");
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "time").samples.at(0), 1.25e-5);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "time_noise").samples.at(0), 0.005);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "bandwidth").samples.at(0), 6.2e11);
  EXPECT_EQ(session.runs[1].outcome, Outcome::skipped);
  EXPECT_EQ(session.runs[2].workload, "empty");
  EXPECT_EQ(session.machine.devices.at(0).name, "NVIDIA H200");
}

TEST(WideCsv, makes_a_session_of_each_commit_as_otava_reads_it) {
  const auto sessions = read_text("time,commit,throughput,latency_ms\n1772366400,c1,100,12.5\n1772370000,c2,110,12\n");
  ASSERT_TRUE(sessions.ok()) << sessions.error().what;
  ASSERT_THAT(*sessions, SizeIs(2));
  EXPECT_THAT(sessions->at(0).id, StartsWith("wide-csv-"));
  EXPECT_EQ(sessions->at(0).started, "2026-03-01T12:00:00Z");
  EXPECT_EQ(sessions->at(1).commit, "c2");
  EXPECT_EQ(metric_of(sessions->at(0).runs.at(0), "throughput").better, Better::higher);
  EXPECT_DOUBLE_EQ(metric_of(sessions->at(0).runs.at(0), "latency").samples.at(0), 0.0125);
}

TEST(WideCsv, tells_parameters_from_metrics_by_the_names) {
  const Session session =
      read_one("model,batch_size,throughput_samples_sec,p99 (us)\nnet,8,450.5,120\nnet,16,900,130\nnet,8,451,121\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].params.integer("batch_size"), 8);
  EXPECT_THAT(metric_of(session.runs[0], "throughput_samples").samples, ElementsAre(450.5, 451));
  EXPECT_DOUBLE_EQ(metric_of(session.runs[1], "p99").samples.at(0), 130e-6);
  EXPECT_FALSE(read_text("to be,or not\nto be,that\n").ok()) << "a table without numbers is no result";
}

TEST(WideCsv, reads_decimal_commas_notes_and_hosts) {
  const auto sessions = read_text(
      "date;commit;host;note;latency_ms;bytes;torch_version\n"
      "2026-03-01;c1;node1;before the fix;12,5;1.024;2.1\n"
      "2026-03-02;c2;node2;after, with luck;1.250,25;2.048;2.1\n");
  ASSERT_TRUE(sessions.ok()) << sessions.error().what;
  ASSERT_THAT(*sessions, SizeIs(2));
  const auto& first = sessions->at(0).runs.at(0);
  const auto& second = sessions->at(1).runs.at(0);
  EXPECT_DOUBLE_EQ(metric_of(first, "latency").samples.at(0), 0.0125);
  EXPECT_DOUBLE_EQ(metric_of(second, "latency").samples.at(0), 1.25025);
  EXPECT_DOUBLE_EQ(metric_of(first, "bytes").samples.at(0), 1024);
  EXPECT_TRUE(first.params == second.params) << "a note is no part of what is measured";
  EXPECT_EQ(note_of(first, "note"), "before the fix");
  EXPECT_EQ(sessions->at(1).machine.hostname, "node2");
}

TEST(WideCsv, takes_a_column_of_dates_for_the_time_whatever_it_is_called) {
  const auto sessions = read_text("Datum;commit;latency_ms\n01.03.2026;c1;12,5\n13.03.2026;c2;12\n");
  ASSERT_TRUE(sessions.ok()) << sessions.error().what;
  ASSERT_THAT(*sessions, SizeIs(2));
  EXPECT_EQ(sessions->at(1).started, "2026-03-13T00:00:00Z");
  EXPECT_TRUE(sessions->at(1).runs.at(0).params.items().empty());
}

TEST(WideCsv, keeps_points_where_there_are_no_commas) {
  const Session session = read_one("name;latency_ms\na;1.234\nb;2.5\n");
  EXPECT_DOUBLE_EQ(metric_of(session.runs.at(0), "latency").samples.at(0), 0.001234);
}

TEST(Csv, reads_decimal_commas_hosts_and_notes) {
  const Session session =
      read_one("name;value;unit;host;note.label\na;1,5;ms;node1;first\na;1.000,25;ms;node1;first\n");
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, ElementsAre(0.0015, 1.00025));
  EXPECT_EQ(session.machine.hostname, "node1");
  EXPECT_EQ(note_of(session.runs[0], "label"), "first");
  EXPECT_TRUE(session.runs[0].params.items().empty());
}

TEST(Csv, leaves_out_and_counts_rows_that_are_not_numbers) {
  const Session session = read_one("name,value,unit\na,1,s\na,NaN,s\nb,-inf,s\na,2,s\n");
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, ElementsAre(1, 2));
  EXPECT_THAT(session.remarks, Contains(HasSubstr("2 rows whose value is not a number")));
}

TEST(ToolCsv, reads_hyperfine_as_its_json) {
  const Session session = read_one(
      "command,mean,stddev,median,user,system,min,max,parameter_size\n"
      "sort 10,0.1016,0.0003,0.1015,0.0005,0.0011,0.1011,0.1021,10\n");
  EXPECT_THAT(session.id, StartsWith("tool-csv-"));
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_EQ(session.runs[0].workload, "sort 10");
  EXPECT_EQ(session.runs[0].params.integer("size"), 10);
  EXPECT_THAT(session.runs[0].params.items(), SizeIs(1)) << "a time is no parameter";
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "time").samples.at(0), 0.1015);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "system_time").samples.at(0), 0.0011);
}

TEST(ToolCsv, takes_repetitions_of_google_benchmark_for_rounds_and_keeps_errors) {
  const Session session = read_one(
      "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,"
      "error_message\n\"BM_x/8\",100,1.5,1.4,us,5e9,,\"lab\",,\n\"BM_x/8\",100,1.6,1.4,us,5.1e9,,\"lab\",,\n"
      "\"BM_x/8_mean\",2,1.55,1.4,us,5.05e9,,,,\n\"BM_y\",,,,,,,,true,\"bad size\"\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, ElementsAre(1.5 / 1e6, 1.6 / 1e6));
  EXPECT_EQ(session.runs[0].rounds, 2);
  EXPECT_EQ(metric_of(session.runs[0], "bandwidth").better, Better::higher);
  EXPECT_EQ(note_of(session.runs[0], "label"), "lab");
  EXPECT_EQ(session.runs[1].outcome, Outcome::error);
  EXPECT_EQ(session.runs[1].reason, "bad size");
}

TEST(ToolCsv, reads_the_medians_of_google_benchmark_where_they_are_all_there_is) {
  const Session session = read_one(
      "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,"
      "error_message,calls\nBM_x_mean,3,1.5,1.4,us,,,,,,7\nBM_x_median,3,1.6,1.4,us,,,,,,8\n"
      "BM_x_stddev,3,0.1,0.1,us,,,,,,1\nBM_geo_mean,100,2,2,us,,,,,,9\nBM_z,100,3,3,us,,,,,,9\n"
      "BM_z_BigO,,4,4,us,,,,,,\n");
  ASSERT_THAT(session.runs, SizeIs(3));
  EXPECT_EQ(session.runs[0].workload, "BM_x");
  EXPECT_EQ(note_of(session.runs[0], "aggregate"), "median");
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "time").samples.at(0), 1.6e-6);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "calls").samples.at(0), 8);
  EXPECT_EQ(session.runs[1].workload, "BM_geo_mean") << "a name of its own";
  EXPECT_EQ(session.runs[2].workload, "BM_z");
}

TEST(ToolCsv, knows_directions_of_jmh_by_its_units) {
  const Session session = read_one(
      "\"Benchmark\",\"Mode\",\"Threads\",\"Samples\",\"Score\",\"Score Error (99.9%)\",\"Unit\",\"Param: size\"\n"
      "\"org.B.sort\",\"avgt\",1,5,12.5,0.3,\"us/op\",100\n\"org.B.sort\",\"thrpt\",1,5,120000.5,30,\"ops/s\",100\n");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].params.integer("size"), 100);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "time").samples.at(0), 12.5e-6);
  EXPECT_EQ(session.runs[0].metrics[0].better, Better::lower);
  EXPECT_EQ(metric_of(session.runs[1], "item_rate").better, Better::higher);
}

TEST(ToolCsv, reads_the_median_of_pytest_benchmark) {
  const Session session = read_one(
      "name,min,max,mean,stddev,rounds,median,iqr,outliers,ops,iterations\n"
      "test_a,1e-5,2e-5,1.5e-5,1e-6,100,1.4e-5,1e-6,1;2,66666,1\n");
  EXPECT_DOUBLE_EQ(metric_of(session.runs.at(0), "time").samples.at(0), 1.4e-5);
  EXPECT_TRUE(session.runs[0].params.items().empty());
}

}  // namespace
}  // namespace warpmark::exchange
