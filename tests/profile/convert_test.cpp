// What is written can be read back, and asked with SQL.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <map>
#include <random>

#include "base/files.h"
#include "base/json.h"
#include "profile/catalog.h"
#include "profile/query.h"
#include "profile/recording/convert.h"
#include "profile/sqlite_database.h"
#include "profile/timeline_builder.h"
#include "profile/trace_text.h"
#include "profile/writers/chrome.h"
#include "support/fake_tree.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;
using warpmark::test::FakeTree;

/// Every kind of event, random values in all fields that the kind has.
Timeline random_timeline(unsigned seed, int rank) {
  std::mt19937 random(seed);
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  TimelineBuilder builder;
  builder.set_clock_origin(1790857026000000123);
  builder.facts().rank = rank;
  builder.facts().world_size = 2;
  builder.facts().host = "node \"7\"";
  builder.facts().format = "nsys_sqlite";
  builder.facts().gpus.push_back({0, "NVIDIA H100", 85017493504, 132, 9, 0, 2048, "GPU-b5"});
  builder.add_metadata("tool", "a\\b");
  const std::string texts[] = {"a", "void k<\"x\">(int)", "tab\tnew\nline", "\xE2\x82\xAC", "ProfilerStep#3"};
  const std::string shapes[] = {"[[1, 2], []]", "[\"x\", [3]]", "free text", "[[1]"};
  for (int i = 0; i < 500; ++i) {
    const auto kind = static_cast<EventKind>(pick(static_cast<int>(EventKind::other) + 1));
    const bool on_gpu = is_gpu_work(kind) || kind == EventKind::gpu_annotation || kind == EventKind::sync_record;
    const int names = kind == EventKind::op ? 4 : 5;  // an operator with the name of a step is taken for the step
    NewEvent event{
        .start = pick(1 << 30), .duration = pick(5000), .name = builder.intern(texts[pick(names)]), .kind = kind};
    event.track = on_gpu ? builder.track({TrackKind::gpu_stream, 0, pick(3), pick(2), "stream"})
                         : builder.track({TrackKind::cpu_thread, 100, pick(3), -1, pick(2) == 0 ? "worker" : "worker"});
    event.correlation = static_cast<std::uint32_t>(pick(4) == 0 ? 0 : pick(100));
    event.link = static_cast<std::uint32_t>(pick(50));
    if (kind == EventKind::mark || kind == EventKind::allocation) event.duration = 0;
    if (kind == EventKind::op) event.detail = builder.intern(shapes[pick(4)]);
    if (kind == EventKind::kernel) {
      event.detail = builder.launch_shape({.grid = {1U + static_cast<unsigned>(pick(9)), 2, 3},
                                           .block = {32, 1, 1},
                                           .registers_per_thread = 40,
                                           .shared_bytes = 100,
                                           .blocks_per_sm = static_cast<float>(pick(1000)) / 7.0F,
                                           .occupancy = static_cast<float>(pick(101)) / 100.0F,
                                           .graph_id = static_cast<unsigned>(pick(2))});
    }
    if (kind == EventKind::memcpy) event.detail = copy_detail(CopyKind::peer_to_peer, static_cast<HostMemory>(pick(4)));
    if (kind == EventKind::sync_record) event.detail = static_cast<std::uint32_t>(pick(5));
    if (kind == EventKind::memcpy || kind == EventKind::memset || kind == EventKind::graph) event.value = pick(1 << 30);
    if (kind == EventKind::allocation || kind == EventKind::sync_record) event.value = pick(100) - 50;
    if (kind == EventKind::allocation || kind == EventKind::cpu_sample)
      event.detail = static_cast<std::uint32_t>(pick(2));
    const EventIndex at = builder.add(event);
    if (kind == EventKind::kernel && pick(4) == 0) {
      builder.add_collective(
          {at, builder.intern("allreduce"), builder.intern("Float"), builder.intern("0"), 5, 6, 2, 9});
    }
    if (i % 10 == 0)
      builder.add_counter("power", "W", i % 20 == 0 ? 0 : -1, pick(1 << 30), i % 30 == 0 ? NAN : 0.1 * i);
  }
  return builder.finish();
}

