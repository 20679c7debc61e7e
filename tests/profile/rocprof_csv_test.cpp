// CSV files of rocprofv3, in the column sets of several versions.
#include <gmock/gmock.h>

#include "profile/trace_text.h"
#include "support/fake_tree.h"

namespace warpmark::profile {
namespace {

using test::read_text;
using test::timeline_of;
using testing::HasSubstr;

constexpr const char* kKernels =
    "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\",\"Kernel_Name\","
    "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\",\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\","
    "\"Accum_VGPR_Count\",\"SGPR_Count\",\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\","
    "\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\n"
    "\"KERNEL_DISPATCH\",\"Agent 1\",\"2\",\"5\",\"77\",\"1\",\"33\",\"scale(float*, float)\",\"11\",\"2000\",\"5000\","
    "\"512\",\"0\",\"8\",\"0\",\"128\",\"256\",\"1\",\"1\",\"1000\",\"2\",\"1\"\n";
constexpr const char* kCalls =
    "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"
    "\"HIP_RUNTIME_API_EXT\",\"hipLaunchKernel\",\"70\",\"77\",\"11\",\"1000\",\"1500\"\n";
constexpr const char* kCopies =
    "\"Kind\",\"Direction\",\"Source_Agent_Id\",\"Destination_Agent_Id\",\"Correlation_Id\",\"Start_Timestamp\","
    "\"End_Timestamp\"\n\"MEMORY_COPY\",\"HOST_TO_DEVICE\",0,1,12,6000,9000\n";

TEST(RocprofCsv, has_kernels_with_their_launches) {
  const Timeline timeline = timeline_of(kKernels);
  EXPECT_EQ(timeline.format, "rocprof_csv");
  ASSERT_EQ(timeline.events.size(), 1U);
  EXPECT_EQ(timeline.events.kind[0], EventKind::kernel);
  EXPECT_EQ(timeline.name_of(0), "scale(float*, float)");
  EXPECT_EQ(timeline.events.duration[0], 3000);
  EXPECT_EQ(timeline.tracks[timeline.events.track[0]].device, 1);
  EXPECT_EQ(timeline.tracks[timeline.events.track[0]].thread, 5);
  const LaunchShape& shape = timeline.launch_shapes[timeline.events.detail[0]];
  EXPECT_EQ(shape.grid[0], 4U) << "1000 work items in groups of 256";
  EXPECT_EQ(shape.grid[1], 2U);
  EXPECT_EQ(shape.block[0], 256U);
  EXPECT_EQ(shape.shared_bytes, 512U);
  EXPECT_TRUE(timeline.quality.empty());
}

TEST(RocprofCsv, reads_other_sets_of_columns) {
  const Timeline first = timeline_of(
      "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\","
      "\"End_Timestamp\",\"Private_Segment_Size\",\"Group_Segment_Size\",\"Workgroup_Size_X\",\"Workgroup_Size_Y\","
      "\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\n"
      "\"KERNEL_DISPATCH\",3,139690710949888,15,\"copy(float*)\",0,671599758568,671599825328,0,64,4,4,1,1024,1024,1\n");
  ASSERT_EQ(first.events.size(), 1U);
  EXPECT_EQ(first.tracks[first.events.track[0]].device, 3);
  EXPECT_EQ(first.launch_shapes[first.events.detail[0]].grid[1], 256U);
  const Timeline converted = timeline_of(
      "\"Guid\",\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Kernel_Name\",\"Correlation_Id\","
      "\"Start_Timestamp\",\"End_Timestamp\",\"Lds_Block_Size\"\r\n"
      "\"00006409\",\"KERNEL_DISPATCH\",\"GPU-2\",1,0,\"norm\",1,1000,3000,8456\r\n");
  ASSERT_EQ(converted.events.size(), 1U);
  EXPECT_EQ(converted.tracks[converted.events.track[0]].device, 2);
  EXPECT_EQ(converted.launch_shapes[converted.events.detail[0]].shared_bytes, 8456U);
  const Timeline rocprof = timeline_of(
      "Index,KernelName,gpu-id,queue-id,pid,tid,grd,wgr,lds,DispatchNs,BeginNs,EndNs,CompleteNs\n"
      "0,\"add(float*, int) [clone .kd]\",4,0,70,77,1024,256,0,900,1000,3000,3100\n");
  ASSERT_EQ(rocprof.events.size(), 1U);
  EXPECT_EQ(rocprof.tracks[rocprof.events.track[0]].device, 4);
  EXPECT_EQ(rocprof.launch_shapes[rocprof.events.detail[0]].grid[0], 4U);
}

TEST(RocprofCsv, reads_the_files_next_to_the_kernels_once) {
  warpmark::test::FakeTree tree;
  tree.file("7_kernel_trace.csv", kKernels).file("7_hip_api_trace.csv", kCalls);
  tree.file("7_memory_copy_trace.csv", kCopies);
  const std::vector<std::filesystem::path> folder{tree.root()}, file{tree.root() / "7_kernel_trace.csv"},
      calls{tree.root() / "7_hip_api_trace.csv"},
      files{tree.root() / "7_hip_api_trace.csv", tree.root() / "7_kernel_trace.csv"};
  for (const auto& paths : {folder, file, calls, files}) {
    const auto session = read_session(paths);
    ASSERT_TRUE(session.ok());
    ASSERT_EQ(session->ranks.size(), 1U);
    const Timeline& timeline = session->ranks[0];
    ASSERT_EQ(timeline.events.size(), 3U);
    EXPECT_EQ(timeline.events.kind[0], EventKind::runtime_api);
    EXPECT_EQ(timeline.name_of(0), "hipLaunchKernel");
    EXPECT_EQ(timeline.events.correlation[0], timeline.events.correlation[1]);
    EXPECT_EQ(timeline.events.kind[2], EventKind::memcpy);
    EXPECT_EQ(copy_kind(timeline.events.detail[2]), CopyKind::host_to_device);
    EXPECT_EQ(timeline.tracks[timeline.events.track[2]].device, 1);
  }
}

TEST(RocprofCsv, of_calls_alone_names_the_file_that_lacks) {
  const Timeline timeline = timeline_of(kCalls);
  ASSERT_EQ(timeline.quality.size(), 1U);
  EXPECT_THAT(timeline.quality[0].text, HasSubstr("kernel_trace.csv"));
}

TEST(RocprofCsv, names_the_line_that_cannot_be_read) {
  const std::string bad = std::string(kKernels) + "\"KERNEL_DISPATCH\",\"Agent 1\",\"2\"\n";
  const Timeline timeline = timeline_of(bad);
  EXPECT_EQ(timeline.events.size(), 1U);
  ASSERT_EQ(timeline.quality.size(), 1U);
  EXPECT_THAT(timeline.quality[0].example, HasSubstr("line 3"));
  const std::string header = std::string(kCalls).substr(0, std::string(kCalls).find('\n') + 1);
  const auto none = read_text(header + "\"HIP_RUNTIME_API\",\"hipMalloc\",1,1,1,soon,later\n");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().what, HasSubstr("line 2"));
  const auto empty = read_text(header);
  ASSERT_FALSE(empty.ok());
  EXPECT_THAT(empty.error().hint, HasSubstr("rocprofv3 --kernel-trace"));
}

TEST(RocprofCsv, refuses_sums_and_counters) {
  const auto sums = read_text("\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n\"a\",1,2,2,100\n");
  ASSERT_FALSE(sums.ok());
  EXPECT_THAT(sums.error().what, HasSubstr("sums of rocprof"));
  EXPECT_THAT(sums.error().hint, HasSubstr("kernel_trace.csv"));
  const auto counters = read_text(
      "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Kernel_Name\",\"Counter_Name\",\"Counter_Value\","
      "\"Start_Timestamp\",\"End_Timestamp\"\n1,1,1,\"a\",\"SQ_WAVES\",4,1,2\n");
  ASSERT_FALSE(counters.ok());
  EXPECT_THAT(counters.error().what, HasSubstr("counters of rocprof"));
  EXPECT_THAT(counters.error().hint, HasSubstr("--kernel-trace"));
}

}  // namespace
}  // namespace warpmark::profile
