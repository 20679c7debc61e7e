// The Chrome trace of AMD's first rocprof, which ROCm 6 still has (ROCm/rocprofiler, bin/tblextr.py: label_json,
// dump_json): names of the rows say what an event is, times in ns stand in its arguments, and arrows join calls and GPU
// work.
#include <algorithm>
#include <istream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "profile/catalog.h"
#include "profile/readers/rocprof/rocprof_kinds.h"
#include "profile/readers/text/decimal.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

using Fields = std::map<std::string, std::string, std::less<>>;  // "args.BeginNs"

std::string text_in(const Fields& fields, std::string_view key) {
  const auto found = fields.find(key);
  return found == fields.end() ? "" : found->second;
}
/// "2048(0x800)" is 2048.
std::int64_t integer_in(const Fields& fields, std::string_view key, std::int64_t otherwise = 0) {
  const std::string text = text_in(fields, key);
  return parse_integer(std::string_view(text).substr(0, text.find('('))).value_or(otherwise);
}

int to_device(std::int64_t number) { return static_cast<int>(std::clamp<std::int64_t>(number, -1, 0xFFFF)); }

class RocprofTrace {
 public:
  void event(const Fields& fields) {
    const std::string phase = text_in(fields, "ph");
    if (phase == "M" && text_in(fields, "name") == "process_name") return row_name(fields);
    if (phase == "X") return duration(fields);
    if (phase == "s" || phase == "t" || phase == "f") return arrow(fields);
    if (!fields.empty() && phase != "M") builder_.issue("other_phase", "rows of other kinds: left out", phase);
  }

  /// Of rocminfo: "Agent5.DeviceType" and others.
  void machine(const Fields& facts) {
    for (int agent = 1; facts.contains("Agent" + std::to_string(agent) + ".DeviceType"); ++agent) {
      const std::string key = "Agent" + std::to_string(agent) + ".";
      if (text_in(facts, key + "DeviceType") != "GPU") continue;
      GpuInfo gpu{.index = to_device(integer_in(facts, key + "Node")), .name = text_in(facts, key + "MarketingName")};
      gpu.sm_count = to_device(integer_in(facts, key + "ComputeUnit"));
      gpu.max_threads_per_sm = to_device(integer_in(facts, key + "MaxWork-itemPerCU"));
      builder_.facts().gpus.push_back(gpu);
    }
  }

  [[nodiscard]] TimelineBuilder& builder() { return builder_; }
  [[nodiscard]] Timeline finish() {
    auto& correlation = builder_.facts().events.correlation;
    for (const auto& [id, arrow] : arrows_) {
      const EventIndex call = event_at(arrow.from), work = event_at(arrow.to);
      // An arrow starts within its call, or at the work if that begins before, as clocks differ: then in another call.
      if (call == kNoEvent || work == kNoEvent || correlation[call] != 0 || correlation[work] != 0) continue;
      correlation[call] = correlation[work] = id;
    }
    if (arrows_.empty()) join_in_order();
    return builder_.finish();
  }

 private:
  using RowKey = std::pair<std::int64_t, std::int64_t>;  ///< process and thread
  struct Place {
    RowKey row;
    std::int64_t microsecond = -1;
  };
  struct Arrow {
    Place from, to;
  };
  static Place place_of(const Fields& fields) {
    return {{integer_in(fields, "pid"), integer_in(fields, "tid")}, integer_in(fields, "ts")};
  }

  /// The last that begins there or before.
  [[nodiscard]] EventIndex event_at(const Place& place) const {
    const auto row = starts_.find(place.row);
    if (row == starts_.end()) return kNoEvent;
    const auto next = row->second.upper_bound(place.microsecond);
    return next == row->second.begin() ? kNoEvent : std::prev(next)->second;
  }