void expect_equal(const Timeline& a, const Timeline& b) {
  EXPECT_EQ(a.origin_ns, b.origin_ns);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.world_size, b.world_size);
  EXPECT_EQ(a.host, b.host);
  EXPECT_EQ(a.format, b.format) << "what recording costs is judged by it";
  EXPECT_EQ(a.gpus, b.gpus);
  EXPECT_EQ(test::fact(a, "tool"), test::fact(b, "tool"));
  ASSERT_EQ(a.events.size(), b.events.size());
  for (EventIndex i = 0; i < a.events.size(); ++i) {
    ASSERT_EQ(a.events.start[i], b.events.start[i]) << i;
    ASSERT_EQ(a.events.duration[i], b.events.duration[i]) << i;
    ASSERT_EQ(a.events.kind[i], b.events.kind[i]) << a.name_of(i);
    ASSERT_EQ(a.name_of(i), b.name_of(i));
    ASSERT_EQ(a.events.value[i], b.events.value[i]) << i << " " << a.name_of(i);
    ASSERT_EQ(a.tracks[a.events.track[i]], b.tracks[b.events.track[i]]);
    ASSERT_EQ(a.events.correlation[i], b.events.correlation[i]);
    ASSERT_EQ(a.events.link[i], b.events.link[i]);
    if (a.events.kind[i] == EventKind::kernel) {
      ASSERT_EQ(a.launch_shapes[a.events.detail[i]], b.launch_shapes[b.events.detail[i]]);
    } else if (a.events.kind[i] == EventKind::op) {
      ASSERT_EQ(a.names.at(a.events.detail[i]), b.names.at(b.events.detail[i]));
    } else {
      ASSERT_EQ(a.events.detail[i], b.events.detail[i]);
    }
  }
  ASSERT_EQ(a.collectives.size(), b.collectives.size());
  for (std::size_t i = 0; i < a.collectives.size(); ++i) {
    EXPECT_EQ(a.collectives[i].event, b.collectives[i].event);
    EXPECT_EQ(a.names.at(a.collectives[i].name), b.names.at(b.collectives[i].name));
    EXPECT_EQ(a.names.at(a.collectives[i].data_type), b.names.at(b.collectives[i].data_type));
    EXPECT_EQ(a.names.at(a.collectives[i].group), b.names.at(b.collectives[i].group));
    EXPECT_EQ(a.collectives[i].in_elements, b.collectives[i].in_elements);
    EXPECT_EQ(a.collectives[i].out_elements, b.collectives[i].out_elements);
    EXPECT_EQ(a.collectives[i].group_size, b.collectives[i].group_size);
    EXPECT_EQ(a.collectives[i].sequence, b.collectives[i].sequence);
  }
  ASSERT_EQ(a.counters.size(), b.counters.size());
  for (const CounterSeries& series : a.counters) {
    const auto same = std::find_if(b.counters.begin(), b.counters.end(), [&](const CounterSeries& other) {
      return other.id == series.id && other.device == series.device;
    });
    ASSERT_NE(same, b.counters.end()) << series.id;
    EXPECT_EQ(series.unit, same->unit);
    EXPECT_EQ(series.times, same->times);
    EXPECT_THAT(series.values, testing::Pointwise(testing::NanSensitiveDoubleEq(), same->values));
  }
}

