// Schemas: rocprofiler-sdk, source/share/rocprofiler-sdk-rocpd/*.sql; ROCm/rocmProfileData, rocpd_python's schema;
// ROCm/rocprofiler, bin/sqlitedb.py and tblextr.py. Of rocpd and rocprof, each process becomes one timeline.
#include "profile/readers/rocprof/rocprof_kinds.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "profile/readers/text/decimal.h"
#include "profile/readers/text/json_text.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

constexpr std::size_t kMostFactBytes = 1 << 16;  // of the JSON of one event

/// The number behind "key": in a JSON of 100 KB of which a few numbers are wanted.
std::int64_t number_in(std::string_view json, std::string_view key) {
  const auto at = json.find("\"" + std::string(key) + "\":");
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = json.substr(at + key.size() + 3, 20);
  return parse_integer(rest.substr(0, rest.find_first_not_of("0123456789"))).value_or(0);
}

std::string message_in(std::string_view json) {
  if (json.size() > kMostFactBytes || json.find("\"message\"") == std::string_view::npos) return "";
  const Json facts = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const auto message = facts.is_object() ? facts.find("message") : facts.end();
  return message != facts.end() && message->is_string() ? message->get<std::string>() : "";
}

using Texts = std::unordered_map<std::int64_t, std::string>;

const std::string& text_at(const Texts& texts, std::int64_t id) {
  static const std::string kNone;
  const auto found = texts.find(id);
  return found == texts.end() ? kNone : found->second;
}

class RocprofDatabase {
 public:
  explicit RocprofDatabase(const NsysTables& tables) : tables_(tables), allowance_(tables.allowance()) {}

  [[nodiscard]] Status read() {
    for (const std::string& table : tables_.names(kDispatches)) WM_TRY(read_rocpd(table.substr(kDispatches.size())));
    WM_TRY(read_rpd());
    return read_rocprof();
  }

  /// Of processes without GPU work only if none has any.
  void finish(ProfileSession& session) {
    const bool any_gpu = std::ranges::any_of(processes_, [](const auto& one) { return one.second.has_gpu; });
    for (auto& [id, process] : processes_) {
      if (process.builder.size() == 0 || (any_gpu && !process.has_gpu)) continue;
      process.builder.facts().gpus = gpus_;
      process.builder.facts().host = host_;
      process.builder.add_metadata("process", std::to_string(id.second));
      session.ranks.push_back(process.builder.finish());
    }
  }

  inline static const std::string kDispatches = "rocpd_kernel_dispatch";

 private:
  using ProcessId = std::pair<std::string, std::int64_t>;  ///< with the UUID of its tables
  struct Process {
    TimelineBuilder builder;
    bool has_gpu = false;
  };
  /// What rocpd keeps of all kinds of records.
  struct Record {
    std::uint32_t correlation = 0;
    EventKind kind = EventKind::other;
    std::string message;  ///< of a range of roctx
  };
  struct Launch {
    LaunchShape shape;
    std::int64_t bytes = 0;
  };

  template <typename Row>
  Status each(const std::string& table, std::initializer_list<const char*> columns, Row row) {
    WM_ASSIGN(const bool whole, each_row(tables_, table, columns, allowance_, row));
    if (!whole) process({}).builder.issue("damaged_table", "tables that could not be read to their end", table);
    return {};
  }

  Process& process(const ProcessId& id) {
    return processes_[processes_.size() < kMostProcesses || processes_.contains(id) ? id : ProcessId()];
  }

  std::string text_of(const Statement& row, int column) {
    const std::string_view raw = row.text(column);
    return allowance_.take_text(raw.size()) ? fix_utf8(raw) : std::string();
  }

  Status read_texts(const std::string& table, std::initializer_list<const char*> columns, Texts& texts) {
    return each(table, columns, [&](Statement& row) { texts[row.integer(0)] = text_of(row, 1); });
  }

  /// Columns 0 and 1 of every table of records are start and end.
  void add(Process& process, Statement& row, NewEvent event) {
    event.start = row.integer(0);
    if (!row.is_null(1) && __builtin_sub_overflow(row.integer(1), event.start, &event.duration))
      event.duration = INT64_MAX;
    process.has_gpu |= is_gpu_work(event.kind);
    (void)process.builder.add(event);
  }

