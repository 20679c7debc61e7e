// Chrome traces of XLA's profiler, which JAX and TensorFlow use. The recorded one is of eight training steps of an MLP,
// without the shortest Python functions.
#include <gmock/gmock.h>

#include <filesystem>

#include "profile/trace_text.h"
#include "support/fake_tree.h"

namespace warpmark::profile {
namespace {

using test::issue_count;
using test::timeline_of;

/// A GPU with index 1 and the rows of a host, as the profiler writes them: it ends its lists with an empty object.
std::string xla_trace(const std::string& events) {
  return R"json({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[
    {"ph":"M","pid":2,"name":"process_name","args":{"name":"/device:GPU:1"}},
    {"ph":"M","pid":2,"name":"process_sort_index","args":{"sort_index":2}},
    {"ph":"M","pid":2,"tid":14,"name":"thread_name","args":{"name":"Stream #14(Compute,MemcpyD2D)"
}
},
    {"ph":"M","pid":2,"tid":90,"name":"thread_name","args":{"name":"Steps"}},
    {"ph":"M","pid":2,"tid":91,"name":"thread_name","args":{"name":"XLA Ops"}},
    {"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
    {"ph":"M","pid":701,"tid":7,"name":"thread_name","args":{"name":"python3"}},)json" +
         events + ",{}]}";
}

std::string event(int process, int thread, const std::string& name, const std::string& args,
                  const std::string& ts = "5.5") {
  return R"({"ph":"X","pid":)" + std::to_string(process) + R"(,"tid":)" + std::to_string(thread) + R"(,"ts":)" + ts +
         R"(,"dur":2.25,"name":")" + name + R"(","args":{)" + args + "}}";
}
std::string on_stream(const std::string& name, const std::string& args) { return event(2, 14, name, args); }
std::string on_host(const std::string& name, const std::string& args) { return event(701, 7, name, args); }

Timeline one(const std::string& text) {
  Timeline timeline = timeline_of(xla_trace(text));
  EXPECT_EQ(timeline.format, "xla_trace");
  EXPECT_EQ(timeline.events.size(), 1U) << text;
  return timeline;
}

Timeline recorded(const ReadOptions& options = {}) {
  const std::filesystem::path path = WARPMARK_SOURCE_DIR "/tests/data/xla/mlp_train.trace.json.gz";
  auto session = read_session(std::span(&path, 1), options);
  EXPECT_TRUE(session.ok());
  return session.ok() ? std::move(session->ranks.at(0)) : Timeline();
}

std::int64_t count(const Timeline& timeline, EventKind kind) {
  std::int64_t found = 0;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) found += timeline.events.kind[i] == kind;
  return found;
}

TEST(XlaTrace, has_kernels_with_their_shape_stream_and_call) {
  const Timeline timeline = one(on_stream(
      "loop_add_fusion",
      R"("context_id":"$$1","correlation_id":"5","cuda_graph_id":"24","hlo_op":"command_buffer_1","kernel_details":)"
      R"("regs:16 static_shared:32 dynamic_shared:100 grid:4096,2,1 block:128,1,3 occ_pct:18.75")"));
  EXPECT_EQ(timeline.events.kind[0], EventKind::kernel);
  EXPECT_EQ(timeline.name_of(0), "loop_add_fusion");
  EXPECT_EQ(timeline.events.correlation[0], 5U);
  EXPECT_EQ(timeline.events.duration[0], 2250);
  EXPECT_EQ(timeline.tracks[timeline.events.track[0]],
            (Track{TrackKind::gpu_stream, 0, 14, 1, "Stream #14(Compute,MemcpyD2D)"}));
  const LaunchShape& shape = timeline.launch_shapes[timeline.events.detail[0]];
  EXPECT_THAT(shape.grid, testing::ElementsAre(4096U, 2U, 1U));
  EXPECT_THAT(shape.block, testing::ElementsAre(128U, 1U, 3U));
  EXPECT_EQ(shape.registers_per_thread, 16U);
  EXPECT_EQ(shape.shared_bytes, 132U);
  EXPECT_EQ(shape.graph_id, 24U);
  EXPECT_FLOAT_EQ(shape.occupancy, 0.1875F);
  EXPECT_TRUE(timeline.quality.empty());
}

TEST(XlaTrace, has_copies_with_bytes_direction_and_memory) {
  const auto detail = [](const std::string& name, const std::string& kinds) {
    const Timeline timeline = one(on_stream(name, R"("memcpy_details":")" + kinds + R"( size:4096 dest:0 async:1")"));
    EXPECT_EQ(timeline.events.kind[0], EventKind::memcpy);
    EXPECT_EQ(timeline.events.value[0], 4096);
    return timeline.events.detail[0];
  };
  EXPECT_EQ(detail("MemcpyH2D", "kind_src:pinned kind_dst:device"),
            copy_detail(CopyKind::host_to_device, HostMemory::pinned));
  EXPECT_EQ(detail("MemcpyD2H", "kind_src:device kind_dst:pageable"),
            copy_detail(CopyKind::device_to_host, HostMemory::pageable));
  EXPECT_EQ(detail("MemcpyD2D", "kind_src:device kind_dst:device"),
            copy_detail(CopyKind::device_to_device, HostMemory::unknown));
  EXPECT_EQ(detail("MemcpyP2P", "kind_src:device kind_dst:device"),
            copy_detail(CopyKind::peer_to_peer, HostMemory::unknown));
  EXPECT_EQ(detail("MemcpyOther", "kind_src:pageable kind_dst:device"),
            copy_detail(CopyKind::host_to_device, HostMemory::pageable));
}

TEST(XlaTrace, tells_what_else_stands_in_the_row_of_a_stream) {
  const Timeline set = one(on_stream("Memset 0", R"("Memset_details":"kind:unknown num_bytes:4 async:1")"));
  EXPECT_EQ(set.events.kind[0], EventKind::memset);
  EXPECT_EQ(set.events.value[0], 4);
  const Timeline freed = one(on_stream("MemoryFree", R"("MemFree_details":"kind:device num_bytes:512")"));
  EXPECT_EQ(freed.events.kind[0], EventKind::allocation);
  EXPECT_EQ(freed.events.value[0], -512);
  EXPECT_EQ(one(on_stream("CudaGraphExec:24", R"("correlation_id":"8")")).events.kind[0], EventKind::graph);
  const Timeline wait = one(on_stream("cuStreamSynchronize", R"("correlation_id":"8")"));
  EXPECT_EQ(wait.events.kind[0], EventKind::sync_record);
  EXPECT_EQ(wait.events.detail[0], static_cast<std::uint32_t>(SyncKind::stream));
  EXPECT_EQ(one(on_stream("an_old_kernel", "")).events.kind[0], EventKind::kernel);
}

TEST(XlaTrace, counts_the_rows_that_sum_up_the_streams_as_no_work) {
  const Timeline timeline = timeline_of(
      xla_trace(event(2, 90, "3", "") + "," +
                event(2, 91, "fusion.1", R"("correlation_id":"5","hlo_op":"fusion.1","kernel_details":"regs:16")") +
                "," + event(2, 92, "a row without a name", R"("group_id":"5")") + "," +
                event(2, 93, "loop_add_fusion", R"("kernel_details":"regs:16")")));
  ASSERT_EQ(timeline.events.size(), 4U);
  EXPECT_EQ(count(timeline, EventKind::gpu_annotation), 3);
  EXPECT_EQ(count(timeline, EventKind::kernel), 1);
  EXPECT_EQ(timeline.name_of(0), "step 3");
  EXPECT_EQ(timeline.events.correlation[1], 0U);
}

TEST(XlaTrace, names_the_calls_that_are_named_after_their_work) {
  const auto call = [](const std::string& name, const std::string& more) {
    const Timeline timeline = one(on_host(name, R"("correlation_id":"12","device_id":"0")" + more));
    EXPECT_EQ(timeline.events.kind[0], EventKind::driver_api);
    EXPECT_EQ(timeline.events.correlation[0], 12U);
    return std::string(timeline.name_of(0));
  };
  EXPECT_EQ(call("loop_add_fusion", ""), "cuLaunchKernel");
  EXPECT_EQ(call("cuGraphLaunch (CudaGraph:24)", R"(,"cuda_graph_id":"24")"), "cuGraphLaunch");
  EXPECT_EQ(call("MemcpyH2D", R"(,"memcpy_details":"kind_src:unknown kind_dst:unknown size:4 dest:0 async:1")"),
            "cuMemcpyHtoDAsync");
  EXPECT_EQ(call("MemcpyD2H", R"(,"memcpy_details":"kind_src:unknown kind_dst:unknown size:4 dest:0 async:0")"),
            "cuMemcpyDtoH");
  EXPECT_EQ(call("Memset", R"(,"Memset_details":"kind:unknown num_bytes:4 async:1")"), "cuMemsetAsync");
  EXPECT_EQ(one(on_host("cuLaunchHostFunc", "")).events.kind[0], EventKind::driver_api);
  EXPECT_EQ(one(on_host("cudaDeviceSynchronize", "")).events.kind[0], EventKind::runtime_api);
}

TEST(XlaTrace, tells_python_the_framework_and_the_user_apart) {
  const auto expect = [](const std::string& name, const std::string& args, EventKind kind, std::string_view read_as) {
    const Timeline timeline = one(on_host(name, args));
    EXPECT_EQ(timeline.events.kind[0], kind) << name;
    EXPECT_EQ(timeline.name_of(0), read_as);
    EXPECT_EQ(timeline.tracks[timeline.events.track[0]], (Track{TrackKind::cpu_thread, 701, 7, -1, "python3"}));
  };
  expect("$train.py:21 \\\"run\\\"", "", EventKind::python, "train.py:21 \"run\"");
  expect("PjitFunction(step)", "", EventKind::op, "PjitFunction(step)");
  expect("H2D Dispatch", R"("_src":"external/xla/common_pjrt_client.cc")", EventKind::op, "H2D Dispatch");
  expect("train", R"("step_num":"12")", EventKind::annotation, "train 12");
  expect("my range", R"("value":"3","stream":"9","note":"a \"correlation_id\":\"5\" {")", EventKind::annotation,
         "my range");
  expect("BUFFER_FLUSH", "", EventKind::overhead, "BUFFER_FLUSH");
}

