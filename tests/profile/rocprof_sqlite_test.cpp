// Databases of rocprofv3 (rocpd), of rocmProfileData (RPD) and of the first rocprof, made here from their schemas.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "profile/sqlite_database.h"
#include "profile/trace_text.h"
#include "support/fake_tree.h"

namespace warpmark::profile {
namespace {

using testing::HasSubstr;

Result<ProfileSession> read_database(const std::string& sql) {
  const warpmark::test::FakeTree tree;
  const auto path = tree.root() / "results.db";
  {
    const auto database = Database::create(path);
    EXPECT_TRUE(database.ok());
    const Status made = database->execute(sql.c_str());
    EXPECT_TRUE(made.ok()) << made.error().what;
  }
  const std::vector<std::filesystem::path> paths{path};
  return read_session(paths);
}

/// `@` stands for what is behind the names of the tables.
std::string rocpd(const std::string& suffix) {
  std::string sql = R"sql(
CREATE TABLE "rocpd_string@" (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
INSERT INTO "rocpd_string@" VALUES (1,'','HIP_RUNTIME_API_EXT'), (2,'','KERNEL_DISPATCH'), (3,'','hipLaunchKernel'),
  (4,'','MARKER_CORE_API'), (5,'','roctxThreadRangeA'), (6,'','MEMORY_COPY_HOST_TO_DEVICE');
CREATE TABLE "rocpd_info_node@" (id INTEGER, hostname TEXT);
INSERT INTO "rocpd_info_node@" VALUES (9,'node7');
CREATE TABLE "rocpd_info_agent@" (id INTEGER, type TEXT, type_index INTEGER, name TEXT, product_name TEXT,
  extdata TEXT);
INSERT INTO "rocpd_info_agent@" VALUES (0,'CPU',0,'Xeon','',''),
  (2,'GPU',0,'gfx942','AMD Instinct MI300X','{"wave_front_size":64,"cu_count":304,"max_waves_per_cu":32}'),
  (3,'GPU',1,'gfx942','','{}');
CREATE TABLE "rocpd_info_kernel_symbol@" (id INTEGER, kernel_name TEXT, display_name TEXT);
INSERT INTO "rocpd_info_kernel_symbol@" VALUES (5,'_Z3addPf.kd','add(float*)');
CREATE TABLE "rocpd_event@" (id INTEGER, category_id INTEGER, stack_id INTEGER, correlation_id INTEGER, extdata TEXT);
INSERT INTO "rocpd_event@" VALUES (1,1,21,0,'{}'), (2,2,21,0,'{}'), (3,4,22,0,'{"message":"step 1"}'),
  (4,2,23,0,'{}');
CREATE TABLE "rocpd_kernel_dispatch@" (id INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER,
  queue_id INTEGER, stream_id INTEGER, start INTEGER, end INTEGER, group_segment_size INTEGER,
  workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER,
  grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER);
INSERT INTO "rocpd_kernel_dispatch@" VALUES (1,77,78,3,5,16,0,2000,5000,512,256,1,1,1000,2,1,2);
CREATE TABLE "rocpd_memory_copy@" (id INTEGER, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, name_id INTEGER,
  dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER, queue_id INTEGER, stream_id INTEGER, event_id INTEGER);
INSERT INTO "rocpd_memory_copy@" VALUES (1,77,78,6000,9000,6,2,0,4096,0,0,4);
CREATE TABLE "rocpd_region@" (id INTEGER, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, name_id INTEGER,
  event_id INTEGER);
INSERT INTO "rocpd_region@" VALUES (1,77,78,1000,1500,3,1), (2,77,78,500,9500,5,3);
)sql";
  for (auto at = sql.find('@'); at != std::string::npos; at = sql.find('@')) sql.replace(at, 1, suffix);
  return sql;
}

TEST(Rocpd, has_kernels_copies_calls_and_ranges) {
  for (const char* suffix : {"", "_00003fdc_92cb_72cb_9169_c7e541b1fcdf"}) {
    const auto session = read_database(rocpd(suffix));
    ASSERT_TRUE(session.ok()) << session.error().what;
    ASSERT_EQ(session->ranks.size(), 1U);
    const Timeline& timeline = session->ranks[0];
    EXPECT_EQ(timeline.format, "rocprof_sqlite");
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
    EXPECT_EQ(timeline.events.kind[2], EventKind::kernel);
    EXPECT_EQ(timeline.events.duration[2], 3000);
    EXPECT_EQ(timeline.events.correlation[1], timeline.events.correlation[2]);
    EXPECT_EQ(timeline.tracks[timeline.events.track[2]].device, 1);
    EXPECT_EQ(timeline.tracks[timeline.events.track[2]].thread, 16);
    EXPECT_EQ(timeline.launch_shapes[timeline.events.detail[2]].grid[0], 4U) << "1000 work items in groups of 256";
    EXPECT_EQ(timeline.launch_shapes[timeline.events.detail[2]].shared_bytes, 512U);
    EXPECT_EQ(copy_kind(timeline.events.detail[3]), CopyKind::host_to_device);
    EXPECT_EQ(timeline.events.value[3], 4096);
    EXPECT_EQ(timeline.tracks[timeline.events.track[3]].device, 0);
  }
}

TEST(Rpd, has_operations_with_the_calls_that_started_them) {
  const auto session = read_database(R"sql(
CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);
INSERT INTO rocpd_string VALUES (1,'hipLaunchKernel'), (2,'KernelExecution'), (3,'add(float*)'), (4,''),
  (5,'CopyHostToDevice'), (6,'UserMarker'), (7,'step 1'), (8,'hipMemcpy');
CREATE TABLE rocpd_api (id INTEGER, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, apiName_id INTEGER,
  args_id INTEGER);
INSERT INTO rocpd_api VALUES (1,77,78,1000,1500,1,4), (2,77,78,500,9500,6,7), (3,77,78,5500,9000,8,4);
CREATE TABLE rocpd_op (id INTEGER, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER, start INTEGER, end INTEGER,
  description_id INTEGER, opType_id INTEGER);
INSERT INTO rocpd_op VALUES (10,2,1,0,2000,5000,3,2), (11,2,1,0,6000,8000,4,5);
CREATE TABLE rocpd_api_ops (id INTEGER, api_id INTEGER, op_id INTEGER);
INSERT INTO rocpd_api_ops VALUES (1,1,10), (2,3,11);
CREATE TABLE rocpd_kernelapi (api_ptr_id INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, workgroupX INTEGER,
  workgroupY INTEGER, workgroupZ INTEGER, groupSegmentSize INTEGER);
INSERT INTO rocpd_kernelapi VALUES (1,4,1,1,256,1,1,64);
CREATE TABLE rocpd_copyapi (api_ptr_id INTEGER, size INTEGER);
INSERT INTO rocpd_copyapi VALUES (3,4096);
)sql");
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->ranks.size(), 1U);
  const Timeline& timeline = session->ranks[0];
  ASSERT_EQ(timeline.events.size(), 5U);
  EXPECT_EQ(timeline.name_of(0), "step 1");
  EXPECT_EQ(timeline.events.kind[0], EventKind::annotation);
  EXPECT_EQ(timeline.events.kind[1], EventKind::runtime_api);
  EXPECT_EQ(timeline.name_of(2), "add(float*)");
  EXPECT_EQ(timeline.events.correlation[2], timeline.events.correlation[1]);
  EXPECT_EQ(timeline.tracks[timeline.events.track[2]].device, 2);
  EXPECT_EQ(timeline.launch_shapes[timeline.events.detail[2]].grid[0], 4U);
  EXPECT_EQ(timeline.launch_shapes[timeline.events.detail[2]].block[0], 256U);
  EXPECT_EQ(copy_kind(timeline.events.detail[4]), CopyKind::host_to_device);
  EXPECT_EQ(timeline.events.value[4], 4096);
}