  static std::uint32_t stream(Process& process, int device, std::int64_t stream, std::int64_t queue) {
    return process.builder.track({TrackKind::gpu_stream, 0, stream != 0 ? stream : queue, device, ""});
  }
  static std::uint32_t thread(Process& process, std::int64_t pid, std::int64_t tid) {
    return process.builder.track({TrackKind::cpu_thread, pid, tid, -1, ""});
  }

  Status read_rocpd(const std::string& suffix);
  Status read_agents(const std::string& suffix, std::map<std::int64_t, int>& devices);
  Status read_rpd();
  Status read_rocprof();
  Status read_rocprof_work(const char* table, EventKind kind);
  Status read_rocprof_calls(const char* table, EventKind kind);

  const NsysTables& tables_;
  Allowance allowance_;
  std::map<ProcessId, Process> processes_;
  std::vector<GpuInfo> gpus_;
  std::string host_;
};

Status RocprofDatabase::read_agents(const std::string& suffix, std::map<std::int64_t, int>& devices) {
  WM_TRY(each("rocpd_info_node" + suffix, {"hostname"}, [&](Statement& row) { host_ = text_of(row, 0); }));
  return each("rocpd_info_agent" + suffix,
              {"id", "type", "type_index|logical_index", "product_name", "name", "extdata"}, [&](Statement& row) {
                const std::string type = text_of(row, 1), product = text_of(row, 3), name = text_of(row, 4);
                const std::string_view facts = row.text(5);
                if (type != "GPU") return;
                const int index = to_small(row.integer(2));
                devices[row.integer(0)] = index;
                gpus_.push_back({.index = index,
                                 .name = product.empty() ? name : product,
                                 .sm_count = to_small(number_in(facts, "cu_count")),
                                 .max_threads_per_sm = to_small(number_in(facts, "max_waves_per_cu") *
                                                                number_in(facts, "wave_front_size"))});
              });
}

Status RocprofDatabase::read_rocpd(const std::string& suffix) {
  Texts texts, kernels;
  std::map<std::int64_t, int> devices;  // by agent
  std::unordered_map<std::int64_t, Record> records;
  WM_TRY(read_texts("rocpd_string" + suffix, {"id", "string"}, texts));
  WM_TRY(read_texts("rocpd_info_kernel_symbol" + suffix, {"id", "display_name|kernel_name"}, kernels));
  WM_TRY(read_agents(suffix, devices));
  const auto device_of = [&](std::int64_t agent) { return devices.contains(agent) ? devices[agent] : 0; };
  const auto record_of = [&](std::int64_t id) -> const Record& { return records[id]; };
  WM_TRY(each("rocpd_event" + suffix, {"id", "stack_id|correlation_id", "category_id", "extdata"}, [&](Statement& row) {
    const EventKind kind = rocprof_call_kind(text_at(texts, row.integer(2)));
    const std::string_view facts = row.text(3);
    records[row.integer(0)] = {static_cast<std::uint32_t>(row.integer(1)), kind,
                               kind == EventKind::annotation ? fix_utf8(message_in(facts)) : ""};
  }));
  WM_TRY(each(
      kDispatches + suffix,
      {"start", "end", "pid", "agent_id", "queue_id", "stream_id", "kernel_id", "event_id", "group_segment_size",
       "workgroup_size_x", "workgroup_size_y", "workgroup_size_z", "grid_size_x", "grid_size_y", "grid_size_z"},
      [&](Statement& row) {
        Process& owner = process({suffix, row.integer(2)});
        const LaunchShape shape = rocprof_shape({row.integer(12), row.integer(13), row.integer(14)},
                                                {row.integer(9), row.integer(10), row.integer(11)}, row.integer(8));
        add(owner, row,
            {.name = owner.builder.intern(text_at(kernels, row.integer(6))),
             .track = stream(owner, device_of(row.integer(3)), row.integer(5), row.integer(4)),
             .correlation = record_of(row.integer(7)).correlation,
             .detail = owner.builder.launch_shape(shape),
             .kind = EventKind::kernel});
      }));
  WM_TRY(each(
      "rocpd_memory_copy" + suffix,
      {"start", "end", "pid", "dst_agent_id", "src_agent_id", "queue_id", "stream_id", "name_id", "size", "event_id"},
      [&](Statement& row) {
        Process& owner = process({suffix, row.integer(2)});
        const std::string& name = text_at(texts, row.integer(7));
        const CopyKind kind = rocprof_copy_kind(name);
        const int device = device_of(row.integer(kind == CopyKind::host_to_device ? 3 : 4));
        add(owner, row,
            {.value = row.integer(8),
             .name = owner.builder.intern(name),
             .track = stream(owner, device, row.integer(6), row.integer(5)),
             .correlation = record_of(row.integer(9)).correlation,
             .detail = copy_detail(kind, HostMemory::unknown),
             .kind = EventKind::memcpy});
      }));
  return each("rocpd_region" + suffix, {"start", "end", "pid", "tid", "name_id", "event_id"}, [&](Statement& row) {
    Process& owner = process({suffix, row.integer(2)});
    const Record& record = record_of(row.integer(5));
    const std::string& name = text_at(texts, row.integer(4));
    add(owner, row,
        {.name = owner.builder.intern(record.message.empty() ? name : record.message),
         .track = thread(owner, row.integer(2), row.integer(3)),
         .correlation = record.correlation,
         .kind = record.kind});
  });
}

