// Exports of Nsight Systems, made here from its documented schema.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "profile/sqlite_database.h"
#include "profile/trace_text.h"
#include "support/fake_tree.h"

namespace warpmark::profile {
namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1,'void gemm(float*)'), (2,'cudaLaunchKernel_v7000'), (3,'cuLaunchKernelEx'),
  (4,'step'), (5,'read'), (6,'python3');
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER,
  computeMinor INTEGER, maxWarpsPerSm INTEGER, cuDevice INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (0,'NVIDIA H100',85017493504,132,9,0,64,0);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000,'','');
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (6, 0, (77<<24)+5);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
  registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,
  blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000,5000,0,1,7,11,77<<24,1,1,32,4,2,1,128,1,1,16,32,NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (6000,6500,0,7,12,77<<24,4096,1,0,2), (7000,7100,0,7,13,77<<24,8,2,2,1);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, graphId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (8000,9000,0,7,14,77<<24,3);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, syncType INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (9000,9100,0,7,15,77<<24,3);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000,1100,0,(77<<24)+5,11,2,0,NULL),
  (1200,1300,1,(77<<24)+5,14,3,0,NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER);
INSERT INTO NVTX_EVENTS VALUES (900,9500,59,NULL,(77<<24)+5,4), (950,NULL,34,'here',(77<<24)+5,NULL),
  (960,NULL,60,'open',(77<<24)+5,NULL), (0,NULL,75,'domain',(77<<24)+5,NULL), (1,2,59,'other',(88<<24)+1,NULL);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
INSERT INTO OSRT_API VALUES (500,800,(77<<24)+5,5);
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER,
  metricName TEXT);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES (256, 0, '', 4, 'SMs Active [Throughput %]');
CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
INSERT INTO GPU_METRICS VALUES (2000,256,4,50), (1000,256,4,25);
)sql";

Result<ProfileSession> read_export(const char* sql, const char* name = "p.sqlite") {
  const warpmark::test::FakeTree tree;
  const auto path = tree.root() / name;
  {
    const auto database = Database::create(path);
    EXPECT_TRUE(database.ok());
    const Status made = database->execute(sql);
    EXPECT_TRUE(made.ok()) << made.error().what;
  }
  const std::vector<std::filesystem::path> paths{path};
  return read_session(paths);
}

EventIndex find(const Timeline& timeline, EventKind kind) {
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    if (timeline.events.kind[i] == kind) return i;
  }
  return kNoEvent;
}

TEST(Nsys, reads_gpu_work_calls_and_ranges) {
  const auto session = read_export(kSchema);
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->ranks.size(), 1U);
  const Timeline& timeline = session->ranks[0];
  const EventColumns& events = timeline.events;
  EXPECT_EQ(timeline.origin_ns, 1700000000000000500);
  EXPECT_EQ(timeline.gpus.at(0).max_threads_per_sm, 2048);
  const EventIndex kernel = find(timeline, EventKind::kernel);
  ASSERT_NE(kernel, kNoEvent);
  EXPECT_EQ(timeline.name_of(kernel), "void gemm(float*)");
  EXPECT_EQ(events.start[kernel], 1500);
  EXPECT_EQ(events.duration[kernel], 3000);
  EXPECT_EQ(events.correlation[kernel], 11U);
  const LaunchShape& shape = timeline.launch_shapes[events.detail[kernel]];
  EXPECT_EQ(shape.grid[1], 2U);
  EXPECT_EQ(shape.shared_bytes, 48U);
  const EventIndex copy = find(timeline, EventKind::memcpy);
  EXPECT_EQ(events.value[copy], 4096);
  EXPECT_EQ(copy_kind(events.detail[copy]), CopyKind::host_to_device);
  EXPECT_EQ(host_memory(events.detail[copy]), HostMemory::pageable);
  EXPECT_EQ(host_memory(events.detail[copy + 1]), HostMemory::pinned);
  EXPECT_EQ(timeline.name_of(find(timeline, EventKind::runtime_api)), "cudaLaunchKernel");
  EXPECT_EQ(timeline.name_of(find(timeline, EventKind::driver_api)), "cuLaunchKernelEx");
  EXPECT_EQ(timeline.name_of(find(timeline, EventKind::annotation)), "step");
  EXPECT_EQ(timeline.name_of(find(timeline, EventKind::mark)), "here");
  EXPECT_EQ(timeline.name_of(find(timeline, EventKind::os_call)), "read");
  EXPECT_EQ(events.detail[find(timeline, EventKind::sync_record)], static_cast<std::uint32_t>(SyncKind::stream));
  EXPECT_EQ(events.duration[find(timeline, EventKind::graph)], 1000);
  EXPECT_EQ(timeline.tracks[events.track[find(timeline, EventKind::os_call)]],
            (Track{TrackKind::cpu_thread, 77, 5, -1, "python3"}));
  EXPECT_EQ(test::issue_count(timeline, "open_range"), 1);
  EXPECT_EQ(session->quality.at(0).id, "other_process");
  ASSERT_EQ(session->counters.size(), 1U);
  EXPECT_EQ(session->counters[0].id, "sm_active");
  EXPECT_THAT(session->counters[0].values, testing::ElementsAre(0.25, 0.5));
}

