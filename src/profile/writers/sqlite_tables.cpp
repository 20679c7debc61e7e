#include "profile/writers/sqlite_tables.h"

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "model/fields/names.h"
#include "profile/catalog.h"

namespace warpmark::profile {
namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE ranks (rank INTEGER, world_size INTEGER, source TEXT, format TEXT, host TEXT, origin_ns INTEGER);
CREATE TABLE metadata (rank INTEGER, key TEXT, value TEXT);
CREATE TABLE gpus (rank INTEGER, device INTEGER, name TEXT, memory_bytes INTEGER, sm_count INTEGER,
                   compute_capability TEXT, max_threads_per_sm INTEGER, uuid TEXT);
CREATE TABLE quality (rank INTEGER, id TEXT, count INTEGER, text TEXT, example TEXT);
CREATE TABLE names (rank INTEGER, id INTEGER, name TEXT, PRIMARY KEY (rank, id)) WITHOUT ROWID;
CREATE TABLE tracks (rank INTEGER, id INTEGER, kind TEXT, process INTEGER, thread INTEGER, device INTEGER, name TEXT,
                     PRIMARY KEY (rank, id)) WITHOUT ROWID;
CREATE TABLE launch_shapes (rank INTEGER, id INTEGER, grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER,
                            block_y INTEGER, block_z INTEGER, registers_per_thread INTEGER, shared_bytes INTEGER,
                            blocks_per_sm REAL, occupancy REAL, graph_id INTEGER, PRIMARY KEY (rank, id)) WITHOUT ROWID;
CREATE TABLE raw_events (rank INTEGER, id INTEGER, start_ns INTEGER, duration_ns INTEGER, kind TEXT, name_id INTEGER,
                         track INTEGER, correlation INTEGER, link INTEGER, value INTEGER, detail INTEGER);
CREATE TABLE collectives (rank INTEGER, event INTEGER, name TEXT, data_type TEXT, process_group TEXT,
                          in_elements INTEGER, out_elements INTEGER, group_size INTEGER, sequence INTEGER);
CREATE TABLE counters (rank INTEGER, device INTEGER, id TEXT, unit TEXT, time_ns INTEGER, value REAL,
                       gpu TEXT);
CREATE TABLE kernel_profiles (id INTEGER, process INTEGER, name TEXT, grid TEXT, block TEXT, stream INTEGER,
                              device INTEGER, compute_capability TEXT, ordinal INTEGER, rank INTEGER,
                              event INTEGER);
CREATE TABLE kernel_metrics (kernel INTEGER, id TEXT, unit TEXT, value REAL);
CREATE TABLE kernel_rules (kernel INTEGER, name TEXT, type TEXT, description TEXT, speedup_type TEXT,
                           speedup_percent REAL);
CREATE TABLE collective_results (collective TEXT, data_type TEXT, operation TEXT, bytes INTEGER, ranks INTEGER,
                                 in_place INTEGER, seconds REAL, algorithm_bandwidth REAL, bus_bandwidth REAL,
                                 wrong INTEGER);
CREATE VIEW events AS
  SELECT e.rank, e.id, e.start_ns, e.duration_ns, e.start_ns + e.duration_ns AS end_ns, e.kind, n.name,
         e.track, t.kind AS track_kind, t.process, t.thread, t.device, t.name AS track_name, e.correlation, e.link,
         e.value, e.detail,
         CASE WHEN e.kind = 'op' THEN
           (SELECT s.name FROM names s WHERE s.rank = e.rank AND s.id = e.detail AND s.id > 0)
         END AS input_shapes
  FROM raw_events e JOIN names n ON n.rank = e.rank AND n.id = e.name_id
                    JOIN tracks t ON t.rank = e.rank AND t.id = e.track;
CREATE VIEW kernels AS
  SELECT e.rank, e.id, e.start_ns, e.duration_ns, n.name, t.device, t.thread AS stream, e.correlation, e.link,
         s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z, s.registers_per_thread, s.shared_bytes,
         s.blocks_per_sm, s.occupancy, s.graph_id
  FROM raw_events e JOIN names n ON n.rank = e.rank AND n.id = e.name_id
                    JOIN tracks t ON t.rank = e.rank AND t.id = e.track
                    JOIN launch_shapes s ON s.rank = e.rank AND s.id = e.detail
  WHERE e.kind = 'kernel';
)sql";

constexpr const char* kIndexes = R"sql(
CREATE INDEX raw_events_by_kind ON raw_events (kind, rank);
CREATE INDEX raw_events_by_correlation ON raw_events (correlation) WHERE correlation <> 0;
)sql";

