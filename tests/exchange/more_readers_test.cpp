// Each format by what its tool writes, and what is made of it.
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

std::string format_of(const Session& session) { return session.id.substr(0, session.id.rfind('-')); }

TEST(Pyperf, takes_each_process_for_a_round) {
  const Session session = read_one(R"({"version":"1.0",
    "metadata":{"hostname":"box","cpu_model_name":"Xeon","python_version":"3.11.2","unit":"second"},
    "benchmarks":[{"metadata":{"name":"telco"},"runs":[
      {"metadata":{"date":"2026-03-01 12:00:00.5"},"warmups":[[1,0.3]]},
      {"values":[0.10,0.11]},{"values":[0.12,0.13]}]}]})");
  EXPECT_EQ(format_of(session), "pyperf");
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_EQ(session.runs[0].workload, "telco");
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, ElementsAre(0.10, 0.11, 0.12, 0.13));
  EXPECT_THAT(metric_of(session.runs[0], "time").round_sizes, ElementsAre(2, 2));
  EXPECT_EQ(session.started, "2026-03-01T12:00:00Z");
  EXPECT_EQ(session.machine.cpu, "Xeon");
}

TEST(Asv, reads_combinations_of_parameters_and_units_by_the_kind) {
  const Session session = read_one(R"({"commit_hash":"abc123","date":1772366400000,"version":2,
    "params":{"machine":"box","os":"Linux","cpu":"Xeon"},
    "result_columns":["result","params","version","samples"],
    "results":{"suite.time_sort":[[0.5,null],[["'small'","'big'"]],"v",[[0.4,0.6],null]],
               "suite.peakmem_load":[[1048576],[],"v"],"suite.track_score":[[3]],"suite.time_broken":[null]}})");
  EXPECT_EQ(format_of(session), "asv");
  EXPECT_EQ(session.commit, "abc123");
  EXPECT_EQ(session.started, "2026-03-01T12:00:00Z");
  ASSERT_THAT(session.runs, SizeIs(4));
  const auto run = [&](const std::string& name) {
    for (const auto& one : session.runs) {
      if (one.workload == name) return one;
    }
    return session.runs[0];
  };
  EXPECT_EQ(metric_of(run("suite.peakmem_load"), "memory").unit, "B");
  EXPECT_EQ(run("suite.time_sort").params.text("param1"), "small");
  EXPECT_THAT(metric_of(run("suite.time_sort"), "time").samples, ElementsAre(0.4, 0.6));
  EXPECT_THAT(session.remarks, Contains(HasSubstr("time_broken")));
}

TEST(Criterion, divides_the_time_of_a_sample_by_its_iterations) {
  const Session samples = read_one(R"({"sampling_mode":"Linear","iters":[10.0,20.0],"times":[1000.0,2200.0]})");
  EXPECT_EQ(format_of(samples), "criterion");
  EXPECT_THAT(metric_of(samples.runs.at(0), "time").samples, ElementsAre(100e-9, 110e-9));
  const Session estimates = read_one(
      R"({"mean":{"confidence_interval":{"confidence_level":0.95,"lower_bound":1},"point_estimate":120.0,
          "standard_error":1},"median":{"point_estimate":100.0},"std_dev":{"point_estimate":5.0}})");
  EXPECT_DOUBLE_EQ(metric_of(estimates.runs.at(0), "time").samples.at(0), 100e-9);
  const Session lines = read_one(
      "{\"reason\":\"benchmark-complete\",\"id\":\"sort/8\",\"iteration_count\":[1,2],\"measured_values\":[5,8],"
      "\"unit\":\"ns\",\"typical\":{\"estimate\":4.0,\"unit\":\"ns\"}}\n{\"reason\":\"group-complete\"}\n");
  EXPECT_EQ(lines.runs.at(0).workload, "sort/8");
  EXPECT_THAT(metric_of(lines.runs[0], "time").samples, ElementsAre(5e-9, 4e-9));
}

TEST(Jmh, knows_rates_times_and_forks) {
  const Session session = read_one(R"([{"jmhVersion":"1.37","benchmark":"a.B.sort","mode":"thrpt","threads":4,"forks":2,
    "vmName":"OpenJDK","vmVersion":"21","params":{"n":"100"},
    "primaryMetric":{"score":15.0,"scoreUnit":"ops/ms","rawData":[[10.0,20.0],[15.0]]},
    "secondaryMetrics":{"gc.count":{"score":2,"scoreUnit":"counts","rawData":[[2.0]]}}},
    {"jmhVersion":"1.37","benchmark":"a.B.sort","mode":"avgt","primaryMetric":{"score":2.5,"scoreUnit":"us/op"}}])");
  EXPECT_EQ(format_of(session), "jmh");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_THAT(metric_of(session.runs[0], "item_rate").samples, ElementsAre(10e3, 20e3, 15e3));
  EXPECT_THAT(metric_of(session.runs[0], "item_rate").round_sizes, ElementsAre(2, 1));
  EXPECT_EQ(metric_of(session.runs[0], "item_rate").better, Better::higher);
  EXPECT_EQ(session.runs[0].params.integer("n"), 100);
  EXPECT_THAT(metric_of(session.runs[0], "gc.count").samples, ElementsAre(2));
  EXPECT_DOUBLE_EQ(metric_of(session.runs[1], "time").samples.at(0), 2.5e-6);
}