TEST(Nsys, tells_page_migrations_of_unified_memory_from_copies) {
  const auto session = read_export(
      "CREATE TABLE StringIds (id INTEGER, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
      "correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, "
      "migrationCause INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10,20,0,0,0,1<<24,65536,11,7,7,2), "
      "(30,35,0,0,0,1<<24,4096,12,7,7,0),"
      "  (40,50,0,7,3,1<<24,4096,1,4,2,0);"
      "CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER, globalPid INTEGER, address INTEGER);"
      "INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (1,1<<24,4096), (2,1<<24,8192);"
      "CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER, end INTEGER, globalPid INTEGER, deviceId INTEGER,"
      "  address INTEGER, numberOfPageFaults INTEGER);"
      "INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (1,2,1<<24,0,4096,12), (3,4,1<<24,0,8192,30);");
  ASSERT_TRUE(session.ok()) << session.error().what;
  const Timeline& timeline = session->ranks.at(0);
  ASSERT_EQ(timeline.events.size(), 3U);
  EXPECT_EQ(timeline.name_of(0), "Page migration HtoD (page fault)");
  EXPECT_EQ(timeline.events.detail[0], copy_detail(CopyKind::host_to_device, HostMemory::managed));
  EXPECT_EQ(timeline.name_of(1), "Page migration DtoH");
  EXPECT_EQ(timeline.events.detail[1], copy_detail(CopyKind::device_to_host, HostMemory::managed));
  EXPECT_EQ(timeline.name_of(2), "Memcpy HtoD") << "a cudaMemcpy from managed memory";
  const std::pair<std::string, std::string> on_cpu{"unified_memory_cpu_page_faults", "2"};
  const std::pair<std::string, std::string> on_gpu{"unified_memory_gpu_page_faults", "42"};
  EXPECT_THAT(timeline.metadata, testing::IsSupersetOf({on_cpu, on_gpu}));
}

TEST(Nsys, copes_with_missing_tables_and_columns) {
  const auto session = read_export(
      "CREATE TABLE StringIds (id INTEGER, value TEXT); INSERT INTO StringIds VALUES (1, 'k');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, streamId INTEGER, globalPid INTEGER, "
      "shortName "
      "INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9, 1, 1<<24, 1), (NULL, 9, 1, 1<<24, 1), (20, 11, "
      "1, 1<<24, 9);");
  ASSERT_TRUE(session.ok()) << session.error().what;
  const Timeline& timeline = session->ranks.at(0);
  EXPECT_EQ(timeline.events.size(), 2U);
  EXPECT_EQ(timeline.name_of(0), "k");
  EXPECT_EQ(test::issue_count(timeline, "no_time"), 1);
  EXPECT_EQ(test::issue_count(timeline, "negative_duration"), 1);
}

TEST(Nsys, makes_a_rank_of_each_process_with_gpu_work) {
  const auto session = read_export(
      "CREATE TABLE StringIds (id INTEGER, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, globalPid INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9, 2<<24), (5, 9, 1<<24), (7, 9, 1<<24);");
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->ranks.size(), 2U);
  EXPECT_EQ(session->ranks[0].events.size(), 2U);
  EXPECT_EQ(session->ranks[1].rank, 1);
}

