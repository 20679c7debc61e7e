#include "profile/readers/nsys/nsys_events.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "model/fields/names.h"
#include "profile/readers/text/json_text.h"

namespace warpmark::profile {
namespace {

// Enumerations of the export: ENUM_CUDA_MEMCPY_OPER, ENUM_CUDA_MEM_KIND, ENUM_CUPTI_SYNC_TYPE, ENUM_NSYS_EVENT_TYPE.
CopyKind copy_kind_of(std::int64_t code) {
  switch (code) {
    case 1: return CopyKind::host_to_device;
    case 2: return CopyKind::device_to_host;
    case 8: return CopyKind::device_to_device;
    case 9: return CopyKind::host_to_host;
    case 10: return CopyKind::peer_to_peer;
    case 11: return CopyKind::host_to_device;  // 11 to 13: pages of unified memory that migrate
    case 12: return CopyKind::device_to_host;
    case 13: return CopyKind::device_to_device;
    default: return CopyKind::unknown;
  }
}

/// The driver moves pages by itself: no call asks for it, and no stream orders it.
bool is_page_migration(std::int64_t code) { return code >= 11 && code <= 13; }

HostMemory host_memory_of(std::int64_t code) {
  switch (code) {
    case 0: return HostMemory::pageable;
    case 1: return HostMemory::pinned;
    case 4:
    case 6: return HostMemory::managed;
    default: return HostMemory::unknown;
  }
}

SyncKind sync_kind_of(std::int64_t code) {
  return code >= 1 && code <= 4 ? static_cast<SyncKind>(code) : SyncKind::unknown;
}

constexpr auto kCopyKindNames = in_order(CopyKind::host_to_host, "Memcpy", "Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD",
                                         "Memcpy PtoP", "Memcpy HtoH");
constexpr const char* copy_name(CopyKind kind) { return name_in(kCopyKindNames, static_cast<std::int64_t>(kind)); }

/// "Page migration HtoD (page fault)"; causes: ENUM_CUDA_UNIF_MEM_MIGRATION.
std::string migration_name(CopyKind kind, std::int64_t cause) {
  constexpr std::array kCauses = {"",
                                  " (prefetch by the program)",
                                  " (page fault)",
                                  " (speculative prefetch)",
                                  " (eviction)",
                                  " (access counters)"};
  const bool known = cause > 0 && cause < std::ssize(kCauses);
  return "Page migration" + std::string(copy_name(kind)).substr(std::string_view("Memcpy").size()) +
         kCauses[known ? static_cast<std::size_t>(cause) : 0];
}

std::uint32_t to_count(const Statement& row, int column) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(row.integer(column), 0, UINT32_MAX));
}

/// "cudaLaunchKernel_v7000" is the name of the call and its version.
std::string_view without_version(std::string_view name) {
  const auto at = name.rfind("_v");
  if (at == std::string_view::npos || at + 2 == name.size()) return name;
  const auto digits = name.substr(at + 2);
  const bool is_version = std::all_of(digits.begin(), digits.end(), is_digit);
  return is_version && name.starts_with("cu") ? name.substr(0, at) : name;
}

/// Driver calls are in the same table as the runtime's: cuLaunchKernel, but cudaLaunchKernel.
bool is_driver_call(std::string_view name) {
  return name.starts_with("cu") && name.size() > 2 && name[2] >= 'A' && name[2] <= 'Z';
}

std::string sql_name(const std::string& name) {
  std::string result = "\"";
  for (const char c : name) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

constexpr std::size_t kMostMemoryBytes = std::size_t{1} << 30;  // of an export that is not a plain file
constexpr std::int64_t kLeastRowBytes = 6;                      // a cell of NULLs and its entry in the page
constexpr std::int64_t kMostTextGrowth = 2;  // from UTF-16 to UTF-8, and all rows of a text that is stored once

}  // namespace