TEST(RocprofDatabase, of_the_first_rocprof_joins_work_and_calls_by_their_index) {
  const auto session = read_database(R"sql(
CREATE TABLE HIP ("BeginNs" INTEGER, "EndNs" INTEGER, "pid" INTEGER, "tid" INTEGER, "Name" TEXT, "args" TEXT,
  "Index" INTEGER, "DurationNs" INTEGER);
INSERT INTO HIP VALUES (1000,1500,77,78,'hipMemcpy','',8,500), (2000,2500,77,78,'hipLaunchKernel','',9,500);
CREATE TABLE OPS ("BeginNs" INTEGER, "EndNs" INTEGER, "dev-id" INTEGER, "queue-id" INTEGER, "Name" TEXT, "pid" INTEGER,
  "tid" INTEGER, "stream-id" INTEGER, "Index" INTEGER, "DurationNs" INTEGER);
INSERT INTO OPS VALUES (3000,5000,2,0,'add',77,78,1,9,2000);
CREATE TABLE COPY ("BeginNs" INTEGER, "EndNs" INTEGER, "dev-id" INTEGER, "queue-id" INTEGER, "Name" TEXT, "pid" INTEGER,
  "tid" INTEGER, "stream-id" INTEGER, "Index" INTEGER, "DurationNs" INTEGER);
INSERT INTO COPY VALUES (1200,1400,2,0,'CopyHostToDevice',77,78,1,8,200);
)sql");
  ASSERT_TRUE(session.ok()) << session.error().what;
  const Timeline& timeline = session->ranks.at(0);
  ASSERT_EQ(timeline.events.size(), 4U);
  EXPECT_EQ(timeline.events.kind[1], EventKind::memcpy);
  EXPECT_EQ(copy_kind(timeline.events.detail[1]), CopyKind::host_to_device);
  EXPECT_EQ(timeline.events.correlation[0], timeline.events.correlation[1]);
  EXPECT_EQ(timeline.name_of(3), "add");
  EXPECT_EQ(timeline.events.kind[3], EventKind::kernel);
  EXPECT_EQ(timeline.events.correlation[2], timeline.events.correlation[3]);
  EXPECT_EQ(timeline.tracks[timeline.events.track[3]].device, 2);
}

TEST(RocprofDatabase, without_records_says_what_to_record) {
  const auto session = read_database("CREATE TABLE rocpd_op (start INTEGER); CREATE TABLE rocpd_api (start INTEGER);");
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.error().what, HasSubstr("rocprof"));
  EXPECT_THAT(session.error().hint, HasSubstr("rocprofv3 --sys-trace"));
}

}  // namespace
}  // namespace warpmark::profile