TEST(Nsys, refuses_other_databases) {
  const auto session = read_export("CREATE TABLE t (x INTEGER);");
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.error().what, testing::HasSubstr("StringIds"));
  EXPECT_THAT(session.error().hint, testing::HasSubstr("nsys export"));
}

TEST(Nsys, opens_paths_with_special_characters) { EXPECT_TRUE(read_export(kSchema, "a b?c#d%41.sqlite").ok()); }

std::filesystem::path damaged(const std::string& name) {
  return std::string(WARPMARK_SOURCE_DIR) + "/fuzz/corpus/nsys_sqlite/" + name;
}

/// The most memory that SQLite held while it read the file, beyond what it held before.
std::int64_t peak_of_sqlite(const std::filesystem::path& path, Result<ProfileSession>& session) {
  const std::int64_t before = sqlite3_memory_used();
  sqlite3_memory_highwater(1);
  session = read_session(std::vector{path});
  return sqlite3_memory_highwater(0) - before;
}

std::int64_t damaged_tables(const ProfileSession& session) {
  std::int64_t tables = 0;
  for (const Timeline& timeline : session.ranks) tables += test::issue_count(timeline, "damaged_table");
  for (const DataQualityIssue& issue : session.quality) tables += issue.id == "damaged_table" ? issue.count : 0;
  return tables;
}

/// SQLite's caches; what a record of 2 GB would take on pages of 512 bytes is 32 MB.
constexpr std::int64_t kSmallFileBytes = 5 << 20;

TEST(Nsys, needs_little_memory_where_a_record_claims_to_be_gigabytes_long) {
  for (const char* name : {"long_schema_record", "long_schema_record_utf16", "long_string_record"}) {
    Result<ProfileSession> session = usage_error("not read");
    EXPECT_LT(peak_of_sqlite(damaged(name), session), kSmallFileBytes) << name;
    ASSERT_FALSE(session.ok()) << name;
    EXPECT_EQ(session.error().kind, ErrorKind::data) << name;
    EXPECT_THAT(session.error().what, testing::AllOf(testing::HasSubstr(name), testing::HasSubstr("damaged")));
  }
}

TEST(Nsys, reads_the_other_tables_where_one_record_claims_to_be_gigabytes_long) {
  Result<ProfileSession> session = usage_error("not read");
  EXPECT_LT(peak_of_sqlite(damaged("long_range_record"), session), kSmallFileBytes);
  ASSERT_TRUE(session.ok()) << session.error().what;
  EXPECT_NE(find(session->ranks.at(0), EventKind::kernel), kNoEvent);
  EXPECT_EQ(find(session->ranks.at(0), EventKind::annotation), kNoEvent);
  EXPECT_EQ(damaged_tables(*session), 1);
}

TEST(Nsys, reads_a_text_that_is_most_of_its_file) {
  // In either encoding; UTF-16 is read as a text of half the size.
  for (const char* encoding : {"UTF-8", "UTF-16"}) {
    constexpr std::size_t kBytes = 20'000'000;
    const std::string sql = std::string("PRAGMA encoding = '") + encoding + "'; CREATE TABLE StringIds (id INTEGER, " +
                            "value TEXT); INSERT INTO StringIds VALUES (1, printf('%.*c', " + std::to_string(kBytes) +
                            ", 'k')); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, " +
                            "globalPid INTEGER, shortName INTEGER);" +
                            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9, 1<<24, 1);";
    const auto session = read_export(sql.c_str());
    ASSERT_TRUE(session.ok()) << encoding << session.error().what;
    EXPECT_EQ(session->ranks.at(0).name_of(0).size(), kBytes) << encoding;
  }
}

TEST(Nsys, reads_large_texts_in_any_row) {
  const std::string each_row = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT ";
  const std::string text = "printf('%.*c', CASE WHEN i IN (63, 64, 128) THEN 5000000 ELSE 5 END, 'x')";
  const auto session = read_export(
      ("CREATE TABLE StringIds (id INTEGER, value TEXT); INSERT INTO StringIds " + each_row + "i, " + text +
       " FROM n; CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid " +
       "INTEGER); INSERT INTO NVTX_EVENTS " + each_row + "i, i + 1, iif(i % 2, 59, 75), " + text + ", 1 << 24 FROM n;")
          .c_str());
  ASSERT_TRUE(session.ok()) << session.error().what;
  EXPECT_EQ(damaged_tables(*session), 0);
  EXPECT_EQ(session->ranks.at(0).events.size(), 100U);
}

