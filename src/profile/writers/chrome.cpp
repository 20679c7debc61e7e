// Written as Kineto writes, so that tools made for it (HTA, TensorBoard) find their fields; what Kineto has no fields
// for goes into the args "value" and "detail".
#include "profile/writers/chrome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <vector>

#include "model/fields/names.h"
#include "profile/readers/text/json_scan.h"
#include "profile/readers/text/json_text.h"
#include "profile/readers/text/padded_text.h"
#include "profile/timeline_builder.h"
#include "profile/writers/text_file.h"

namespace warpmark::profile {
namespace {

constexpr auto kEventKindCategories =
    in_order(EventKind::other, "cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "os_call", "python_function",
             "cpu_sample", "overhead", "allocation", "mark", "gpu_user_annotation", "kernel", "gpu_memcpy",
             "gpu_memset", "cuda_graph", "cuda_sync", "other");
const char* category_of(EventKind kind) { return name_in(kEventKindCategories, static_cast<std::int64_t>(kind)); }

std::string us(std::int64_t ns) {
  const std::int64_t whole = ns / 1000;
  const std::int64_t part = ns % 1000;
  return fmt::format("{}{}.{:03}", ns < 0 && whole == 0 ? "-" : "", whole, part < 0 ? -part : part);
}

std::string json_string(std::string_view text) { return "\"" + encode_json_text(text) + "\""; }

/// Whether a text can stand in the file as it is: one whole JSON list. Shapes of operators are.
bool is_list(std::string_view text) {
  if (!text.starts_with('[')) return false;
  PaddedText padded;
  padded.append(text);
  const char* stop = nullptr;
  return scan_functions().skip_nested(padded.begin() + 1, padded.end(), &stop) == padded.end() &&
         decode_json_text(text).text == text;
}

class ChromeFile {
 public:
  ChromeFile(const Timeline& timeline, TextFile& file) : timeline_(timeline), file_(file) {}

  /// `others`: counters of the session, whose times are since the Unix epoch; `quality`: its flaws beside the
  /// timeline's.
  Status write(std::span<const CounterSeries> others, std::span<const DataQualityIssue> quality) {
    head(quality);
    for (const auto& name : timeline_.tracks) track_name(name);
    collect_flows();
    for (EventIndex i = 0; i < timeline_.events.size(); ++i) {
      event(i);
      WM_TRY(file_.flush_if_large());
    }
    for (const CounterSeries& series : timeline_.counters) WM_TRY(counter(series));
    for (CounterSeries series : others) {
      for (std::int64_t& time : series.times) time -= timeline_.origin_ns;
      WM_TRY(counter(series));
    }
    put("\n  ],\n  \"traceName\": {}\n}}\n", json_string(timeline_.source));
    return file_.finish();
  }

 private:
  template <typename... Values>
  void put(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(file_.text), format, std::forward<Values>(values)...);
  }

  void head(std::span<const DataQualityIssue> quality) {
    put("{{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [");
    const char* separator = "\n    ";
    for (const GpuInfo& gpu : timeline_.gpus) {
      put("{}{{\"id\": {}, \"name\": {}, \"totalGlobalMem\": {}, \"computeMajor\": {}, \"computeMinor\": {}, "
          "\"maxThreadsPerMultiprocessor\": {}, \"numSms\": {}",
          separator, gpu.index, json_string(gpu.name), gpu.memory_bytes, gpu.compute_major, gpu.compute_minor,
          gpu.max_threads_per_sm, gpu.sm_count);
      if (!gpu.uuid.empty()) put(", \"uuid\": {}", json_string(gpu.uuid));
      put("}}");
      separator = ",\n    ";
    }
    put("\n  ],\n");
    if (timeline_.rank >= 0 || timeline_.world_size > 0) {
      put("  \"distributedInfo\": {{\"rank\": {}, \"world_size\": {}}},\n", timeline_.rank, timeline_.world_size);
    }
    if (!timeline_.host.empty()) put("  \"host_name\": {},\n", json_string(timeline_.host));
    if (!timeline_.format.empty()) put("  \"{}\": {},\n", kRecordedAs, json_string(timeline_.format));
    for (const auto& [key, value] : timeline_.metadata) {
      if (!is_ours(key)) put("  {}: {},\n", json_string(key), json_string(value));
    }
    for (const auto& issues : {std::span<const DataQualityIssue>(timeline_.quality), quality}) {
      for (const DataQualityIssue& issue : issues) {
        const auto [key, value] = metadata_of(issue);
        put("  {}: {},\n", json_string(key), json_string(value));
      }
    }
    put("  \"displayTimeUnit\": \"ns\",\n  \"baseTimeNanoseconds\": {},\n  \"traceEvents\": [", timeline_.origin_ns);
  }