Status NsysEvents::read() {
  WM_TRY(read_facts());
  WM_TRY(read_kernels());
  WM_TRY(read_copies());
  WM_TRY(read_graphs());
  WM_TRY(read_syncs());
  WM_TRY(read_calls());
  WM_TRY(read_ranges());
  WM_TRY(read_memory());
  WM_TRY(read_page_faults());
  return read_metrics();
}

std::string NsysEvents::text_of(const Statement& row, int column) {
  const std::string_view raw = row.text(column);
  return allowance_.take_text(raw.size()) ? fix_utf8(raw) : std::string();
}

NsysEvents::Process& NsysEvents::process(std::int64_t id) {
  return processes_[processes_.size() < kMostProcesses || processes_.contains(id) ? id : 0];
}

NameId NsysEvents::name(Process& process, std::int64_t string_id) {
  const auto [known, added] = process.names.try_emplace(string_id, 0);
  if (added) known->second = process.builder.intern(without_version(tables_.string(string_id)));
  return known->second;
}

/// Columns 0 and 1 of every table of events are its start and end. Without an end it was running when recording
/// stopped.
void NsysEvents::add(Process& process, Statement& row, NewEvent event) {
  if (row.is_null(0)) {
    process.builder.issue("no_time", "events without a start: left out", process.builder.facts().names.at(event.name));
    return;
  }
  event.start = row.integer(0);
  if (!row.is_null(1) && __builtin_sub_overflow(row.integer(1), event.start, &event.duration))
    event.duration = INT64_MAX;
  (void)process.builder.add(event);
}

std::uint32_t NsysEvents::cpu_track(Process& process, std::int64_t global_id) {
  const auto found = thread_names_.find(global_id);
  return process.builder.track({TrackKind::cpu_thread, process_of(global_id), thread_of(global_id), -1,
                                found == thread_names_.end() ? "" : found->second});
}

std::uint32_t NsysEvents::stream_track(Process& process, std::int64_t device, std::int64_t stream) {
  return process.builder.track({TrackKind::gpu_stream, 0, stream, to_small(device), ""});
}