TEST(GoBench, takes_repeated_lines_for_rounds) {
  const Session session = read_one(
      "goos: linux\ngoarch: amd64\npkg: example.com/x\ncpu: Intel(R) Xeon(R)\n"
      "BenchmarkSort-8   \t    1000\t      1250 ns/op\t  12.50 MB/s\t     64 B/op\t       3 allocs/op\n"
      "BenchmarkSort-8   \t    1000\t      1350 ns/op\t  12.50 MB/s\t     64 B/op\t       3 allocs/op\n"
      "BenchmarkSort/big-8 \t 10 \t 99 ns/op \t 7.5 rows/s\n--- FAIL: BenchmarkBad\nPASS\n");
  EXPECT_EQ(format_of(session), "go-bench");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].workload, "BenchmarkSort");
  EXPECT_EQ(session.runs[0].params.integer("procs"), 8);
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, ElementsAre(1250e-9, 1350e-9));
  EXPECT_THAT(metric_of(session.runs[0], "time").round_sizes, ElementsAre(1, 1));
  EXPECT_EQ(metric_of(session.runs[0], "allocations").better, Better::lower);
  EXPECT_EQ(metric_of(session.runs[0], "allocated").unit, "B");
  EXPECT_DOUBLE_EQ(metric_of(session.runs[0], "bandwidth").samples.at(0), 12.5e6);
  EXPECT_DOUBLE_EQ(metric_of(session.runs[1], "item_rate").samples.at(0), 7.5);
  EXPECT_EQ(session.machine.cpu, "Intel(R) Xeon(R)");
  EXPECT_THAT(session.remarks, Contains(HasSubstr("1 benchmarks failed")));
}

TEST(Conbench, keeps_data_times_and_tags) {
  const Session session = read_one(R"([{"run_id":"r","timestamp":"2026-03-01T12:00:00Z",
    "github":{"commit":"abc","repository":"o/r"},"machine_info":{"name":"box"},
    "tags":{"name":"file-read","format":"parquet"},
    "stats":{"data":[100.0,110.0],"unit":"B/s","times":[1.0,0.9],"time_unit":"s","iterations":2}},
    {"tags":{"name":"broken"},"stats":null,"error":{"stack":"oh"}}])");
  EXPECT_EQ(format_of(session), "conbench");
  EXPECT_EQ(session.commit, "abc");
  ASSERT_THAT(session.runs, SizeIs(2));
  EXPECT_EQ(session.runs[0].params.text("format"), "parquet");
  EXPECT_THAT(metric_of(session.runs[0], "bandwidth").samples, ElementsAre(100, 110));
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, ElementsAre(1.0, 0.9));
  EXPECT_EQ(session.runs[1].outcome, Outcome::error);
}

TEST(Iperf3, reads_intervals_and_totals_in_bytes) {
  const Session session = read_one(R"({"start":{"version":"iperf 3.12","system_info":"Linux box",
    "timestamp":{"timesecs":1772366400},"connecting_to":{"host":"srv"},
    "test_start":{"protocol":"TCP","num_streams":4,"reverse":0,"blksize":131072}},
    "intervals":[{"streams":[],"sum":{"bits_per_second":8e9,"omitted":true}},
                 {"streams":[],"sum":{"bits_per_second":1.6e10,"omitted":false}}],
    "end":{"sum_sent":{"bits_per_second":1.6e10,"retransmits":7},"sum_received":{"bits_per_second":1.52e10},
           "cpu_utilization_percent":{"host_total":25.0,"remote_total":50.0}}})");
  EXPECT_EQ(format_of(session), "iperf3");
  EXPECT_EQ(session.started, "2026-03-01T12:00:00Z");
  const auto& run = session.runs.at(0);
  EXPECT_EQ(run.params.integer("streams"), 4);
  EXPECT_THAT(metric_of(run, "bandwidth").samples, ElementsAre(2e9));
  EXPECT_THAT(metric_of(run, "received_bandwidth").samples, ElementsAre(1.9e9));
  EXPECT_THAT(metric_of(run, "retransmits").samples, ElementsAre(7));
  EXPECT_THAT(metric_of(run, "remote_cpu").samples, ElementsAre(0.5));
  const Session failed = read_one(R"({"start":{"version":"iperf 3.12"},"intervals":[],"end":{},
                                      "error":"unable to connect to server"})");
  EXPECT_EQ(failed.runs.at(0).outcome, Outcome::error);
}

