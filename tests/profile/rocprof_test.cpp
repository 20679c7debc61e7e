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

}  // namespace
}  // namespace warpmark::profile
