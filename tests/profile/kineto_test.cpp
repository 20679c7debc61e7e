#include <gmock/gmock.h>

#include "profile/trace_text.h"

namespace warpmark::profile {
namespace {

using test::clock_start;
using test::fact;
using test::op;
using test::timeline_of;
using test::trace_of;

TEST(Kineto, keeps_every_nanosecond) {
  const std::string events =
      op("a", "4361643201600.795", "0.001") + "," + op("b", "4361643201600.796", "604799999999.999");
  const Timeline timeline = timeline_of(trace_of(events, "1790857026000000000"));
  ASSERT_EQ(timeline.events.size(), 2U);
  EXPECT_EQ(clock_start(timeline, 0), 1790857026000000000 + 4361643201600795);
  EXPECT_EQ(timeline.events.duration[0], 1);
  EXPECT_EQ(timeline.events.start[1], 1);
  EXPECT_EQ(timeline.events.duration[1], 604799999999999);
}

TEST(Kineto, reads_absolute_microseconds_of_the_old_schema) {
  const Timeline timeline = timeline_of(
      R"json({"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1617304921230123, "dur": 45,
         "args": {"external id": 12, "device": 1, "stream": 9, "correlation": 3, "grid": [4, 5, 6], "block": [32, 2, 1],
                  "registers per thread": 40, "shared memory": 128, "blocks per SM": 0.5,
                  "est. achieved occupancy %": 31}},
        {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7,
         "ts": 1617304921230200, "dur": 3, "args": {"device": 0, "stream": 7,
         "correlation": 4, "bytes": 4096}}]})json");
  ASSERT_EQ(timeline.events.size(), 2U);
  EXPECT_EQ(timeline.origin_ns, 1617304921230123000);
  EXPECT_EQ(timeline.events.duration[0], 45000);
  EXPECT_EQ(timeline.events.kind[0], EventKind::kernel);
  EXPECT_EQ(timeline.events.link[0], 12U);
  EXPECT_EQ(timeline.events.correlation[0], 3U);
  const Track& track = timeline.tracks[timeline.events.track[0]];
  EXPECT_EQ(track.kind, TrackKind::gpu_stream);
  EXPECT_EQ(track.device, 1);
  EXPECT_EQ(track.thread, 9);
  const LaunchShape& shape = timeline.launch_shapes[timeline.events.detail[0]];
  EXPECT_THAT(shape.grid, testing::ElementsAre(4U, 5U, 6U));
  EXPECT_THAT(shape.block, testing::ElementsAre(32U, 2U, 1U));
  EXPECT_EQ(shape.registers_per_thread, 40U);
  EXPECT_EQ(shape.shared_bytes, 128U);
  EXPECT_FLOAT_EQ(shape.blocks_per_sm, 0.5F);
  EXPECT_FLOAT_EQ(shape.occupancy, 0.31F);
  EXPECT_EQ(timeline.events.value[1], 4096);
  EXPECT_EQ(copy_kind(timeline.events.detail[1]), CopyKind::host_to_device);
  EXPECT_EQ(host_memory(timeline.events.detail[1]), HostMemory::pageable);
}

TEST(Kineto, reads_directions_of_copies_on_gpus_of_intel) {
  const auto detail = [](const std::string& name) {
    const Timeline timeline = timeline_of(
        R"json([{"ph": "X", "cat": "gpu_memcpy", "name": ")json" + name +
        R"json(", "pid": 0, "tid": 7, "ts": 5, "dur": 3, "args": {"device": 0, "stream": 7, "bytes": 4096}}])json");
    return timeline.events.detail[0];
  };
  EXPECT_EQ(copy_kind(detail("Memcpy M2D")), CopyKind::host_to_device);
  EXPECT_EQ(host_memory(detail("Memcpy M2D(Memory -> Device)")), HostMemory::pageable);
  EXPECT_EQ(host_memory(detail("Memcpy H2D")), HostMemory::pinned);
  EXPECT_EQ(copy_kind(detail("Memcpy D2M")), CopyKind::device_to_host);
  EXPECT_EQ(copy_kind(detail("Memcpy D2S")), CopyKind::device_to_device);
  EXPECT_EQ(copy_kind(detail("Memcpy D2D - P2P")), CopyKind::peer_to_peer);
}

TEST(Kineto, reads_a_list_without_anything_around_it) {
  const Timeline timeline = timeline_of("[" + op("a", "5") + ", " + op("b", "6") + "]");
  EXPECT_EQ(timeline.events.size(), 2U);
  EXPECT_EQ(timeline.format, "kineto");
}