TEST(ChromeWriter, round_trip_is_exact) {
  const FakeTree tree;
  ProfileSession session;
  session.ranks.push_back(random_timeline(1, 0));
  session.ranks.push_back(random_timeline(2, 1));
  ASSERT_TRUE(kChromeWriter.write(session, tree.root() / "out.json").ok());
  EXPECT_TRUE(fs::exists(tree.root() / "out.rank0.json"));
  const std::vector<fs::path> paths{tree.root()};
  const auto again = read_session(paths);
  ASSERT_TRUE(again.ok()) << again.error().what;
  ASSERT_EQ(again->ranks.size(), 2U);
  EXPECT_EQ(again->quality.size(), 0U) << "temporary files are left";
  expect_equal(session.ranks[0], again->ranks[0]);
  expect_equal(session.ranks[1], again->ranks[1]);
}

TEST(RecordingFormat, round_trip_is_exact) {
  const FakeTree tree;
  ProfileSession session;
  session.ranks.push_back(random_timeline(1, 0));
  session.ranks.push_back(random_timeline(2, 1));
  ASSERT_TRUE(kRecordingFormat.write(session, tree.root() / "out.wmrec").ok());
  const auto again = read_session(std::vector{tree.root() / "out.wmrec"});
  ASSERT_TRUE(again.ok()) << again.error().what;
  ASSERT_EQ(again->ranks.size(), 2U);
  expect_equal(session.ranks[0], again->ranks[0]);
  expect_equal(session.ranks[1], again->ranks[1]);
  // Once more adds nothing: facts do not pile up.
  ASSERT_TRUE(kRecordingFormat.write(*again, tree.root() / "again.wmrec").ok());
  EXPECT_EQ(read_file(tree.root() / "out.wmrec").value().size(), read_file(tree.root() / "again.wmrec").value().size());
}

/// Seven events were lost for good; two overlap, and are met again by who reads what was written.
TEST(ConvertedProfile, says_what_its_source_had_lost_and_counts_nothing_twice) {
  const FakeTree tree;
  TimelineBuilder builder;
  const auto thread = builder.track({TrackKind::cpu_thread, 1, 2, -1, ""});
  for (const std::int64_t start : {0, 5000, 8000}) {
    (void)builder.add({.start = start, .duration = 7000, .track = thread, .kind = EventKind::op});
  }
  builder.issue("lost", "events left out", "the \"first\"|one", 7);
  ProfileSession session;
  session.ranks.push_back(builder.finish());
  ASSERT_EQ(session.ranks[0].quality.size(), 2U);
  count_issue(session.quality, "file_left_out", "files that are no profiles", "x.txt", 3);
  for (const auto& [writer, name] : {std::pair{&kChromeWriter, "a.json"}, {&kRecordingFormat, "a.wmrec"}}) {
    ASSERT_TRUE(writer->write(session, tree.root() / name).ok());
    for (const char* again : {"b", "c"}) {  // of what was converted twice, too
      const auto read = read_session(std::vector{tree.root() / name});
      ASSERT_TRUE(read.ok()) << read.error().what;
      std::map<std::string, std::int64_t> counts;
      for (const auto& issue : read->ranks[0].quality) counts[issue.id] += issue.count;
      EXPECT_EQ(counts["lost"], 7) << name << again;
      EXPECT_EQ(counts["file_left_out"], 3) << name << again;
      const auto overlaps = session.ranks[0].quality[1];
      EXPECT_EQ(counts[overlaps.id], overlaps.count) << name << again;
      EXPECT_EQ(counts.size(), 3U) << name << again;
      EXPECT_TRUE(read->quality.empty()) << name << again;
      ASSERT_TRUE(writer->write(*read, tree.root() / name).ok());
    }
  }
}

