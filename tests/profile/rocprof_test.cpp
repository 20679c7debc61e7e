// JSON of rocprofv3, and execution traces, which have no times of the GPU.
#include <gmock/gmock.h>

#include "profile/trace_text.h"

namespace warpmark::profile {
namespace {

using test::read_text;
using test::timeline_of;
using testing::HasSubstr;

std::string recording(const std::string& records) {
  return R"json({"rocprofiler-sdk-tool": [{
    "metadata": {"node": {"hostname": "node7"}, "pid": 4242},
    "agents": [{"id": {"handle": 11}, "type": 1, "name": "CPU"},
               {"id": {"handle": 22}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X",
                "cu_count": 304, "max_waves_per_cu": 32, "wave_front_size": 64, "mem_banks": [{"width": 8192}]},
               {"id": {"handle": 33}, "type": 2, "name": "gfx942"}],
    "strings": {"buffer_records": [{"kind": "NONE", "operations": []},
                                   {"kind": "HIP_RUNTIME_API", "operations": ["hipMalloc", "hipLaunchKernel"]},
                                   {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE",
                                                                         "MEMORY_COPY_HOST_TO_DEVICE"]},
                                   {"kind": "MARKER_CORE_API", "operations": ["roctxRangePushA"]}],
                "marker_api": [{"key": 9, "value": "step 1"}]},
    "kernel_symbols": [{"kernel_id": 5, "kernel_name": "_Z3addPf.kd", "formatted_kernel_name": "add(float*)"}],
    "buffer_records": {)json" +
         records + "}}]}";
}

constexpr const char* kRecords = R"(
  "kernel_dispatch": [{"thread_id": 7, "correlation_id": {"internal": 3, "external": 0}, "start_timestamp": 2000,
    "end_timestamp": 5000, "dispatch_info": {"agent_id": {"handle": 33}, "queue_id": {"handle": 16}, "kernel_id": 5,
    "group_segment_size": 512, "workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 1000, "y": 1, "z": 1}},
    "stream_id": {"handle": 0}}],
  "hip_api": [{"kind": 1, "operation": 1, "thread_id": 7, "correlation_id": {"internal": 3}, "start_timestamp": 1000,
    "end_timestamp": 1500}],
  "memory_copy": [{"kind": 2, "operation": 1, "correlation_id": {"internal": 4}, "start_timestamp": 6000,
    "end_timestamp": 9000, "dst_agent_id": {"handle": 22}, "src_agent_id": {"handle": 11}, "bytes": 4096,
    "stream_id": {"handle": 2}}],
  "marker_api": [{"kind": 3, "operation": 0, "thread_id": 7, "correlation_id": {"internal": 9},
    "start_timestamp": 500, "end_timestamp": 9500}])";

TEST(RocprofJson, has_kernels_calls_copies_and_ranges) {
  const Timeline timeline = timeline_of(recording(kRecords));
  EXPECT_EQ(timeline.host, "node7");
  ASSERT_EQ(timeline.gpus.size(), 2U);
  EXPECT_EQ(timeline.gpus[0].name, "AMD Instinct MI300X");
  EXPECT_EQ(timeline.gpus[0].sm_count, 304);
  EXPECT_EQ(timeline.gpus[0].max_threads_per_sm, 2048);
  ASSERT_EQ(timeline.events.size(), 4U);
  EXPECT_EQ(timeline.name_of(0), "step 1");
  EXPECT_EQ(timeline.events.kind[0], EventKind::annotation);
  EXPECT_EQ(timeline.name_of(1), "hipLaunchKernel");
  EXPECT_EQ(timeline.events.kind[1], EventKind::runtime_api);
  EXPECT_EQ(timeline.name_of(2), "add(float*)");
  EXPECT_EQ(timeline.events.duration[2], 3000);
  EXPECT_EQ(timeline.events.correlation[2], timeline.events.correlation[1]);
  EXPECT_EQ(timeline.tracks[timeline.events.track[2]].device, 1);
  const LaunchShape& shape = timeline.launch_shapes[timeline.events.detail[2]];
  EXPECT_EQ(shape.grid[0], 4U) << "1000 work items in groups of 256";
  EXPECT_EQ(shape.shared_bytes, 512U);
  EXPECT_EQ(copy_kind(timeline.events.detail[3]), CopyKind::host_to_device);
  EXPECT_EQ(timeline.events.value[3], 4096);
  EXPECT_EQ(timeline.tracks[timeline.events.track[3]].device, 0);
}

TEST(RocprofJson, that_is_cut_keeps_what_was_read) {
  const std::string whole = recording(kRecords);
  const Timeline timeline = timeline_of(whole.substr(0, whole.find("\"memory_copy\"")));
  EXPECT_EQ(timeline.events.size(), 2U);
  ASSERT_FALSE(timeline.quality.empty());
  EXPECT_EQ(timeline.quality.front().id, "unfinished_file");
}

TEST(RocprofJson, without_records_is_an_error_that_says_what_to_record) {
  const auto session = read_text(recording(R"("kernel_dispatch": [])"));
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.error().hint, HasSubstr("rocprofv3 --sys-trace"));
}