TEST(Kineto, reads_facts_before_and_behind_the_events) {
  const Timeline timeline = timeline_of(
      "{\"traceEvents\": [" + op("a", "5") +
      "], \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8}, \"baseTimeNanoseconds\": 1000, "
      "\"deviceProperties\": [{\"id\": 0, \"name\": \"A\", \"totalGlobalMem\": 5, \"computeMajor\": 9, "
      "\"computeMinor\": 1, \"maxThreadsPerMultiprocessor\": 2048, \"numSms\": 132}]}");
  EXPECT_EQ(timeline.rank, 3);
  EXPECT_EQ(timeline.world_size, 8);
  EXPECT_EQ(timeline.origin_ns, 6000);
  EXPECT_EQ(fact(timeline, "backend"), "nccl");
  ASSERT_EQ(timeline.gpus.size(), 1U);
  EXPECT_EQ(timeline.gpus[0], (GpuInfo{0, "A", 5, 132, 9, 1, 2048}));
}

TEST(Kineto, sorts_by_start_and_puts_the_longer_first) {
  const Timeline timeline = timeline_of(trace_of(op("late", "9") + "," + op("inner", "5", "1") + "," +
                                                 op("outer", "5", "3") + "," + op("twin", "5", "3")));
  std::vector<std::string> names;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) names.emplace_back(timeline.name_of(i));
  EXPECT_THAT(names, testing::ElementsAre("outer", "twin", "inner", "late"));
}

TEST(Kineto, names_threads_and_streams) {
  const Timeline timeline =
      timeline_of(trace_of(op("a", "5") +
                           R"json(, {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 6, "dur": 1,
       "args": {"stream": 7, "device": 0}},
      {"name": "thread_name", "ph": "M", "ts": 1, "pid": 1, "tid": 2, "args": {"name": "thread 2 (python)"}},
      {"name": "thread_name", "ph": "M", "ts": 1, "pid": 0, "tid": 7, "args": {"name": "stream 7 "}})json"));
  ASSERT_EQ(timeline.tracks.size(), 2U);
  EXPECT_EQ(timeline.tracks[0], (Track{TrackKind::cpu_thread, 1, 2, -1, "thread 2 (python)"}));
  EXPECT_EQ(timeline.tracks[1], (Track{TrackKind::gpu_stream, 0, 7, 0, "stream 7 "}));
}

TEST(Kineto, keeps_what_collectives_say_with_their_events) {
  const Timeline timeline = timeline_of(trace_of(
      R"({"ph": "X", "cat": "kernel", "name": "nccl", "pid": 0, "tid": 9, "ts": 8, "dur": 1, "args": {"stream": 9,
        "device": 0, "Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 101, "Group size": 2,
        "dtype": "Float", "Process Group Name": "0", "Seq": 17}},)" +
      op("a", "5")));
  ASSERT_EQ(timeline.collectives.size(), 1U);
  const Collective& one = timeline.collectives[0];
  EXPECT_EQ(timeline.name_of(one.event), "nccl");
  EXPECT_EQ(one.event, 1U);
  EXPECT_EQ(timeline.names.at(one.name), "allreduce");
  EXPECT_EQ(timeline.names.at(one.data_type), "Float");
  EXPECT_EQ(one.in_elements, 100);
  EXPECT_EQ(one.out_elements, 101);
  EXPECT_EQ(one.group_size, 2);
  EXPECT_EQ(one.sequence, 17);
}

TEST(Kineto, takes_allocations_as_instants_and_reserved_memory_as_a_counter) {
  const auto memory = [](const char* ts, const char* bytes, const char* allocated, const char* reserved) {
    return std::string(
               R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 2, "ts": )") +
           ts + R"(, "args": {"Total Reserved": )" + reserved + R"(, "Total Allocated": )" + allocated +
           R"(, "Bytes": )" + bytes + R"(, "Device Id": 0, "Device Type": 1}})";
  };
  const Timeline timeline =
      timeline_of(trace_of(memory("1", "512", "512", "2048") + "," + memory("2", "-512", "0", "2048") + "," +
                           memory("3", "64", "64", "4096")));
  ASSERT_EQ(timeline.events.size(), 3U);
  EXPECT_EQ(timeline.events.kind[1], EventKind::allocation);
  EXPECT_EQ(timeline.events.value[1], -512);
  EXPECT_EQ(timeline.events.detail[1], 1U);
  for (const CounterSeries& series : timeline.counters) {
    const std::vector<double> expected =
        series.id == "memory_reserved" ? std::vector<double>{2048, 4096} : std::vector<double>{512};
    EXPECT_EQ(series.values, expected) << series.id;
    EXPECT_EQ(series.unit, "B");
    EXPECT_EQ(series.device, 0);
  }
  EXPECT_EQ(timeline.counters.size(), 2U);
}