constexpr auto kTrackKindNames = in_order(TrackKind::other, "cpu_thread", "gpu_stream", "other");
const char* track_kind_name(TrackKind kind) { return name_in(kTrackKindNames, static_cast<std::int64_t>(kind)); }

/// An INSERT with its values bound from left to right.
class Insert {
 public:
  explicit Insert(Statement statement) : statement_(std::move(statement)) {}
  template <typename... Values>
  Status operator()(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
    return statement_.run();
  }

 private:
  void bind(int index, std::int64_t value) { statement_.bind(index, value); }
  void bind(int index, std::uint32_t value) { statement_.bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, int value) { statement_.bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, std::size_t value) { statement_.bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, double value) {
    if (std::isnan(value)) {
      statement_.bind_null(index);
    } else {
      statement_.bind(index, value);
    }
  }
  void bind(int index, std::string_view value) { statement_.bind(index, value); }
  void bind(int index, const std::string& value) { statement_.bind(index, std::string_view(value)); }
  void bind(int index, const char* value) { statement_.bind(index, std::string_view(value)); }

  Statement statement_;
};

Result<Insert> insert_into(const Database& database, const char* table, int columns) {
  std::string sql = std::string("INSERT INTO ") + table + " VALUES (?";
  for (int i = 1; i < columns; ++i) sql += ",?";
  WM_ASSIGN(Statement statement, database.prepare(sql + ")"));
  return Insert(std::move(statement));
}

double or_nan(float value) { return value < 0 ? std::nan("") : static_cast<double>(value); }

/// -1 is what belongs to no timeline; the only one of a session may not say its rank.
int number_of(const Timeline& timeline) { return std::max(0, timeline.rank); }

Status fill_facts(const Timeline& timeline, const Database& database) {
  const int rank = number_of(timeline);
  WM_ASSIGN(Insert ranks, insert_into(database, "ranks", 6));
  WM_TRY(ranks(rank, timeline.world_size, timeline.source, timeline.format, timeline.host, timeline.origin_ns));
  WM_ASSIGN(Insert metadata, insert_into(database, "metadata", 3));
  for (const auto& [key, value] : timeline.metadata) WM_TRY(metadata(rank, key, value));
  WM_ASSIGN(Insert gpus, insert_into(database, "gpus", 8));
  for (const GpuInfo& gpu : timeline.gpus) {
    const std::string capability = std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor);
    WM_TRY(
        gpus(rank, gpu.index, gpu.name, gpu.memory_bytes, gpu.sm_count, capability, gpu.max_threads_per_sm, gpu.uuid));
  }
  WM_ASSIGN(Insert names, insert_into(database, "names", 3));
  for (NameId id = 0; id < timeline.names.size(); ++id) WM_TRY(names(rank, id, timeline.names.at(id)));
  WM_ASSIGN(Insert tracks, insert_into(database, "tracks", 7));
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    const Track& track = timeline.tracks[i];
    WM_TRY(tracks(rank, i, track_kind_name(track.kind), track.process, track.thread, track.device, track.name));
  }
  WM_ASSIGN(Insert shapes, insert_into(database, "launch_shapes", 13));
  for (std::size_t i = 0; i < timeline.launch_shapes.size(); ++i) {
    const LaunchShape& shape = timeline.launch_shapes[i];
    WM_TRY(shapes(rank, i, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1], shape.block[2],
                  shape.registers_per_thread, shape.shared_bytes, or_nan(shape.blocks_per_sm), or_nan(shape.occupancy),
                  shape.graph_id));
  }
  return {};
}

Status fill_events(const Timeline& timeline, const Database& database) {
  const int rank = number_of(timeline);
  const EventColumns& events = timeline.events;
  WM_ASSIGN(Insert insert, insert_into(database, "raw_events", 11));
  for (std::size_t i = 0; i < events.size(); ++i) {
    WM_TRY(insert(rank, i, events.start[i], events.duration[i], kind_name(events.kind[i]), events.name[i],
                  events.track[i], events.correlation[i], events.link[i], events.value[i], events.detail[i]));
  }
  WM_ASSIGN(Insert collectives, insert_into(database, "collectives", 9));
  for (const Collective& one : timeline.collectives) {
    WM_TRY(collectives(rank, one.event, timeline.names.at(one.name), timeline.names.at(one.data_type),
                       timeline.names.at(one.group), one.in_elements, one.out_elements, one.group_size, one.sequence));
  }
  return {};
}