TEST(Nvbandwidth, reads_its_text_and_its_json_alike) {
  const Session text = read_one(
      "nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\nCUDA Runtime Version: 12080\nDriver Version: "
      "570.86.15\n\nDevice 0: NVIDIA H200 (00000000:1b:00)\nDevice 1: NVIDIA H200 (00000000:3c:00)\n\n"
      "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
      "           0         1\n 0     55.63     55.64\n\nSUM host_to_device_memcpy_ce 111.27\n\n"
      "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
      "           0         1\n 0       N/A    276.07\n 1    276.36       N/A\n\n"
      "Running multinode_x.\nWaived: not enough nodes\n");
  EXPECT_EQ(format_of(text), "nvbandwidth");
  ASSERT_THAT(text.runs, SizeIs(5));
  EXPECT_EQ(text.runs[3].workload, "device_to_device_memcpy_read_ce");
  EXPECT_EQ(text.runs[3].params.integer("row"), 1);
  EXPECT_EQ(text.runs[3].params.integer("column"), 0);
  EXPECT_DOUBLE_EQ(metric_of(text.runs[3], "bandwidth").samples.at(0), 276.36e9);
  EXPECT_EQ(text.runs[4].outcome, Outcome::skipped);
  EXPECT_THAT(text.machine.devices, SizeIs(2));
  const Session json = read_one(R"json({"nvbandwidth":{"version":"v0.8","Driver Version":"570.86.15","testcases":[
    {"name":"host_to_device_memcpy_ce","status":"Passed","bandwidth_description":
     "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)","bandwidth_matrix":[["55.63","55.64"]],"sum":111.27},
    {"name":"device_latency_sm","status":"Passed","bandwidth_description":"Device latency SM (ns)",
     "bandwidth_matrix":[["N/A","772.58"]]},
    {"name":"bad","status":"Error","error":"no memory"}]}})json");
  ASSERT_THAT(json.runs, SizeIs(4));
  EXPECT_DOUBLE_EQ(metric_of(json.runs[1], "bandwidth").samples.at(0), 55.64e9);
  EXPECT_DOUBLE_EQ(metric_of(json.runs[2], "time").samples.at(0), 772.58e-9);
  EXPECT_EQ(metric_of(json.runs[2], "time").better, Better::lower);
  EXPECT_EQ(json.runs[3].outcome, Outcome::error);
}

TEST(Osu, reads_titles_columns_and_repeated_tables) {
  const std::string table =
      "# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_CHAR.\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
      "1                       1.50              1.20              1.90        1000\n"
      "1048576               210.75            200.00            220.00         100\n\n";
  const Session session =
      read_one(table + table + "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n4  12.50\n");
  EXPECT_EQ(format_of(session), "osu");
  EXPECT_EQ(session.build.version, "OSU micro-benchmarks 7.4");
  ASSERT_THAT(session.runs, SizeIs(3));
  EXPECT_EQ(session.runs[0].workload, "MPI Allreduce Latency Test");
  EXPECT_EQ(session.runs[1].params.integer("bytes"), 1048576);
  EXPECT_THAT(session.runs[1].metrics.at(0).samples, SizeIs(2));
  EXPECT_EQ(session.runs[1].metrics[0].unit, "s");
  EXPECT_DOUBLE_EQ(session.runs[1].metrics[0].samples[0], 210.75e-6);
  EXPECT_DOUBLE_EQ(session.runs[2].metrics.at(0).samples.at(0), 12.5e6);
  EXPECT_EQ(session.runs[2].metrics[0].better, Better::higher);
}

TEST(Osu, reads_rates_whose_columns_are_named_by_their_units) {
  const Session session = read_one(
      "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 4 ] [ window size: 64 ]\n"
      "# Size                  MB/s        Messages/s\n1 10.50 10500000.00\n");
  const auto& metrics = session.runs.at(0).metrics;
  ASSERT_THAT(metrics, SizeIs(2));
  EXPECT_EQ(metrics[0].id, "bandwidth");
  EXPECT_EQ(metrics[0].unit, "B/s");
  EXPECT_EQ(metrics[0].better, Better::higher);
  EXPECT_DOUBLE_EQ(metrics[0].samples[0], 10.5e6);
  EXPECT_EQ(metrics[1].id, "messages");
  EXPECT_EQ(metrics[1].unit, "1/s");
  EXPECT_EQ(metrics[1].better, Better::higher);
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
  EXPECT_THAT(sessions->at(1).remarks, Contains(HasSubstr("return_code")));
}