TEST(Kineto, reads_sync_records_annotations_and_input_shapes) {
  const Timeline timeline = timeline_of(trace_of(
      R"({"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 1, "dur": 2,
          "args": {"cuda_sync_kind": "Stream Wait Event", "stream": 7, "device": 0, "wait_on_stream": 13}},
         {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 1, "tid": 1, "ts": 2, "dur": 9,
          "args": {}},
         {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#4", "pid": 0, "tid": 7, "ts": 3, "dur": 9,
          "args": {"External id": 1}},
         {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 4, "dur": 1,
          "args": {"Concrete Inputs": ["[1, 2]", "]"], "Input Dims": [[4, 8], [8, 2]], "Ev Idx": 3}})"));
  ASSERT_EQ(timeline.events.size(), 4U);
  EXPECT_EQ(static_cast<SyncKind>(timeline.events.detail[0]), SyncKind::stream_wait_event);
  EXPECT_EQ(timeline.events.value[0], 13);
  EXPECT_EQ(timeline.events.kind[1], EventKind::annotation);
  EXPECT_EQ(timeline.events.kind[2], EventKind::gpu_annotation);
  EXPECT_EQ(timeline.names.at(timeline.events.detail[3]), "[[4, 8], [8, 2]]");
}

TEST(Kineto, joins_rows_that_begin_and_end_events) {
  const Timeline timeline = timeline_of(trace_of(
      R"({"ph": "B", "cat": "user_annotation", "name": "step", "pid": 1, "tid": 2, "ts": 1},
      {"ph": "B", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 3, "args": {"External id": 7}},
      {"ph": "B", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 8, "args": {"device": 0, "stream": 7}},
      {"ph": "E", "pid": 1, "tid": 2, "ts": 5}, {"ph": "E", "pid": 0, "tid": 7, "ts": 18},
      {"ph": "E", "pid": 1, "tid": 2, "ts": 20}, {"ph": "E", "pid": 1, "tid": 2, "ts": 30})"));
  ASSERT_EQ(timeline.events.size(), 3U);
  EXPECT_EQ(timeline.name_of(0), "step");
  EXPECT_EQ(timeline.events.duration[0], 19'000);
  EXPECT_EQ(timeline.name_of(1), "aten::mm");
  EXPECT_EQ(timeline.events.duration[1], 2'000);
  EXPECT_EQ(timeline.events.kind[2], EventKind::kernel);
  EXPECT_EQ(timeline.events.duration[2], 10'000);
  EXPECT_EQ(test::issue_count(timeline, "unmatched_bracket"), 1) << "the last end closes nothing";
}

TEST(Kineto, reads_shapes_that_were_written_over_several_lines) {
  const Timeline timeline = timeline_of(trace_of(
      "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 2, \"ts\": 1, \"dur\": 2,"
      " \"args\": {\"Input Dims\": [\n  [\n    4,\n    8\n  ],\n  [8, 2]\n]}}"));
  ASSERT_EQ(timeline.events.size(), 1U);
  EXPECT_EQ(timeline.names.at(timeline.events.detail[0]), "[[4, 8], [8, 2]]");
  EXPECT_EQ(test::issue_count(timeline, "control_character"), 0);
}

TEST(Kineto, leaves_out_rows_without_a_time) {
  const Timeline timeline = timeline_of(
      trace_of(op("a", "5") + R"(, {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 0, "dur": 0})"));
  EXPECT_EQ(timeline.events.size(), 1U);
  EXPECT_EQ(test::issue_count(timeline, "no_time"), 1);
}

TEST(Kineto, shortens_work_that_overruns_its_successors) {
  std::string rows;
  for (int i = 0; i < 4; ++i) {
    rows += (i > 0 ? "," : "") +
            std::string(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": )") +
            std::to_string(100 + 10 * i) + R"(, "dur": )" + (i == 1 ? "5000" : "10") +
            R"(, "args": {"device": 0, "stream": 7, "correlation": )" + std::to_string(i + 1) + "}}";
  }
  const Timeline timeline = timeline_of(trace_of(rows));
  ASSERT_EQ(timeline.events.size(), 4U);
  EXPECT_EQ(timeline.events.duration[1], 10'000);
  EXPECT_EQ(test::issue_count(timeline, "overrunning_duration"), 1);
}

TEST(Kineto, counts_every_row_once) {
  const Timeline timeline = timeline_of(
      trace_of(op("a", "5") + R"(, {"ph": "s", "id": 1, "cat": "ac2g", "ts": 5, "pid": 1, "tid": 2, "name": "ac2g"},
      {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}},
      {"ph": "b", "name": "b", "ts": 1}, {"ph": "X", "name": "no time"},
      {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 9223372036854775807}, {}, 5])"));
  EXPECT_EQ(fact(timeline, "rows"), "7");
  EXPECT_EQ(timeline.events.size(), 1U);
  EXPECT_EQ(test::issue_count(timeline, "one_ended_flow"), 1);
  EXPECT_EQ(test::issue_count(timeline, "other_phase"), 1);
  EXPECT_EQ(test::issue_count(timeline, "no_time"), 2);
  EXPECT_EQ(test::issue_count(timeline, "profiler_row"), 1);
}

}  // namespace
}  // namespace warpmark::profile