/// An operation knows no process: it has that of the call that started it, else that of any call.
Status RocprofDatabase::read_rpd() {
  if (!tables_.has("rocpd_op") && !tables_.has("rocpd_api")) return {};
  Texts texts, arguments;
  std::unordered_map<std::int64_t, std::int64_t> process_of_call, call_of;
  std::unordered_map<std::int64_t, Launch> launches;  // by call
  std::int64_t last_process = 0;
  WM_TRY(read_texts("rocpd_string", {"id", "string"}, texts));
  WM_TRY(read_texts("rocpd_ustring", {"id", "string"}, arguments));
  const Texts& of_arguments = tables_.has("rocpd_ustring") ? arguments : texts;
  WM_TRY(each("rocpd_api_ops", {"op_id", "api_id"}, [&](Statement& row) { call_of[row.integer(0)] = row.integer(1); }));
  WM_TRY(each(
      "rocpd_kernelapi",
      {"api_ptr_id|api_id", "gridX", "gridY", "gridZ", "workgroupX", "workgroupY", "workgroupZ", "groupSegmentSize"},
      [&](Statement& row) {
        const std::array<std::int64_t, 3> block{row.integer(4), row.integer(5), row.integer(6)};
        LaunchShape& shape = launches[row.integer(0)].shape;  // unlike in rocpd, grids are in work groups
        shape = rocprof_shape({row.integer(1), row.integer(2), row.integer(3)}, {}, row.integer(7));
        std::ranges::copy(rocprof_shape(block, {}, 0).grid, shape.block);
      }));
  WM_TRY(each("rocpd_copyapi", {"api_ptr_id|api_id", "size"},
              [&](Statement& row) { launches[row.integer(0)].bytes = row.integer(1); }));
  WM_TRY(each("rocpd_api", {"start", "end", "id", "pid", "tid", "apiName_id", "args_id"}, [&](Statement& row) {
    last_process = process_of_call[row.integer(2)] = row.integer(3);
    Process& owner = process({"", last_process});
    const std::string& name = text_at(texts, row.integer(5));
    const bool is_hip = name.starts_with("hip"), is_hsa = name.starts_with("hsa");
    const bool is_marker = name == "UserMarker";
    add(owner, row,
        {.name = owner.builder.intern(is_marker ? text_at(of_arguments, row.integer(6)) : name),
         .track = thread(owner, last_process, row.integer(4)),
         .correlation = static_cast<std::uint32_t>(row.integer(2)),
         .kind = is_hip   ? EventKind::runtime_api
                 : is_hsa ? EventKind::driver_api
                          : EventKind::annotation});
  }));
  return each(
      "rocpd_op", {"start", "end", "id", "gpuId", "queueId", "opType_id", "description_id"}, [&](Statement& row) {
        const std::string &type = text_at(texts, row.integer(5)), &name = text_at(texts, row.integer(6));
        const bool copies = type.starts_with("Copy"), fills = type.starts_with("Fill") || type.starts_with("Memset");
        if (type.find("Marker") != std::string::npos || type.find("Barrier") != std::string::npos) return;
        const auto call = call_of.find(row.integer(2));
        const std::int64_t api = call == call_of.end() ? 0 : call->second;
        const auto known = process_of_call.find(api);
        Process& owner = process({"", known == process_of_call.end() ? last_process : known->second});
        NewEvent event{.name = owner.builder.intern(name.empty() ? type : name),
                       .track = stream(owner, to_small(row.integer(3)), row.integer(4), 0),
                       .correlation = static_cast<std::uint32_t>(api),
                       .kind = copies  ? EventKind::memcpy
                               : fills ? EventKind::memset
                                       : EventKind::kernel};
        const auto launch = launches.find(api);
        if (launch != launches.end() && event.kind == EventKind::kernel) {
          event.detail = owner.builder.launch_shape(launch->second.shape);
        } else if (launch != launches.end()) {
          event.value = launch->second.bytes;
        }
        if (copies) event.detail = copy_detail(rocprof_copy_kind(type), HostMemory::unknown);
        add(owner, row, event);
      });
}

