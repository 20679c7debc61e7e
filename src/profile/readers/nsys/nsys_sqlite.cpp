// The SQLite file that `nsys export --type sqlite` makes of an Nsight Systems report.
// Schema: the documentation of Nsight Systems, "SQLite Schema Reference"; probed against a 2024.6 export. One process
// with CUDA work becomes one timeline, so that a report of a whole node becomes its ranks.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "profile/catalog.h"
#include "profile/readers/nsys/nsys_events.h"
#include "profile/readers/rocprof/rocprof_kinds.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

Sniff sniff_nsys_sqlite(std::string_view head) {
  if (!head.starts_with("SQLite format 3")) return {};
  // The first page holds the begin of the schema; which tables fit is a matter of luck, but these are made early.
  for (const char* word : {"CUPTI_ACTIVITY_KIND", "StringIds", "META_DATA_EXPORT", "META_DATA_CAPTURE",
                           "EXPORT_META_DATA", "ENUM_NSYS_EVENT_TYPE", "TARGET_INFO_", "NVTX_EVENTS", "OSRT_API"}) {
    if (head.find(word) != std::string_view::npos) return {95, ""};
  }
  return {20, ""};
}

Status read_nsys_sqlite(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  WM_ASSIGN(const NsysTables tables, NsysTables::open(source));
  const bool is_nsys = tables.has("StringIds") || tables.has("CUPTI_ACTIVITY_KIND_KERNEL") || tables.has("NVTX_EVENTS");
  if (!is_nsys && tables.has("raw_events") && tables.has("launch_shapes")) {
    return data_error(
        "these are the tables that warpmark convert --to sqlite writes: for sqlite3, not to be read again",
        "give the profile that they were made of");
  }
  if (!is_nsys && is_rocprof_database(tables)) return read_rocprof_tables(tables, session);
  if (!is_nsys) {
    return data_error("this SQLite database is no export of Nsight Systems: the table StringIds is missing",
                      "make it with: nsys export --type sqlite --force-overwrite true FILE.nsys-rep");
  }
  NsysEvents events(tables);
  WM_TRY(events.read());
  events.finish(session);
  if (!source.damage().empty()) count_issue(session.quality, source.damage_id(), source.damage());
  return {};
}

constexpr std::size_t kMostSeries = 1 << 12;  // of sampled metrics; nsys samples some 50 of a GPU

struct MetricName {
  std::string_view part;  ///< of the name, as versions add suffixes like " [Throughput %]"
  const char* id;
};

constexpr MetricName kMetricNames[] = {
    {"GPC Clock Frequency", "sm_clock"},
    {"SYS Clock Frequency", "system_clock"},
    {"SMs Active", "sm_active"},
    {"SM Active", "sm_active"},
    {"SM Issue", "sm_issue"},
    {"Tensor Active", "tensor_active"},
    {"GR Active", "graphics_active"},
    {"DRAM Read", "dram_read"},
    {"DRAM Write", "dram_write"},
    {"DRAM Active", "dram_active"},
    {"PCIe RX", "pcie_rx_utilization"},
    {"PCIe TX", "pcie_tx_utilization"},
    {"NVLink RX", "nvlink_rx_utilization"},
    {"NVLink TX", "nvlink_tx_utilization"},
};

std::string metric_id(std::string_view name) {
  for (const MetricName& known : kMetricNames) {
    if (name.starts_with(known.part)) return known.id;
  }
  std::string id;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || is_digit(c);
    if (letter) {
      id += c;
    } else if (c >= 'A' && c <= 'Z') {
      id += static_cast<char>(c - 'A' + 'a');
    } else if (!id.empty() && id.back() != '_') {
      id += '_';
    }
  }
  while (id.ends_with('_')) id.pop_back();
  return id.empty() ? "metric" : id;
}

}  // namespace

extern const TraceReader kNsysSqliteReader = {"nsys_sqlite", "Nsight Systems, nsys export --type sqlite",
                                              sniff_nsys_sqlite, read_nsys_sqlite};

Status NsysEvents::read_ranges() {
  constexpr std::int64_t kMark = 34, kPushPop = 59, kStartEnd = 60;
  return each("NVTX_EVENTS", {"start", "end", "globalTid", "eventType", "text", "textId"}, [&](Statement& row) {
    const std::int64_t type = row.integer(3);
    (void)row.text(4);  // of every row, as step() demands
    if (type != kMark && type != kPushPop && type != kStartEnd) return;
    Process& owner = process(process_of(row.integer(2)));
    const NameId text = row.is_null(4) ? name(owner, row.integer(5)) : owner.builder.intern(text_of(row, 4));
    if (type != kMark && row.is_null(1)) {
      owner.builder.issue("open_range", "NVTX ranges that never end: taken as instants",
                          owner.builder.facts().names.at(text));
    }
    add(owner, row,
        {.name = text,
         .track = cpu_track(owner, row.integer(2)),
         .kind = type == kMark ? EventKind::mark : EventKind::annotation});
  });
}