TEST(ExecutionTraces, are_named) {
  for (const char* text : {R"({"schema": "1.0.1", "pid": 5, "nodes": [{"name": "aten::add", "id": 2}]})",
                           R"({"workload_graph": [{"Id": 216, "Name": "aten::add"}]})"}) {
    const auto session = read_text(text);
    ASSERT_FALSE(session.ok());
    EXPECT_THAT(session.error().what, HasSubstr("execution trace"));
    EXPECT_THAT(session.error().hint, HasSubstr("Kineto"));
  }
}

constexpr const char* kFirstRocprof = R"json({ "traceEvents":[{}
,{"args":{"name":"CPU HIP API"},"ph":"M","pid":2,"name":"process_name","sort_index":0}
,{"args":{"name":"COPY"},"ph":"M","pid":1,"name":"process_name","sort_index":1}
,{"args":{"name":"GPU4"},"ph":"M","pid":10,"name":"process_name","sort_index":2}
,{"ph":"X","name":"CopyHostToDevice","pid":"1","tid":"0","ts":"140","dur":"20",
  "args":{"BeginNs":"140500","EndNs":"160700","dev-id":"4","queue-id":"0","Name":"CopyHostToDevice","pid":"77",
  "tid":"77","stream-id":"0","Data":"","DurationNs":"20200"}}
,{"ph":"X","name":"hipMemcpy","pid":"2","tid":"77","ts":"100","dur":"70",
  "args":{"BeginNs":"100000","EndNs":"170000","pid":"77","tid":"77","Name":"hipMemcpy","args":"( kind(1))"}}
,{"ph":"X","name":"hipLaunchKernel","pid":"2","tid":"77","ts":"180","dur":"5",
  "args":{"BeginNs":"180000","EndNs":"185000","pid":"77","tid":"77","Name":"hipLaunchKernel","args":"()"}}
,{"ph":"X","name":"vector_add(float*)","pid":"10","tid":"1","ts":"190","dur":"3",
  "args":{"BeginNs":"190100","EndNs":"193300","dev-id":"4","queue-id":"0","pid":"77","tid":"77","stream-id":"1"}}
,{"ts":130,"ph":"s","cat":"DataFlow","id":0,"pid":2,"tid":77,"name":"dep"}
,{"ts":140,"ph":"t","cat":"DataFlow","id":0,"pid":1,"tid":0,"name":"dep"}
,{"ts":181,"ph":"s","cat":"DataFlow","id":1,"pid":2,"tid":77,"name":"dep"}
,{"ts":190,"ph":"t","cat":"DataFlow","id":1,"pid":10,"tid":1,"name":"dep"}
],"otherData":{"CMD":"rocminfo","Agent1.Name":"CPU","Agent1.DeviceType":"CPU",
"Agent2.MarketingName":"AMDInstinctMI300A","Agent2.Node":"4","Agent2.DeviceType":"GPU",
"Agent2.ComputeUnit":"228","Agent2.MaxWork-itemPerCU":"2048(0x800)"}}
)json";