TEST(ServingResults, reads_vllm_and_aiperf) {
  const Session vllm = read_one(R"({"date":"20260301-120000","backend":"vllm","model_id":"m","num_prompts":100,
    "request_rate":"inf","duration":12.5,"completed":100,"request_throughput":8.0,"output_throughput":800.5,
    "mean_ttft_ms":25.5,"p99_tpot_ms":11.0,"ttfts":[0.02,0.03],"errors":["",""]})");
  EXPECT_EQ(format_of(vllm), "serving-results");
  EXPECT_EQ(vllm.started, "2026-03-01T12:00:00Z");
  const auto& run = vllm.runs.at(0);
  EXPECT_EQ(run.workload, "serving");
  EXPECT_EQ(run.params.integer("num_prompts"), 100);
  EXPECT_EQ(metric_of(run, "request_throughput").better, Better::higher);
  EXPECT_DOUBLE_EQ(metric_of(run, "mean_ttft").samples.at(0), 0.0255);
  EXPECT_EQ(metric_of(run, "p99_tpot").better, Better::lower);
  EXPECT_THAT(metric_of(run, "ttft").samples, ElementsAre(0.02, 0.03));
  const Session aiperf = read_one(R"({"request_latency":{"unit":"ms","avg":250.0,"p99":400.0,"std":5.0,"count":10},
    "request_throughput":{"unit":"requests/sec","avg":4.0},"output_sequence_length":{"unit":"tokens","avg":128.0},
    "input_config":{"endpoint":{"model_names":["m"]}}})");
  const auto& other = aiperf.runs.at(0);
  EXPECT_DOUBLE_EQ(metric_of(other, "request_latency").samples.at(0), 0.25);
  EXPECT_DOUBLE_EQ(metric_of(other, "request_latency_p99").samples.at(0), 0.4);
  EXPECT_EQ(metric_of(other, "request_throughput").unit, "1/s");
  EXPECT_EQ(metric_of(other, "output_sequence_length").better, Better::neither);
}

TEST(NvbenchCsv, takes_columns_before_skipped_for_axes) {
  const Session session = read_one(
      "Benchmark,Device,Device Name,T,Elements,Skipped,Samples,CPU Time (sec),Noise (%),GPU Time (sec),Noise (%),"
      "GlobalMem BW (bytes/sec),Batch GPU (sec)\n"
      "copy,0,NVIDIA H200,F32,1048576,No,2096,2.5e-05,3.5,1.25e-05,0.5,6.2e+11,1.1e-05\n"
      "copy,0,NVIDIA H200,F64,1048576,Yes,,,,,,,\n\n"
      "Benchmark,Device,Device Name,Skipped,Samples,GPU Time (sec)\nempty,0,NVIDIA H200,No,10,1e-06\n");
  EXPECT_EQ(format_of(session), "nvbench-csv");
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

TEST(Csv, leaves_out_and_counts_rows_that_are_not_numbers) {
  const Session session = read_one("name,value,unit\na,1,s\na,NaN,s\nb,-inf,s\na,2,s\n");
  ASSERT_THAT(session.runs, SizeIs(1));
  EXPECT_THAT(metric_of(session.runs[0], "time").samples, ElementsAre(1, 2));
  EXPECT_THAT(session.remarks, Contains(HasSubstr("2 rows whose value is not a number")));
}

TEST(ServingResults, keep_model_load_and_failed_requests_of_aiperf_and_genai_perf) {
  const std::string latency = R"("request_latency":{"unit":"ms","avg":12.5},)";
  const Session aiperf = read_one("{" + latency + R"("error_request_count":{"unit":"requests","avg":3},
    "input_config":{"endpoint":{"model_names":["m1"]},"loadgen":{"concurrency":8}},"was_cancelled":false})");
  EXPECT_THAT(aiperf.build.version, StartsWith("AIPerf"));
  EXPECT_EQ(aiperf.runs.at(0).params.text("model"), "m1");
  EXPECT_EQ(aiperf.runs[0].params.integer("concurrency"), 8);
  EXPECT_EQ(aiperf.runs[0].outcome, Outcome::unreliable);
  EXPECT_EQ(aiperf.runs[0].reason, "3 requests failed");
  const Session cancelled = read_one("{" + latency + R"("was_cancelled":true})");
  EXPECT_EQ(cancelled.runs.at(0).outcome, Outcome::unreliable);
  const Session genai = read_one("{" + latency + R"("input_config":{"model":["m2"],
    "perf_analyzer":{"stimulus":{"concurrency":4}}}})");
  EXPECT_THAT(genai.build.version, StartsWith("GenAI-Perf"));
  EXPECT_EQ(genai.runs.at(0).params.text("model"), "m2");
  EXPECT_EQ(genai.runs[0].params.integer("concurrency"), 4);
  EXPECT_EQ(genai.runs[0].outcome, Outcome::passed);
}

}  // namespace
}  // namespace warpmark::exchange