TEST(XlaTrace, keeps_every_nanosecond) {
  const Timeline timeline = timeline_of(
      xla_trace(event(701, 7, "a", "", "85638.914999999994") + "," + event(701, 7, "b", "", "1785638915.0010002")));
  ASSERT_EQ(timeline.events.size(), 2U);
  EXPECT_EQ(test::clock_start(timeline, 0), 85638915);
  EXPECT_EQ(test::clock_start(timeline, 1), 1785638915001);
}

TEST(XlaTrace, counts_details_that_are_no_numbers) {
  for (const std::string details :
       {"regs:many grid:1,1,1", "grid:1,1", "grid:1,-4,1", "regs:16 occ_pct:nan", "occ_pct:1e9"}) {
    const Timeline timeline = one(on_stream("k", R"("kernel_details":")" + details + "\""));
    EXPECT_EQ(timeline.events.kind[0], EventKind::kernel);
    EXPECT_EQ(issue_count(timeline, "odd_argument"), 1) << details;
  }
  EXPECT_EQ(issue_count(one(on_stream("MemcpyH2D", R"("memcpy_details":"size:-1")")), "odd_argument"), 1);
  EXPECT_EQ(issue_count(one(on_host("k", R"("correlation_id":"five")")), "odd_argument"), 1);
}