TEST(ChromeWriter, writes_valid_json_with_arrows) {
  const FakeTree tree;
  TimelineBuilder builder;
  const auto cpu = builder.track({TrackKind::cpu_thread, 1, 2, -1, ""});
  const auto gpu = builder.track({TrackKind::gpu_stream, 0, 7, 0, ""});
  (void)builder.add({.start = 5, .duration = 1, .track = cpu, .correlation = 3, .kind = EventKind::runtime_api});
  (void)builder.add({.start = 6, .duration = 1, .track = cpu, .correlation = 4, .kind = EventKind::runtime_api});
  (void)builder.add({.start = 9, .duration = 1, .track = gpu, .correlation = 3, .kind = EventKind::kernel});
  ProfileSession session;
  session.ranks.push_back(builder.finish());
  ASSERT_TRUE(kChromeWriter.write(session, tree.root() / "out.json").ok());
  const auto json = parse_json(read_file(tree.root() / "out.json").value(), "out.json");
  ASSERT_TRUE(json.ok()) << json.error().what;
  std::string phases;
  for (const auto& event : (*json)["traceEvents"]) phases += event["ph"].get<std::string>();
  EXPECT_EQ(phases, "XsXXf");
}

TEST(ChromeWriter, keeps_the_counters_of_the_machine) {
  const FakeTree tree;
  ProfileSession session;
  TimelineBuilder builder;
  builder.set_clock_origin(1790857026000000000);
  (void)builder.add({.start = 7, .track = builder.track({TrackKind::cpu_thread, 1, 2, -1, ""}), .kind = EventKind::op});
  session.ranks.push_back(builder.finish());
  session.counters.push_back({"sm_clock", "Hz", 0, {1790857026000000500}, {1.98e9}});
  session.counters.push_back({"cpu_utilization", "", -1, {1790857026000000600}, {0.5}});
  ASSERT_TRUE(kChromeWriter.write(session, tree.root() / "out.json").ok());
  const auto again = read_session(std::vector{tree.root() / "out.json"});
  ASSERT_TRUE(again.ok()) << again.error().what;
  const Timeline& rank = again->ranks.at(0);
  ASSERT_EQ(rank.counters.size(), 2U);
  EXPECT_EQ(rank.counters[0].id, "sm_clock");
  EXPECT_EQ(rank.origin_ns + rank.counters[0].times.at(0), 1790857026000000500);
  EXPECT_EQ(rank.counters[1].device, -1);
}

TEST(ChromeWriter, fails_without_leaving_a_file) {
  ProfileSession session;
  EXPECT_FALSE(kChromeWriter.write(session, "x.json").ok());
  session.ranks.push_back(random_timeline(1, 0));
  const auto status = kChromeWriter.write(session, "/no/such/folder/x.json");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::environment);
}

std::int64_t count(const ProfileSession& session, const std::string& sql) {
  const auto result = query_session(session, sql);
  EXPECT_TRUE(result.ok()) << result.error().what;
  return result.ok() ? std::get<std::int64_t>(result->rows.at(0).at(0)) : -1;
}

TEST(Query, sees_every_event_once) {
  ProfileSession session;
  session.ranks.push_back(random_timeline(1, 0));
  session.ranks.push_back(random_timeline(2, 1));
  session.kernels.push_back({.id = 4, .name = "k", .metrics = {{"m", "%", 5}}});
  session.collectives.push_back({.collective = "all_reduce", .bytes = 8});
  const auto& events = session.ranks[1].events;
  std::int64_t kernels = 0, longest = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    kernels += events.kind[i] == EventKind::kernel;
    longest = std::max(longest, events.end(i));
  }
  EXPECT_EQ(count(session, "SELECT count(*) FROM events"), 1000);
  EXPECT_EQ(count(session, "SELECT count(*) FROM events WHERE rank = 1 AND kind = 'kernel'"), kernels);
  EXPECT_EQ(count(session, "SELECT count(*) FROM kernels WHERE rank = 1"), kernels);
  EXPECT_EQ(count(session, "SELECT max(end_ns) FROM events WHERE rank = 1;"), longest);
  EXPECT_EQ(count(session, "WITH c AS (SELECT * FROM counters) SELECT count(*) FROM c WHERE id = 'power'"), 100);
  EXPECT_EQ(count(session, "SELECT count(*) FROM kernel_metrics"), 1);
  EXPECT_EQ(count(session, "SELECT bytes FROM collective_results"), 8);
}