  /// Without arrows: a stream runs what one thread launched into it in that order.
  void join_in_order() {
    EventColumns& events = builder_.facts().events;
    std::uint32_t id = 0;
    for (auto& [thread, launches] : launches_) {
      auto& [calls, kernels] = launches;
      const auto by_start = [&](EventIndex a, EventIndex b) { return events.start[a] < events.start[b]; };
      std::ranges::stable_sort(calls, by_start);
      std::ranges::stable_sort(kernels, by_start);
      bool fits = !calls.empty() && calls.size() == kernels.size();
      for (std::size_t i = 0; i < calls.size() && fits; ++i)
        fits =
            events.track[kernels[i]] == events.track[kernels[0]] && events.start[calls[i]] <= events.start[kernels[i]];
      for (std::size_t i = 0; i < calls.size() && fits; ++i)
        events.correlation[calls[i]] = events.correlation[kernels[i]] = ++id;
    }
  }

  void row_name(const Fields& fields) {
    std::string name = text_in(fields, "args.name");
    // "0 CPU HIP API", "2 GPU0": newer versions count the rows.
    if (const auto blank = name.find(' '); parse_integer(std::string_view(name).substr(0, blank)))
      name.erase(0, blank + 1);
    const auto gpu = name.starts_with("GPU") ? parse_integer(name.substr(3)) : std::nullopt;
    const EventKind kind = gpu || name == "GPU"          ? EventKind::kernel
                           : name == "COPY"              ? EventKind::memcpy
                           : name == "CPU HIP API"       ? EventKind::runtime_api
                           : name == "CPU HSA API"       ? EventKind::driver_api
                           : name == "CPU KFD API"       ? EventKind::os_call
                           : name.starts_with("Markers") ? EventKind::annotation
                                                         : EventKind::other;
    rows_[integer_in(fields, "pid")] = {kind, to_device(gpu.value_or(0))};
  }

  void duration(const Fields& fields) {
    const auto row = rows_.find(integer_in(fields, "pid"));
    const Row meant = row == rows_.end() ? Row{} : row->second;
    NewEvent event{.name = builder_.intern(text_in(fields, "name")), .kind = meant.kind};
    const auto begin = parse_integer(text_in(fields, "args.BeginNs")),
               end = parse_integer(text_in(fields, "args.EndNs"));
    const auto ts = parse_shifted_decimal(text_in(fields, "ts"), 3),
               dur = parse_shifted_decimal(text_in(fields, "dur"), 3);
    if (!begin && !ts) return builder_.issue("no_time", "events without a time: left out", text_in(fields, "name"));
    event.start = begin ? *begin : *ts;
    event.duration = dur.value_or(0);
    if (begin && end && __builtin_sub_overflow(*end, *begin, &event.duration)) event.duration = INT64_MAX;
    if (event.kind == EventKind::memcpy)
      event.detail = copy_detail(rocprof_copy_kind(text_in(fields, "name")), HostMemory::unknown);
    const std::int64_t thread = integer_in(fields, "args.tid", integer_in(fields, "tid"));
    event.track =
        is_gpu_work(event.kind)
            ? builder_.track({TrackKind::gpu_stream, 0, integer_in(fields, "args.stream-id", integer_in(fields, "tid")),
                              to_device(integer_in(fields, "args.dev-id", meant.device)), ""})
            : builder_.track({TrackKind::cpu_thread, integer_in(fields, "args.pid"), thread, -1, ""});
    const Place place = place_of(fields);
    const EventIndex added = builder_.add(event);
    starts_[place.row].try_emplace(place.microsecond, added);
    const RowKey launcher{integer_in(fields, "args.pid"), thread};
    if (event.kind == EventKind::kernel) launches_[launcher].kernels.push_back(added);
    if (event.kind == EventKind::runtime_api && text_in(fields, "name").find("LaunchKernel") != std::string::npos)
      launches_[launcher].calls.push_back(added);
  }