Status fill_lists(int rank, const std::vector<CounterSeries>& counters, const std::vector<DataQualityIssue>& quality,
                  const Database& database) {
  WM_ASSIGN(Insert values, insert_into(database, "counters", 7));
  for (const CounterSeries& series : counters) {
    for (std::size_t i = 0; i < series.times.size(); ++i) {
      WM_TRY(values(rank, series.device, series.id, series.unit, series.times[i], series.values[i], series.gpu));
    }
  }
  WM_ASSIGN(Insert issues, insert_into(database, "quality", 5));
  for (const DataQualityIssue& issue : quality) WM_TRY(issues(rank, issue.id, issue.count, issue.text, issue.example));
  return {};
}

std::size_t rank_of(const KernelProfile& kernel) { return static_cast<std::size_t>(kernel.rank); }

Status fill_kernels(const ProfileSession& session, const Database& database) {
  WM_ASSIGN(Insert kernels, insert_into(database, "kernel_profiles", 11));
  WM_ASSIGN(Insert metrics, insert_into(database, "kernel_metrics", 4));
  WM_ASSIGN(Insert rules, insert_into(database, "kernel_rules", 6));
  for (std::size_t i = 0; i < session.kernels.size(); ++i) {
    const KernelProfile& kernel = session.kernels[i];
    const bool joined = kernel.rank >= 0 && rank_of(kernel) < session.ranks.size();
    WM_TRY(kernels(i, kernel.process, kernel.name, kernel.grid, kernel.block, kernel.stream, kernel.device,
                   kernel.compute_capability, kernel.ordinal, joined ? number_of(session.ranks[rank_of(kernel)]) : -1,
                   joined ? static_cast<std::int64_t>(kernel.event) : -1));
    for (std::size_t k = 0; k < kernel.metrics.size(); ++k) {
      const KernelMetric metric = kernel.metrics[k];
      WM_TRY(metrics(i, std::string(metric.id), std::string(metric.unit), metric.value));
    }
    for (const KernelRuleText& rule : kernel.rules) {
      WM_TRY(rules(i, rule.name, rule.type, rule.description, rule.speedup_type, rule.speedup_percent));
    }
  }
  WM_ASSIGN(Insert results, insert_into(database, "collective_results", 10));
  for (const CollectiveResult& one : session.collectives) {
    WM_TRY(results(one.collective, one.data_type, one.operation, one.bytes, one.ranks, one.in_place ? 1 : 0,
                   one.seconds, one.algorithm_bandwidth, one.bus_bandwidth,
                   one.wrong ? static_cast<double>(*one.wrong) : std::nan("")));
  }
  return {};
}

Status fill_file(const ProfileSession& session, const std::filesystem::path& path) {
  WM_ASSIGN(const Database database, Database::create(path));
  return fill_tables(session, database);
}

Status write_sqlite_tables(const ProfileSession& session, const std::filesystem::path& path) {
  const auto temporary = temporary_for(path);
  std::error_code code;
  std::filesystem::remove(temporary, code);
  const Status status = fill_file(session, temporary);
  if (status.ok()) return put_in_place(temporary, path);
  std::filesystem::remove(temporary, code);
  return status;
}

}  // namespace

Status fill_tables(const ProfileSession& session, const Database& database) {
  WM_TRY(database.execute(kSchema));
  WM_TRY(database.execute("BEGIN"));
  for (const Timeline& timeline : session.ranks) {
    WM_TRY(fill_facts(timeline, database));
    WM_TRY(fill_events(timeline, database));
    WM_TRY(fill_lists(number_of(timeline), timeline.counters, timeline.quality, database));
  }
  WM_TRY(fill_lists(-1, session.counters, session.quality, database));
  WM_TRY(fill_kernels(session, database));
  WM_TRY(database.execute("COMMIT"));
  return database.execute(kIndexes);
}

constexpr auto kEventKindNames = in_order(EventKind::other, "op", "annotation", "runtime_api", "driver_api", "os_call",
                                          "python", "cpu_sample", "overhead", "allocation", "mark", "gpu_annotation",
                                          "kernel", "memcpy", "memset", "graph", "sync_record", "other");
const char* kind_name(EventKind kind) { return name_in(kEventKindNames, static_cast<std::int64_t>(kind)); }

extern const Writer kSqliteWriter = {"sqlite", "SQLite tables for questions of your own (docs/profile-sql.md)",
                                     "sqlite", write_sqlite_tables};

}  // namespace warpmark::profile