TEST(Query, gives_the_only_timeline_the_number_0) {
  ProfileSession session;
  session.ranks.push_back(random_timeline(1, -1));
  session.counters.push_back({"power", "W", 0, {1}, {2.0}});
  EXPECT_EQ(count(session, "SELECT max(rank) FROM ranks"), 0);
  EXPECT_EQ(count(session, "SELECT count(*) FROM events JOIN ranks USING (rank)"), 500);
  EXPECT_EQ(count(session, "SELECT count(*) FROM counters WHERE rank = -1"), 1) << "of no timeline";
}

TEST(Query, cannot_write_attach_or_reach_files) {
  const ProfileSession session;
  const FakeTree tree;
  const std::string file = (tree.root() / "x.db").string();
  for (const std::string& sql :
       {std::string("DELETE FROM raw_events"), std::string("CREATE TABLE t (x)"), "ATTACH '" + file + "' AS x",
        "VACUUM INTO '" + file + "'", std::string("PRAGMA journal_mode=WAL"), std::string("SELECT load_extension('x')"),
        std::string("INSERT INTO names VALUES (1, 2, 'x')"), std::string("DROP VIEW events"), std::string("BEGIN"),
        std::string("SELECT 1; SELECT 2"), std::string(""), std::string("nonsense"),
        std::string("CREATE TEMP TABLE t AS SELECT 1"), std::string("UPDATE sqlite_master SET sql = ''")}) {
    const auto result = query_session(session, sql);
    ASSERT_FALSE(result.ok()) << sql;
    EXPECT_EQ(result.error().kind, ErrorKind::usage) << sql;
  }
  EXPECT_FALSE(fs::exists(file));
}

TEST(Query, stops_at_its_limits) {
  const ProfileSession session;
  const std::string endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT ";
  const auto cut = query_session(session, endless + "x FROM n", {.most_rows = 10});
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->rows.size(), 10U);
  EXPECT_GT(cut->left_out, 1000);
  EXPECT_FALSE(cut->all_counted);
  const auto counted = query_session(session, endless + "x FROM n LIMIT 25", {.most_rows = 10});
  ASSERT_TRUE(counted.ok());
  EXPECT_EQ(counted->left_out, 15);
  EXPECT_TRUE(counted->all_counted);
  const auto late = query_session(session, endless + "count(*) FROM n", {.most_seconds = 0.05});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().kind, ErrorKind::usage);
}

TEST(Query, holds_at_most_so_many_bytes) {
  const ProfileSession session;
  const std::string rows =
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 50) SELECT printf('%.*c', 1000, 'a') AS t "
      "FROM n";
  const auto some = query_session(session, rows, {.most_bytes = 10'100});
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(some->rows.size(), 10U);
  EXPECT_EQ(some->left_out, 40);
  const auto none = query_session(session, "SELECT zeroblob(500000000) AS t", {.most_bytes = 1 << 20});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().what, "the first row has 500000001 bytes, and an answer has at most 1048576");
}

TEST(SqliteWriter, writes_the_tables_and_replaces_an_old_file) {
  const FakeTree tree;
  ProfileSession session;
  session.ranks.push_back(random_timeline(1, 0));
  const fs::path path = tree.root() / "p.sqlite";
  std::ofstream(path) << "old";
  const Writer* writer = find_in(writers(), "sqlite");
  ASSERT_NE(writer, nullptr);
  ASSERT_TRUE(writer->write(session, path).ok());
  const auto database = Database::open_read_only(path);
  ASSERT_TRUE(database.ok());
  auto rows = database->prepare("SELECT count(*), sum(duration_ns) FROM events");
  ASSERT_TRUE(rows.ok());
  ASSERT_TRUE(*rows->step());
  EXPECT_EQ(rows->integer(0), 500);
  const auto again = read_session(std::vector{path});
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().what, testing::HasSubstr("warpmark convert"));
}

}  // namespace
}  // namespace warpmark::profile