Status NsysEvents::read_facts() {
  WM_TRY(each("TARGET_INFO_GPU",
              {"id", "name", "totalMemory", "smCount", "computeMajor", "computeMinor", "maxWarpsPerSm", "cuDevice"},
              [&](Statement& row) {
                GpuInfo gpu;
                gpu.index = to_small(row.is_null(7) ? row.integer(0) : row.integer(7));
                gpu.name = text_of(row, 1);
                gpu.memory_bytes = row.integer(2);
                gpu.sm_count = to_small(row.integer(3));
                gpu.compute_major = to_small(row.integer(4));
                gpu.compute_minor = to_small(row.integer(5));
                gpu.max_threads_per_sm = to_small(row.integer(6)) * 32;
                gpus_.push_back(gpu);
              }));
  WM_TRY(each("ThreadNames", {"globalTid", "nameId"},
              [&](Statement& row) { thread_names_[row.integer(0)] = tables_.string(row.integer(1)); }));
  return each("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [&](Statement& row) { utc_ns_ = row.integer(0); });
}

Status NsysEvents::read_kernels() {
  return each("CUPTI_ACTIVITY_KIND_KERNEL",
              {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName|shortName",
               "registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "staticSharedMemory",
               "dynamicSharedMemory", "graphId", "graphNodeId"},
              [&](Statement& row) {
                const std::int64_t id = process_of(row.integer(5));
                with_gpu_.insert(id);
                Process& owner = process(id);
                LaunchShape shape;
                for (int i = 0; i < 3; ++i) {
                  shape.grid[i] = to_count(row, 8 + i);
                  shape.block[i] = to_count(row, 11 + i);
                }
                shape.registers_per_thread = to_count(row, 7);
                shape.shared_bytes = to_count(row, 14) + to_count(row, 15);
                // Older exports have only the node, whose upper half is the graph.
                shape.graph_id =
                    row.is_null(16) ? static_cast<std::uint32_t>(row.integer(17) >> 32) : to_count(row, 16);
                add(owner, row,
                    {.name = name(owner, row.integer(6)),
                     .track = stream_track(owner, row.integer(2), row.integer(3)),
                     .correlation = to_count(row, 4),
                     .detail = owner.builder.launch_shape(shape),
                     .kind = EventKind::kernel});
              });
}

Status NsysEvents::read_copies() {
  WM_TRY(
      each("CUPTI_ACTIVITY_KIND_MEMCPY",
           {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "copyKind", "srcKind",
            "dstKind", "migrationCause"},
           [&](Statement& row) {
             const std::int64_t id = process_of(row.integer(5));
             with_gpu_.insert(id);
             Process& owner = process(id);
             const CopyKind kind = copy_kind_of(row.integer(7));
             const int host_column = kind == CopyKind::device_to_host ? 9 : 8;
             const bool is_migration = is_page_migration(row.integer(7));
             const HostMemory memory = is_migration               ? HostMemory::managed
                                       : row.is_null(host_column) ? HostMemory::unknown
                                                                  : host_memory_of(row.integer(host_column));
             add(owner, row,
                 {.value = row.integer(6),
                  .name = owner.builder.intern(is_migration ? migration_name(kind, row.integer(10)) : copy_name(kind)),
                  .track = stream_track(owner, row.integer(2), row.integer(3)),
                  .correlation = to_count(row, 4),
                  .detail = copy_detail(kind, memory),
                  .kind = EventKind::memcpy});
           }));
  return each("CUPTI_ACTIVITY_KIND_MEMSET",
              {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes"}, [&](Statement& row) {
                const std::int64_t id = process_of(row.integer(5));
                with_gpu_.insert(id);
                Process& owner = process(id);
                add(owner, row,
                    {.value = row.integer(6),
                     .name = owner.builder.intern("Memset"),
                     .track = stream_track(owner, row.integer(2), row.integer(3)),
                     .correlation = to_count(row, 4),
                     .kind = EventKind::memset});
              });
}

/// By default nsys records a graph launch as one row and none for its kernels.
Status NsysEvents::read_graphs() {
  return each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
              {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphId"}, [&](Statement& row) {
                const std::int64_t id = process_of(row.integer(5));
                with_gpu_.insert(id);
                Process& owner = process(id);
                add(owner, row,
                    {.value = row.integer(6),
                     .name = owner.builder.intern("CUDA graph " + std::to_string(row.integer(6))),
                     .track = stream_track(owner, row.integer(2), row.integer(3)),
                     .correlation = to_count(row, 4),
                     .kind = EventKind::graph});
              });
}