  /// What the reader makes itself, or this writer writes elsewhere.
  static bool is_ours(std::string_view key) {
    constexpr std::string_view kOurs[] = {
        "rows",        "flow_rows",        "schemaVersion",   "displayTimeUnit",    "traceName",
        "traceEvents", "deviceProperties", "distributedInfo", "baseTimeNanoseconds"};
    return std::find(std::begin(kOurs), std::end(kOurs), key) != std::end(kOurs);
  }

  void begin_row() { put("{}\n  {{", rows_++ == 0 ? "" : ","); }

  /// "pid" and "tid" as the reader takes them apart: a text "Spans/profiler" names both.
  void row_ids(const Track& track) {
    const auto slash = track.name.find('/');
    if (track.kind == TrackKind::gpu_stream) return put("\"pid\": {}, \"tid\": {}", track.device, track.thread);
    if (track.kind != TrackKind::other || slash == std::string::npos) {
      return put("\"pid\": {}, \"tid\": {}", track.process, track.thread);
    }
    const std::string process = track.name.substr(0, slash), thread = track.name.substr(slash + 1);
    put("\"pid\": {}, \"tid\": {}", process.empty() ? std::to_string(track.process) : json_string(process),
        thread.empty() ? std::to_string(track.thread) : json_string(thread));
  }

  void track_name(const Track& track) {
    if (track.name.empty() || track.kind == TrackKind::other) return;
    begin_row();
    put("\"name\": \"thread_name\", \"ph\": \"M\", ");
    row_ids(track);
    put(", \"args\": {{\"name\": {}, \"track kind\": \"{}\"}}}}", json_string(track.name),
        track.kind == TrackKind::gpu_stream ? "stream" : "thread");
  }

  /// Arrows lead from a call to the GPU work it started; both must be there.
  void collect_flows() {
    for (EventIndex i = 0; i < timeline_.events.size(); ++i) {
      const std::uint32_t id = timeline_.events.correlation[i];
      if (id == 0) continue;
      if (is_gpu_work(timeline_.events.kind[i])) on_gpu_.push_back(id);
      if (is_call(timeline_.events.kind[i])) calls_.push_back(id);
    }
    std::sort(on_gpu_.begin(), on_gpu_.end());
    std::sort(calls_.begin(), calls_.end());
  }
  static bool is_call(EventKind kind) { return kind == EventKind::runtime_api || kind == EventKind::driver_api; }

  void event(EventIndex i) {
    const EventColumns& events = timeline_.events;
    const EventKind kind = events.kind[i];
    const Track& track = timeline_.tracks[events.track[i]];
    const bool instant = (kind == EventKind::allocation || kind == EventKind::mark) && events.duration[i] == 0;
    begin_row();
    put("\"ph\": \"{}\", \"cat\": \"{}\", \"name\": {}, ", instant ? 'i' : 'X', category_of(kind),
        json_string(timeline_.name_of(i)));
    row_ids(track);
    put(",\n    \"ts\": {}, ", us(events.start[i]));
    if (instant) {
      put("\"s\": \"t\", ");
    } else {
      put("\"dur\": {}, ", us(events.duration[i]));
    }
    put("\"args\": {{");
    first_argument_ = true;
    arguments(i, track);
    put("}}}}");
    flow(i, track);
  }

  template <typename Value>
  void argument(const char* key, const Value& value) {
    put("{}\"{}\": {}", first_argument_ ? "" : ", ", key, value);
    first_argument_ = false;
  }

  void arguments(EventIndex i, const Track& track) {
    const EventColumns& events = timeline_.events;
    const EventKind kind = events.kind[i];
    if (events.link[i] != 0) argument("External id", events.link[i]);
    if (track.kind == TrackKind::gpu_stream) {
      argument("device", track.device);
      argument("stream", track.thread);
    }
    if (events.correlation[i] != 0) argument("correlation", events.correlation[i]);
    if (kind == EventKind::kernel) {
      if (events.detail[i] > 0) shape(timeline_.launch_shapes[events.detail[i]]);
    } else if (kind == EventKind::op) {
      const std::string_view dims = timeline_.names.at(events.detail[i]);
      if (!dims.empty()) argument("Input Dims", is_list(dims) ? std::string(dims) : json_string(dims));
    } else if (events.detail[i] != 0) {
      argument("detail", events.detail[i]);
    }
    if (kind == EventKind::memcpy || kind == EventKind::memset) argument("bytes", events.value[i]);
    if (kind == EventKind::allocation) argument("Bytes", events.value[i]);
    if (events.value[i] != 0 || kind == EventKind::sync_record) argument("value", events.value[i]);
    collective(i);
  }