TEST(XlaTrace, finds_the_names_of_rows_wherever_they_end) {
  std::string names;
  for (int i = 100; i < 3000; ++i) {
    names += R"({"ph":"M","pid":701,"tid":)" + std::to_string(i) +
             R"(,"name":"thread_name","args":{"name":"a thread of a pool"}},)";
  }
  const std::string late = R"json({"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:GPU:5"}},
    {"ph":"M","pid":3,"tid":8,"name":"thread_name","args":{"name":"Stream #8(Compute)"}},)json";
  const Timeline timeline = one(names + late + event(3, 8, "k", ""));
  EXPECT_EQ(timeline.events.kind[0], EventKind::kernel);
  EXPECT_EQ(timeline.tracks[timeline.events.track[0]].device, 5);
}

TEST(XlaTrace, is_told_from_other_traces) {
  const std::string kineto =
      test::trace_of(R"({"ph":"M","pid":1,"tid":0,"ts":1,"name":"process_name","args":{"name":"python"}},)" +
                     test::op("/host:CPU", "5"));
  EXPECT_EQ(timeline_of(kineto).format, "kineto");
  const std::string spaced =
      R"({"displayTimeUnit": "ns", "traceEvents": [{"ph": "M", "pid": 701, "name": "process_name", "args": {"name": )"
      R"("host-3 /host:CPU"}}, {"ph": "X", "pid": 701, "tid": 1, "ts": 1, "name": "$a.py:1 f"}, {}]})";
  EXPECT_EQ(timeline_of(spaced).format, "xla_trace");
}

TEST(XlaTrace, recorded_one_is_read_without_loss) {
  const Timeline timeline = recorded();
  EXPECT_EQ(timeline.format, "xla_trace");
  EXPECT_TRUE(timeline.quality.empty());
  EXPECT_EQ(count(timeline, EventKind::kernel), 280);
  EXPECT_EQ(count(timeline, EventKind::memset), 64);
  EXPECT_EQ(count(timeline, EventKind::memcpy), 40);
  EXPECT_EQ(count(timeline, EventKind::overhead), 8);
  EXPECT_EQ(count(timeline, EventKind::driver_api), 149);
  EXPECT_EQ(count(timeline, EventKind::python), 175);
  EXPECT_EQ(count(timeline, EventKind::other), 0);
  EXPECT_EQ(timeline.events.size(), 1892U);
}