TEST(SqliteHeapShare, restores_the_limits_it_found) {
  constexpr std::int64_t kSoft = 1 << 28, kHard = 1 << 29, kFile = 1 << 20;
  sqlite3_hard_heap_limit64(kHard);
  sqlite3_soft_heap_limit64(kSoft);
  {
    const SqliteHeapShare one(kFile);
    const std::int64_t of_one = sqlite3_hard_heap_limit64(-1);
    EXPECT_LT(of_one, kHard);
    {
      const SqliteHeapShare other(kFile);
      EXPECT_EQ(sqlite3_hard_heap_limit64(-1), 2 * of_one - sqlite3_memory_used());
    }
    EXPECT_GE(sqlite3_hard_heap_limit64(-1), of_one);
  }
  EXPECT_EQ(sqlite3_hard_heap_limit64(-1), kHard);
  EXPECT_EQ(sqlite3_soft_heap_limit64(-1), kSoft);
  sqlite3_hard_heap_limit64(0);
  EXPECT_EQ(sqlite3_soft_heap_limit64(-1), 0);
}

TEST(Statement, fails_where_small_rows_take_much_memory) {
  // What SQLite would hold for a record that claims to be long, and clear in every row.
  const warpmark::test::FakeTree tree;
  const auto path = tree.root() / "p.sqlite";
  {
    const auto database = Database::create(path);
    ASSERT_TRUE(database.ok() && database
                                     ->execute("CREATE TABLE t (x TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION "
                                               "ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO t SELECT "
                                               "printf('%100d', i) FROM n;")
                                     .ok());
  }
  const auto database = Database::open_read_only(path);
  ASSERT_TRUE(database.ok());
  auto rows = database->prepare("SELECT x FROM t");
  ASSERT_TRUE(rows.ok());
  int sound = 0;
  while (sound < 1000 && *rows->step()) sound += static_cast<int>(rows->text(0).size()) / 100;
  EXPECT_EQ(sound, 1000);
  const std::unique_ptr<void, decltype(&sqlite3_free)> memory(sqlite3_malloc64(6 << 20), sqlite3_free);
  ASSERT_NE(memory, nullptr);
  Result<bool> row = true;
  for (int i = 0; i < 100 && row.ok(); ++i) row = rows->step();
  ASSERT_FALSE(row.ok());
  EXPECT_THAT(row.error().what, testing::HasSubstr("damaged"));
}

TEST(SqliteHeapShare, is_overdrawn_by_what_values_of_that_length_do_not_take) {
  const SqliteHeapShare share(10 << 20);
  EXPECT_FALSE(share.is_overdrawn(0));
  const std::unique_ptr<void, decltype(&sqlite3_free)> memory(sqlite3_malloc64(6 << 20), sqlite3_free);
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(share.is_overdrawn(100));
  EXPECT_FALSE(share.is_overdrawn(1 << 20));
  const SqliteHeapShare another(10 << 20);
  EXPECT_FALSE(share.is_overdrawn(100));  // it may be the other's
}

TEST(SqliteHeapShare, leaves_no_limit_where_there_was_none) {
  ASSERT_TRUE(read_export(kSchema).ok());
  EXPECT_FALSE(read_session(std::vector{damaged("long_schema_record")}).ok());
  EXPECT_EQ(sqlite3_hard_heap_limit64(-1), 0);
  EXPECT_EQ(sqlite3_soft_heap_limit64(-1), 0);
}

TEST(Nsys, ends_where_a_database_seems_to_hold_more_rows_than_fit_into_it) {
  // Its pages refer to one another so that 18 KB show 60^6 rows.
  const std::filesystem::path path = damaged("circle");
  const auto session = read_session(std::vector{path});
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->ranks.size(), 1U);
  EXPECT_LE(session->ranks[0].events.size(), std::filesystem::file_size(path) / 6);
  EXPECT_GT(session->ranks[0].events.size(), 1000U);
  EXPECT_EQ(damaged_tables(*session), 1);
}

}  // namespace
}  // namespace warpmark::profile