Status NsysEvents::read_syncs() {
  constexpr const char* kNames[] = {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
  return each("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
              {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "syncType"}, [&](Statement& row) {
                Process& owner = process(process_of(row.integer(5)));
                const SyncKind kind = sync_kind_of(row.integer(6));
                const std::int64_t stream = row.is_null(3) || row.integer(3) >= 0xFFFFFFFF ? -1 : row.integer(3);
                add(owner, row,
                    {.value = stream,
                     .name = owner.builder.intern(kNames[static_cast<std::size_t>(kind)]),
                     .track = stream_track(owner, row.integer(2), stream),
                     .correlation = to_count(row, 4),
                     .detail = static_cast<std::uint32_t>(kind),
                     .kind = EventKind::sync_record});
              });
}

Status NsysEvents::read_calls() {
  WM_TRY(each("CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "globalTid", "correlationId", "nameId"},
              [&](Statement& row) {
                Process& owner = process(process_of(row.integer(2)));
                const NameId call = name(owner, row.integer(4));
                const bool is_driver = is_driver_call(owner.builder.facts().names.at(call));
                add(owner, row,
                    {.name = call,
                     .track = cpu_track(owner, row.integer(2)),
                     .correlation = to_count(row, 3),
                     .kind = is_driver ? EventKind::driver_api : EventKind::runtime_api});
              }));
  const auto other = [&](EventKind kind) {
    return [this, kind](Statement& row) {
      Process& owner = process(process_of(row.integer(2)));
      add(owner, row, {.name = name(owner, row.integer(3)), .track = cpu_track(owner, row.integer(2)), .kind = kind});
    };
  };
  WM_TRY(each("OSRT_API", {"start", "end", "globalTid", "nameId"}, other(EventKind::os_call)));
  return each("PROFILER_OVERHEAD", {"start", "end", "globalTid", "nameId"}, other(EventKind::overhead));
}

Allowance::Allowance(std::int64_t file_bytes)
    : rows_(file_bytes / kLeastRowBytes), text_bytes_(file_bytes * kMostTextGrowth) {}

Result<NsysTables> NsysTables::open(ByteSource& source) {
  if (source.packing().empty() && !source.path().empty() && source.stored_bytes() > 0) {
    WM_ASSIGN(Database database, Database::open_read_only(source.path()));
    return open(std::move(database));
  }
  WM_ASSIGN(std::string bytes, read_all(source, kMostMemoryBytes));
  WM_ASSIGN(Database database, Database::open_bytes(std::move(bytes)));
  return open(std::move(database));
}

Result<NsysTables> NsysTables::open(Database database) {
  NsysTables tables;
  tables.database_ = std::move(database);
  WM_ASSIGN(const std::int64_t file_bytes, tables.database_.bytes());
  tables.allowance_ = Allowance(file_bytes);
  // Views are left out: what they compute is not the profiler's.
  WM_ASSIGN(Statement names, tables.database_.prepare("SELECT name FROM sqlite_master WHERE type = 'table'"));
  for (;;) {
    WM_ASSIGN(const bool row, names.step());
    if (!row || !tables.allowance_.take_row() || !tables.allowance_.take_text(names.text(0).size())) break;
    tables.columns_[std::string(names.text(0))];
  }
  for (auto& [table, columns] : tables.columns_) {
    WM_ASSIGN(Statement info, tables.database_.prepare("PRAGMA table_info(" + sql_name(table) + ")"));
    for (;;) {
      const auto row = info.step();
      if (!row.ok() || !*row) break;  // a virtual table of a module that is not here has no columns
      columns.insert(std::string(info.text(1)));
    }
  }
  if (!tables.has("StringIds")) return tables;
  WM_ASSIGN(Statement strings, tables.select("StringIds", {"id", "value"}));
  for (;;) {
    WM_ASSIGN(const bool row, strings.step());
    if (!row || !tables.allowance_.take_row() || !tables.allowance_.take_text(strings.text(1).size())) break;
    tables.strings_[strings.integer(0)] = fix_utf8(strings.text(1));
  }
  return tables;
}

std::vector<std::string> NsysTables::names(const std::string& begin) const {
  std::vector<std::string> found;
  for (auto table = columns_.lower_bound(begin); table != columns_.end() && table->first.starts_with(begin); ++table) {
    found.push_back(table->first);
  }
  return found;
}

Result<Statement> NsysTables::select(const std::string& table, std::initializer_list<const char*> columns) const {
  const auto known = columns_.find(table);
  std::string sql;
  for (const std::string column : columns) {
    const auto bar = column.find('|');
    const std::string first = column.substr(0, bar);
    const std::string second = bar == std::string::npos ? "" : column.substr(bar + 1);
    std::string found = "NULL";
    if (known != columns_.end() && known->second.contains(second)) found = sql_name(second);
    if (known != columns_.end() && known->second.contains(first)) found = sql_name(first);
    sql += (sql.empty() ? "SELECT " : ", ") + found;
  }
  return database_.prepare(sql + " FROM " + sql_name(table));
}

const std::string& NsysTables::string(std::int64_t id) const {
  static const std::string kEmpty;
  const auto found = strings_.find(id);
  return found == strings_.end() ? kEmpty : found->second;
}

}  // namespace warpmark::profile