TEST(XlaTrace, is_the_same_in_pieces) {
  const Timeline whole = recorded();
  for (const std::size_t bytes : {300U, 4096U, 65536U}) {
    const Timeline pieces = recorded({.threads = 3, .block_bytes = bytes});
    ASSERT_EQ(pieces.events.size(), whole.events.size()) << bytes;
    for (EventIndex i = 0; i < whole.events.size(); ++i) {
      ASSERT_EQ(pieces.name_of(i), whole.name_of(i));
      ASSERT_EQ(pieces.events.kind[i], whole.events.kind[i]);
      ASSERT_EQ(pieces.events.start[i], whole.events.start[i]);
      ASSERT_EQ(pieces.events.correlation[i], whole.events.correlation[i]);
    }
  }
}

TEST(XlaTrace, in_a_folder_is_read_once) {
  warpmark::test::FakeTree tree;
  const std::string text = xla_trace(on_stream("k", ""));
  tree.file("vm.trace.json.gz", text).file("perfetto_trace.json.gz", text);
  const auto session = read_session(std::span(&tree.root(), 1));
  ASSERT_TRUE(session.ok());
  ASSERT_EQ(session->ranks.size(), 1U);
  EXPECT_THAT(session->ranks[0].source, testing::EndsWith("vm.trace.json.gz"));
  ASSERT_EQ(session->quality.size(), 1U);
  EXPECT_EQ(session->quality[0].id, "copy_left_out");
}

/// As tensorflow/python/client/timeline.py writes a step of a GPU.
std::string run_metadata(const std::vector<std::string>& devices) {
  std::string text =
      R"({"traceEvents": [{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "Allocators"}})";
  std::string events;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string pid = std::to_string(i + 1);
    text += R"(, {"name": "process_name", "ph": "M", "pid": )" + pid +
            R"(, "args": {"name": "/job:localhost/replica:0/task:0)" + devices[i] + R"( Compute"}})";
    const char* op = devices[i].ends_with("memcpy") ? "MEMCPYHtoD" : "Conv2D";
    events += R"(, {"ph": "X", "cat": "Op", "name": ")" + std::string(op) + R"(", "pid": )" + pid +
              R"(, "tid": 0, "ts": 5, "dur": 2, "args": {"name": "conv1/Conv2D", "op": ")" + op + R"("}})";
  }
  return text + events + "]}";
}

TEST(TensorFlowTimeline, has_kernels_and_copies_of_streams_once) {
  const Timeline timeline = timeline_of(
      run_metadata({"/device:GPU:1", "/device:GPU:1/stream:all", "/device:GPU:1/stream:13", "/device:GPU:1/memcpy"}));
  EXPECT_EQ(timeline.format, "xla_trace");
  ASSERT_EQ(timeline.events.size(), 2U);
  EXPECT_EQ(timeline.events.kind[0], EventKind::op);
  EXPECT_EQ(timeline.events.kind[1], EventKind::kernel);
  EXPECT_EQ(timeline.name_of(1), "Conv2D");
  EXPECT_EQ(timeline.tracks[timeline.events.track[1]].device, 1);
  EXPECT_EQ(timeline.tracks[timeline.events.track[1]].thread, 13);
  const Timeline summed = timeline_of(run_metadata({"/gpu:0/stream:all", "/gpu:0/memcpy"}));
  ASSERT_EQ(summed.events.size(), 2U);
  EXPECT_EQ(count(summed, EventKind::kernel), 1);
  EXPECT_EQ(count(summed, EventKind::memcpy), 1);
  EXPECT_EQ(copy_kind(summed.events.detail[1]), CopyKind::host_to_device);
}

TEST(TensorFlowTimeline, without_streams_says_so) {
  const Timeline timeline = timeline_of(run_metadata({"/gpu:7", "/cpu:0"}));
  EXPECT_EQ(count(timeline, EventKind::op), 2);
  EXPECT_EQ(issue_count(timeline, "no_streams"), 1);
  EXPECT_EQ(issue_count(timeline_of(run_metadata({"/cpu:0"})), "no_streams"), 0);
}

TEST(XlaTrace, names_the_trace_beside_an_xplane) {
  const auto session = test::read_text(std::string("\n\x20\x08\x01\x12\x0D/device:GPU:0\x1A\x00", 22));
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.error().what, testing::HasSubstr("XPlane"));
  EXPECT_THAT(session.error().hint, testing::HasSubstr(".trace.json.gz"));
}

}  // namespace
}  // namespace warpmark::profile