Status NsysEvents::read_memory() {
  return each("CUDA_GPU_MEMORY_USAGE_EVENTS",
              {"start", "start", "globalPid", "deviceId", "bytes", "memKind", "memoryOperationType", "correlationId"},
              [&](Statement& row) {
                constexpr std::int64_t kFree = 1, kPageable = 0, kPinned = 1;
                Process& owner = process(process_of(row.integer(2)));
                const bool on_host = !row.is_null(5) && (row.integer(5) == kPageable || row.integer(5) == kPinned);
                const std::int64_t bytes = std::max<std::int64_t>(row.integer(4), 0);
                add(owner, row,
                    {.value = row.integer(6) == kFree ? -bytes : bytes,
                     .name = owner.builder.intern("[memory]"),
                     .track = cpu_track(owner, row.integer(2)),
                     .correlation = static_cast<std::uint32_t>(row.integer(7)),
                     .detail = on_host ? 0U : 1U,
                     .kind = EventKind::allocation});
              });
}

/// Of unified memory, with --cuda-um-cpu-page-faults and --cuda-um-gpu-page-faults: their sums, as metadata.
Status NsysEvents::read_page_faults() {
  std::map<std::int64_t, std::int64_t> on_cpu, on_gpu;  // by process
  WM_TRY(each("CUDA_UM_CPU_PAGE_FAULT_EVENTS", {"globalPid"},
              [&](Statement& row) { ++on_cpu[process_of(row.integer(0))]; }));
  WM_TRY(each("CUDA_UM_GPU_PAGE_FAULT_EVENTS", {"globalPid", "numberOfPageFaults"}, [&](Statement& row) {
    on_gpu[process_of(row.integer(0))] += std::clamp<std::int64_t>(row.integer(1), 0, UINT32_MAX);
  }));
  for (const auto& [id, faults] : on_cpu) {
    process(id).builder.add_metadata("unified_memory_cpu_page_faults", std::to_string(faults));
  }
  for (const auto& [id, faults] : on_gpu) {
    process(id).builder.add_metadata("unified_memory_gpu_page_faults", std::to_string(faults));
  }
  return {};
}

Status NsysEvents::read_metrics() {
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> names;  // by type and metric
  WM_TRY(each("TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"}, [&](Statement& row) {
    names[{row.integer(0), row.integer(1)}] = text_of(row, 2);
  }));
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> series;
  return each("GPU_METRICS", {"timestamp|rawTimestamp", "typeId", "metricId", "value"}, [&](Statement& row) {
    const std::pair key{row.integer(1), row.integer(2)};
    if (series.size() >= kMostSeries && !series.contains(key)) return;
    const auto [known, added] = series.try_emplace(key, counters_.size());
    const std::string& name = names[key];
    const bool is_share = name.find('%') != std::string::npos;
    const bool is_clock = name.find("Clock Frequency") != std::string::npos;
    if (added) {
      // The low byte of the type is the GPU.
      counters_.push_back({metric_id(name), is_clock ? "Hz" : "", static_cast<int>(key.first & 0xFF), {}, {}});
    }
    CounterSeries& to = counters_[known->second];
    to.times.push_back(row.integer(0));
    const bool in_megahertz = is_clock && name.find("MHz") != std::string::npos;
    to.values.push_back(row.number(3) * (is_share ? 0.01 : in_megahertz ? 1e6 : 1));
  });
}

void NsysEvents::finish(ProfileSession& session) {
  for (CounterSeries& series : counters_) {
    for (std::int64_t& time : series.times) time = __builtin_add_overflow(time, utc_ns_, &time) ? 0 : time;
    std::vector<std::pair<std::int64_t, double>> points;
    for (std::size_t i = 0; i < series.times.size(); ++i) points.emplace_back(series.times[i], series.values[i]);
    std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < points.size(); ++i) std::tie(series.times[i], series.values[i]) = points[i];
    session.counters.push_back(std::move(series));
  }
  std::int64_t left_out = 0;
  std::size_t added = 0;
  for (auto& [id, process] : processes_) {
    const bool wanted = with_gpu_.empty() ? process.builder.size() > 0 : with_gpu_.contains(id);
    if (!wanted) {
      left_out += static_cast<std::int64_t>(process.builder.size());
      for (const auto& issue : process.builder.facts().quality) {
        count_issue(session.quality, issue.id, issue.text, issue.example, issue.count);
      }
      continue;
    }
    process.builder.set_clock_origin(utc_ns_);
    process.builder.facts().gpus = gpus_;
    process.builder.add_metadata("process", std::to_string(id));
    session.ranks.push_back(process.builder.finish());
    ++added;
  }
  if (left_out > 0) {
    count_issue(session.quality, "other_process", "events of processes that did not use the GPU: left out", "",
                left_out);
  }
  if (added == 0 && session.counters.empty()) {
    count_issue(session.quality, "no_events",
                "the export of Nsight Systems holds no events of the kinds that are read");
  }
}

}  // namespace warpmark::profile