  void shape(const LaunchShape& shape) {
    argument("registers per thread", shape.registers_per_thread);
    argument("shared memory", shape.shared_bytes);
    if (shape.blocks_per_sm >= 0) argument("blocks per SM", static_cast<double>(shape.blocks_per_sm));
    argument("grid", fmt::format("[{}, {}, {}]", shape.grid[0], shape.grid[1], shape.grid[2]));
    argument("block", fmt::format("[{}, {}, {}]", shape.block[0], shape.block[1], shape.block[2]));
    if (shape.occupancy >= 0) argument("est. achieved occupancy %", static_cast<double>(shape.occupancy) * 100);
    if (shape.graph_id != 0) argument("graph id", shape.graph_id);
  }

  void collective(EventIndex i) {
    const auto& all = timeline_.collectives;
    if (next_collective_ >= all.size() || all[next_collective_].event != i) return;
    const Collective& one = all[next_collective_++];
    argument("Collective name", json_string(timeline_.names.at(one.name)));
    argument("dtype", json_string(timeline_.names.at(one.data_type)));
    argument("Process Group Name", json_string(timeline_.names.at(one.group)));
    argument("In msg nelems", one.in_elements);
    argument("Out msg nelems", one.out_elements);
    argument("Group size", one.group_size);
    if (one.sequence != -1) argument("Seq", one.sequence);
  }

  void flow(EventIndex i, const Track& track) {
    const EventColumns& events = timeline_.events;
    const std::uint32_t id = events.correlation[i];
    const bool on_gpu = is_gpu_work(events.kind[i]);
    if (id == 0 || (!on_gpu && !is_call(events.kind[i]))) return;
    const auto& others = on_gpu ? calls_ : on_gpu_;
    if (!std::binary_search(others.begin(), others.end(), id)) return;
    begin_row();
    put("\"ph\": \"{}\", \"id\": {}, ", on_gpu ? 'f' : 's', id);
    row_ids(track);
    put(", \"ts\": {}, \"cat\": \"ac2g\", \"name\": \"ac2g\"{}}}", us(events.start[i]),
        on_gpu ? ", \"bp\": \"e\"" : "");
  }

  Status counter(const CounterSeries& series) {
    for (std::size_t i = 0; i < series.times.size(); ++i) {
      begin_row();
      const double value = series.values[i];
      put("\"ph\": \"C\", \"cat\": {}, \"name\": {}, \"pid\": {}, \"id\": {}, \"ts\": {}, \"args\": {{{}: {}}}}}",
          json_string("counter:" + series.unit), json_string(series.id), std::max(series.device, 0), series.device,
          us(series.times[i]), json_string(series.id), std::isfinite(value) ? fmt::format("{}", value) : "null");
      WM_TRY(file_.flush_if_large());
    }
    return {};
  }

  const Timeline& timeline_;
  TextFile& file_;
  std::vector<std::uint32_t> on_gpu_;  ///< correlations, sorted
  std::vector<std::uint32_t> calls_;
  std::size_t next_collective_ = 0;
  std::int64_t rows_ = 0;
  bool first_argument_ = true;
};

std::vector<std::filesystem::path> files(const ProfileSession& session, const std::filesystem::path& path) {
  if (session.ranks.size() == 1) return {path};
  std::vector<std::filesystem::path> paths;
  for (const Timeline& timeline : session.ranks) paths.push_back(rank_path(path, timeline.rank));
  return paths;
}

Status write_chrome(const ProfileSession& session, const std::filesystem::path& path) {
  if (session.ranks.empty()) {
    return data_error("a Chrome trace holds events, and this session has none", "convert it to sqlite");
  }
  const auto paths = files(session, path);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    WM_ASSIGN(TextFile file, TextFile::create(paths[i]));
    // What was sampled of the machine, and flaws of no timeline, go with the first rank.
    const bool first = i == 0;
    WM_TRY(ChromeFile(session.ranks[i], file)
               .write(first ? session.counters : std::span<const CounterSeries>(),
                      first ? session.quality : std::span<const DataQualityIssue>()));
  }
  return {};
}

}  // namespace

std::filesystem::path rank_path(const std::filesystem::path& path, int rank) {
  auto named = path;
  named.replace_extension();
  named += ".rank" + std::to_string(rank);
  named += path.extension();
  return named;
}

const Writer kChromeWriter = {"chrome", "Chrome trace (JSON) for ui.perfetto.dev; one file for each rank", "json",
                              write_chrome, files};

}  // namespace warpmark::profile
