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

TEST(NcclLog, does_not_pass_a_log_that_is_cut_off) {
  const std::string log = kHead + rank_line(0) + rank_line(1) + kColumns +
                          " 8 2 float sum -1 10.0 1.5 2.25 0 12.0 1.25 2.0 0\n"
                          " 16 4 float sum -1 10.0 1.5 2.25 0 12.0 1.25 2.0 0\n";
  const Session cut = read_one(log);
  ASSERT_THAT(cut.runs, SizeIs(4));
  EXPECT_EQ(cut.runs[0].outcome, Outcome::unreliable);
  EXPECT_THAT(cut.runs[0].reason, HasSubstr("incomplete"));
  EXPECT_THAT(cut.remarks, Contains(AllOf(HasSubstr("2 of 4 sizes have a row"), HasSubstr("footer"))));
  const Session whole = read_one(log + "# Out of bounds values : 0 OK\n");
  EXPECT_EQ(whole.runs.at(0).outcome, Outcome::passed);
  EXPECT_THAT(whole.remarks, Contains(HasSubstr("2 of 4 sizes have a row")));
  const std::string again = log.substr(log.find(" 8 2 float"));
  EXPECT_THAT(read_one(log + again + again).remarks, Contains(HasSubstr("2 of 4 sizes have a row")))
      << "cycles print each size again";
  const Session table = read_one(log.substr(log.find("#  size")));
  EXPECT_EQ(table.runs.at(0).outcome, Outcome::passed) << "a table alone does not say how it ended";
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
  is("cost_usd_per_hour", "", 1, Better::lower, "cost_usd_per_hour");
  is("price", "", 1, Better::lower, "price");
  is("drop_rate", "", 1, Better::lower, "drop_rate");
  is("errors_per_second", "1/s", 1, Better::lower, "errors");
  is("throughput_mb_s", "B/s", 1e6, Better::higher, "throughput");
  is("tokens_per_second_per_gpu", "1/s", 1, Better::higher, "tokens_per_gpu");
}

TEST(Serving, has_units_for_the_keys_of_vllm_that_name_none) {
  const Session session = read_one(R"({"request_throughput":9.5,"duration":10.5,"output_throughput":190.5})");
  EXPECT_EQ(metric_of(session.runs.at(0), "duration").unit, "s");
  EXPECT_EQ(metric_of(session.runs[0], "output_throughput").unit, "1/s");
  EXPECT_EQ(metric_of(session.runs[0], "output_throughput").better, Better::higher);
}

TEST(Names, may_be_or_end_with_a_unit_as_people_write_it) {
  const auto is = [](const char* name, const char* si, double one, Better better, const char* id) {
    const Described what = described(name);
    EXPECT_EQ(what.unit.si, si) << name;
    EXPECT_DOUBLE_EQ(what.unit.to_si(1), one) << name;
    EXPECT_EQ(what.better, better) << name;
    EXPECT_EQ(what.id, id) << name;
  };
  is("MB/s", "B/s", 1e6, Better::higher, "bandwidth");
  is("Mb/s", "B/s", 125e3, Better::higher, "bandwidth");
  is("GB/s", "B/s", 1e9, Better::higher, "bandwidth");
  is("Bandwidth GB/s", "B/s", 1e9, Better::higher, "Bandwidth");
  is("TFLOP/s", "FLOP/s", 1e12, Better::higher, "flop_rate");
  is("TFLOPS", "FLOP/s", 1e12, Better::higher, "flop_rate");
  is("tokens/s", "1/s", 1, Better::higher, "tokens");
  is("Messages/s", "1/s", 1, Better::higher, "messages");
  is("widgets/s", "1/s", 1, Better::higher, "widgets");
  is("Mops/s", "1/s", 1e6, Better::higher, "mops");
  is("ms", "s", 1e-3, Better::lower, "time");
  is("ns/op", "s", 1e-9, Better::lower, "time");
  is("latency/s", "s", 1, Better::lower, "latency");
  is("B/op", "B", 1, Better::lower, "B/op");
  is("s/epoch", "s", 1, Better::lower, "time");
  is("FPS", "1/s", 1, Better::higher, "fps");
  is("Mpps", "1/s", 1e6, Better::higher, "mpps");
  is("Elem/s (elem/sec)", "1/s", 1, Better::higher, "Elem/s");
  is("samples/s/GPU", "1/s", 1, Better::higher, "samples_per_gpu");
  is("drops/s", "1/s", 1, Better::lower, "drops");
  is("allocs/op", "", 1, Better::lower, "allocs/op");
  is("min", "", 1, Better::neither, "min");
  is("h", "", 1, Better::neither, "h");
  is("/", "", 1, Better::neither, "/");
  is("flops", "", 1, Better::higher, "flops");
  std::string many = "x/s";
  for (int i = 0; i < 200'000; ++i) many += "/gpu";
  EXPECT_EQ(described(many).unit.si, "") << "and it ends";
}

}  // namespace
}  // namespace warpmark::exchange