/// The index of work is that of the HIP call that started it.
Status RocprofDatabase::read_rocprof_work(const char* table, EventKind kind) {
  return each(table, {"BeginNs", "EndNs", "pid", "dev-id", "stream-id", "queue-id", "Name", "Index"},
              [&](Statement& row) {
                Process& owner = process({"", row.integer(2)});
                const std::string name = text_of(row, 6);
                const bool copies = kind == EventKind::memcpy;
                add(owner, row,
                    {.name = owner.builder.intern(name),
                     .track = stream(owner, to_small(row.integer(3)), row.integer(4), row.integer(5)),
                     .correlation = static_cast<std::uint32_t>(row.integer(7)),
                     .detail = copies ? copy_detail(rocprof_copy_kind(name), HostMemory::unknown) : 0,
                     .kind = kind});
              });
}

Status RocprofDatabase::read_rocprof_calls(const char* table, EventKind kind) {
  return each(table, {"BeginNs", "EndNs", "pid", "tid", "Name", "Index"}, [&](Statement& row) {
    Process& owner = process({"", row.integer(2)});
    const bool starts_work = kind == EventKind::runtime_api;
    add(owner, row,
        {.name = owner.builder.intern(text_of(row, 4)),
         .track = thread(owner, row.integer(2), row.integer(3)),
         .correlation = starts_work ? static_cast<std::uint32_t>(row.integer(5)) : 0,
         .kind = kind});
  });
}

Status RocprofDatabase::read_rocprof() {
  WM_TRY(read_rocprof_work("OPS", EventKind::kernel));
  WM_TRY(read_rocprof_work("COPY", EventKind::memcpy));
  WM_TRY(read_rocprof_calls("HIP", EventKind::runtime_api));
  WM_TRY(read_rocprof_calls("HSA", EventKind::driver_api));
  return read_rocprof_calls("rocTX", EventKind::annotation);
}

Sniff sniff_rocprof_sqlite(std::string_view head) {
  const auto has = [head](std::string_view word) { return head.find(word) != std::string_view::npos; };
  return {head.starts_with("SQLite format 3") && (has("rocpd_") || (has("BeginNs") && has("DurationNs"))) ? 96 : 0, ""};
}

Status read_rocprof_sqlite(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  WM_ASSIGN(const NsysTables tables, NsysTables::open(source));
  WM_TRY(read_rocprof_tables(tables, session));
  if (!source.damage().empty()) count_issue(session.quality, source.damage_id(), source.damage());
  return {};
}

}  // namespace

bool is_rocprof_database(const NsysTables& tables) {
  const bool of_rocprof = tables.has("OPS") || tables.has("HIP") || tables.has("HSA");
  return !tables.names(RocprofDatabase::kDispatches).empty() || tables.has("rocpd_op") ||
         (of_rocprof && tables.has("COPY"));
}

Status read_rocprof_tables(const NsysTables& tables, ProfileSession& session) {
  RocprofDatabase database(tables);
  WM_TRY(database.read());
  const std::size_t before = session.ranks.size();
  database.finish(session);
  for (std::size_t i = before; i < session.ranks.size(); ++i) session.ranks[i].format = kRocprofSqliteReader.id;
  if (session.ranks.size() > before) return {};
  return data_error("this SQLite database of rocprof holds no kernels, copies or calls",
                    "record some: rocprofv3 --sys-trace -- <command>");
}

extern const TraceReader kRocprofSqliteReader = {"rocprof_sqlite", "SQLite of AMD's rocprofv3 (rocpd), rocprof or RPD",
                                                 sniff_rocprof_sqlite, read_rocprof_sqlite};

}  // namespace warpmark::profile