TEST(RocprofChrome, has_kernels_copies_and_calls) {
  const Timeline timeline = timeline_of(kFirstRocprof);
  EXPECT_EQ(timeline.format, "rocprof_chrome");
  EXPECT_TRUE(timeline.quality.empty());
  const EventColumns& events = timeline.events;
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events.kind[0], EventKind::runtime_api);
  EXPECT_EQ(timeline.tracks[events.track[0]].thread, 77);
  EXPECT_EQ(events.kind[1], EventKind::memcpy);
  EXPECT_EQ(copy_kind(events.detail[1]), CopyKind::host_to_device);
  EXPECT_EQ(events.start[1], 40500);
  EXPECT_EQ(events.duration[1], 20200);
  EXPECT_EQ(timeline.name_of(2), "hipLaunchKernel");
  EXPECT_EQ(timeline.name_of(3), "vector_add(float*)");
  EXPECT_EQ(events.kind[3], EventKind::kernel);
  EXPECT_EQ(timeline.tracks[events.track[3]].device, 4);
  EXPECT_EQ(timeline.tracks[events.track[3]].thread, 1);
  EXPECT_EQ(events.correlation[0], events.correlation[1]);
  EXPECT_EQ(events.correlation[2], events.correlation[3]);
  EXPECT_NE(events.correlation[0], events.correlation[2]);
  ASSERT_EQ(timeline.gpus.size(), 1U);
  EXPECT_EQ(timeline.gpus[0].index, 4);
  EXPECT_EQ(timeline.gpus[0].name, "AMDInstinctMI300A");
  EXPECT_EQ(timeline.gpus[0].max_threads_per_sm, 2048);
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

TEST(RocprofChrome, knows_rows_that_are_counted) {
  const std::string counted = replaced(
      replaced(replaced(kFirstRocprof, "\"CPU HIP", "\"0 CPU HIP"), "\"COPY", "\"1 COPY"), "\"GPU4", "\"2 GPU4");
  const Timeline timeline = timeline_of(counted);
  EXPECT_EQ(timeline.format, "rocprof_chrome");
  EXPECT_EQ(timeline.events.kind[0], EventKind::runtime_api);
  EXPECT_EQ(timeline.events.kind[1], EventKind::memcpy);
  EXPECT_EQ(timeline.tracks[timeline.events.track[3]].device, 4);
}

TEST(RocprofChrome, joins_launches_and_kernels_of_a_stream_in_order_where_no_arrow_does) {
  const std::string without = replaced(kFirstRocprof, "\"cat\":\"DataFlow\",\"id\":", "\"cat\":\"DataFlow\",\"no\":");
  const Timeline timeline = timeline_of(without);
  EXPECT_NE(timeline.events.correlation[2], 0U);
  EXPECT_EQ(timeline.events.correlation[2], timeline.events.correlation[3]);
  const Timeline twice = timeline_of(replaced(without, "\"hipMemcpy\"", "\"hipLaunchKernel\""));
  EXPECT_EQ(twice.events.correlation[3], 0U) << "two launches and one kernel";
}

TEST(RocprofChrome, keeps_what_came_before_a_cut) {
  const std::string text = kFirstRocprof;
  const Timeline timeline = timeline_of(text.substr(0, text.find("vector_add")));
  EXPECT_EQ(timeline.events.size(), 3U);
  ASSERT_EQ(timeline.quality.size(), 1U);
  EXPECT_EQ(timeline.quality[0].id, "unfinished_file");
}

}  // namespace
}  // namespace warpmark::profile