  /// Ids count from 0, which would be none.
  void arrow(const Fields& fields) {
    const std::int64_t id = integer_in(fields, "id", -1);
    if (id < 0 || id >= UINT32_MAX) return;
    Arrow& known = arrows_[static_cast<std::uint32_t>(id + 1)];
    (text_in(fields, "ph") == "s" ? known.from : known.to) = place_of(fields);
  }

  struct Launches {
    std::vector<EventIndex> calls, kernels;
  };

  struct Row {
    EventKind kind = EventKind::other;
    int device = 0;
  };

  TimelineBuilder builder_;
  std::map<std::int64_t, Row> rows_;
  std::map<RowKey, std::map<std::int64_t, EventIndex>> starts_;  ///< by the microsecond
  std::map<std::uint32_t, Arrow> arrows_;                        ///< by what becomes the correlation
  std::map<RowKey, Launches> launches_;                          ///< by the process and thread that launched
};

/// One event is in memory at a time. Values that are numbers are kept as texts, like most in these files.
class ChromeHandler : public nlohmann::json_sax<Json> {
 public:
  explicit ChromeHandler(RocprofTrace& trace) : trace_(trace) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return keep(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return keep(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return keep(text); }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& text) override { return keep(text); }
  bool key(string_t& name) override {
    key_ = name;
    if (depth_ == 1) root_key_ = name;
    return true;
  }
  bool start_object(std::size_t) override {
    in_args_ = ++depth_ == 4 && key_ == "args";
    return true;
  }
  bool start_array(std::size_t) override { return ++depth_, true; }
  bool end_object() override {
    --depth_;
    if (depth_ < 4) in_args_ = false;
    if (depth_ == 2 && root_key_ == "traceEvents") {
      trace_.event(std::exchange(fields_, {}));
    } else if (depth_ == 1 && root_key_ == "otherData") {
      trace_.machine(std::exchange(fields_, {}));
    }
    return true;
  }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    trace_.builder().issue("unfinished_file", "the JSON ends early or is damaged: later records are missing",
                           error.what());
    return false;
  }

 private:
  static constexpr std::size_t kMostFields = 1 << 16;  // of one object

  bool keep(const std::string& value) {
    const bool in_args = depth_ == 4 && in_args_;
    const bool in_event = depth_ == 3 && root_key_ == "traceEvents";
    const bool in_facts = depth_ == 2 && root_key_ == "otherData";
    if ((in_args || in_event || in_facts) && fields_.size() < kMostFields)
      fields_[in_args ? "args." + key_ : key_] = value;
    return true;
  }

  RocprofTrace& trace_;
  int depth_ = 0;         ///< objects and lists around
  bool in_args_ = false;  ///< at this or a greater depth
  std::string key_, root_key_;
  Fields fields_;
};

Sniff sniff_rocprof_chrome(std::string_view head) {
  const auto has = [head](std::string_view text) { return head.find(text) != std::string_view::npos; };
  const bool is_trace = head.substr(0, 256).find("\"traceEvents\"") != std::string_view::npos;
  const bool has_rows = has("CPU HIP API\"") || has("CPU HSA API\"") || has("COPY\"");
  return {is_trace && has_rows && has("\"BeginNs\"") ? 95 : 0, ""};
}

Status read_rocprof_chrome(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  SourceBuffer buffer(source);
  std::istream stream(&buffer);
  RocprofTrace trace;
  ChromeHandler handler(trace);
  (void)Json::sax_parse(stream, &handler);  // the handler keeps what was read before an error
  WM_TRY(buffer.status());
  if (trace.builder().size() == 0) {
    return data_error("the trace of rocprof has no events", "record some: rocprof --hip-trace <command>");
  }
  session.ranks.push_back(trace.finish());
  return {};
}

}  // namespace

extern const TraceReader kRocprofChromeReader = {"rocprof_chrome", "Chrome trace of AMD's rocprof (results.json)",
                                                 sniff_rocprof_chrome, read_rocprof_chrome};

}  // namespace warpmark::profile
