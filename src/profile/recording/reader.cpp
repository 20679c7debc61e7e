// Reads warpmark's own recordings: a timeline for each process that used a GPU, and counters.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "profile/catalog.h"
#include "profile/recording/format.h"
#include "profile/recording/graph_ends.h"
#include "profile/recording/writer.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

using namespace recording;

Sniff sniff(std::string_view head) {
  ChunkHeader header;
  if (head.size() < sizeof header) return {};
  std::memcpy(&header, head.data(), sizeof header);
  return {header.magic == kChunkMagic && header.type == ChunkType::begin ? 100 : 0, ""};
}

/// Takes values off the front of a payload; `bad` once it is too short.
struct Payload {
  std::string_view rest;
  bool bad = false;

  template <typename T>
  T take() {
    T value{};
    if (rest.size() < sizeof value) {
      bad = true;
      rest = {};
      return value;
    }
    std::memcpy(static_cast<void*>(&value), rest.data(), sizeof value);
    rest.remove_prefix(sizeof value);
    return value;
  }
  /// Shapes were shorter once.
  ShapeRecord take_shape() {
    ShapeRecord shape;
    if (rest.size() < kOldShapeBytes) {
      bad = true;
      return shape;
    }
    std::memcpy(static_cast<void*>(&shape), rest.data(), std::min(rest.size(), sizeof shape));
    return shape;
  }
  std::string_view text() {
    const auto size = take<std::uint32_t>();
    if (bad || size > rest.size()) {
      bad = true;
      return {};
    }
    const auto found = rest.substr(0, size);
    rest.remove_prefix(size);
    return found;
  }
};

/// C++ names as people write them; others as they are.
std::string demangled(std::string_view name) {
  const std::string text(name);
  if (!name.starts_with("_Z")) return text;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && readable ? std::string(readable.get()) : text;
}

/// One process of a recording.
class Part {
 public:
  bool take(ChunkType type, Payload payload) {
    switch (type) {
      case ChunkType::metadata: {
        const auto key = payload.text();
        const auto value = payload.text();
        if (!payload.bad) metadata(key, value);
        break;
      }
      case ChunkType::name: {
        const auto id = payload.take<std::uint32_t>();
        const auto text = payload.text();
        if (payload.bad) break;
        texts_.insert_or_assign(id, std::string(text));
        names_[id] = builder_.intern(demangled(text));
        break;
      }
      case ChunkType::track: {
        const auto track = payload.take<TrackRecord>();
        const auto name = payload.text();
        if (payload.bad || track.kind > static_cast<std::uint8_t>(TrackKind::other)) return false;
        tracks_[track.id] = builder_.track({.kind = static_cast<TrackKind>(track.kind),
                                            .process = track.process,
                                            .thread = track.thread,
                                            .device = track.device,
                                            .name = std::string(name)});
        break;
      }
      case ChunkType::shape: {
        const auto record = payload.take_shape();
        if (!payload.bad) shape(record);
        break;
      }
      case ChunkType::events:
        while (!payload.rest.empty() && !payload.bad) event(payload.take<EventRecord>(), payload.bad);
        break;
      case ChunkType::counters: return counters(payload);
      case ChunkType::kernel: return kernel(payload);
      case ChunkType::collective: {
        const auto record = payload.take<CollectiveRecord>();
        if (!payload.bad) collectives_[record.event] = record;
        break;
      }
      case ChunkType::end: complete_ = true; break;
      case ChunkType::begin: return begin(payload.take<std::uint32_t>());
    }
    return !payload.bad;
  }

  /// `broken`: bytes behind it are missing or wrong, which was said, and nothing is known of how the program ended.
  void conclude(ProfileSession& session, bool broken = false) {
    if (!complete_ && !broken) {
      builder_.issue("not_ended",
                     "the program ended without closing its recording (a crash or a kill): what it had "
                     "written by then was read");
    }
    Timeline timeline = builder_.finish();
    for (CounterSeries& series : timeline.counters) {
      if (const auto gpu = sampled_.find(series.device); gpu != sampled_.end()) series.gpu = gpu->second;
    }
    const bool converted = !timeline.format.empty();  // other formats' numbers are what they are
    if (const std::int64_t calls = converted ? 0 : distinguish_calls(timeline); calls > 0) {
      count_issue(timeline.quality, "repeated_call_number",
                  "calls to which CUPTI gave one number: kernels and copies were joined to them in order", {}, calls);
    }
    if (const std::int64_t ends = converted ? 0 : fix_graph_ends(timeline); ends > 0) {
      count_issue(timeline.quality, "end_of_later_launch",
                  "kernels of a graph's last launch with the end of a later one: taken to last as long as in others",
                  {}, ends);
    }
    for (auto& kernel : kernels_) session.kernels.push_back(std::move(kernel));
    if (timeline.events.size() == 0) {
      for (auto& series : timeline.counters) {
        for (std::int64_t& time : series.times) time += timeline.origin_ns;  // of no timeline: the Unix epoch's again
        session.counters.push_back(std::move(series));
      }
      for (auto& issue : timeline.quality) session.quality.push_back(std::move(issue));
      return;
    }
    session.ranks.push_back(std::move(timeline));
  }
  void issue(std::string_view id, std::string_view text, std::string_view example = {}) {
    builder_.issue(id, text, example);
  }

 private:
  bool begin(std::uint32_t version) {
    if (version > kVersion) {
      builder_.issue("newer_version", "written by a newer warpmark: unknown parts were left out");
    }
    return true;
  }

  bool kernel(Payload payload) {
    const auto record = payload.take<KernelRecord>();
    KernelProfile kernel{.id = record.id,
                         .process = record.process,
                         .name = std::string(payload.text()),
                         .grid = std::string(payload.text()),
                         .block = std::string(payload.text()),
                         .stream = record.stream,
                         .device = record.device,
                         .compute_capability = std::string(payload.text()),
                         .ordinal = record.ordinal,
                         .metrics = KernelMetrics(metric_names_)};
    for (std::uint32_t i = 0; i < record.metrics && !payload.bad; ++i) {
      const auto id = payload.take<std::uint32_t>();
      const auto unit = payload.take<std::uint32_t>();
      kernel.metrics.add(text_of(id), text_of(unit), payload.take<double>());
    }
    for (std::uint32_t i = 0; i < record.rules && !payload.bad; ++i) {
      KernelRuleText rule;
      for (auto* text : {&rule.name, &rule.type, &rule.description, &rule.speedup_type}) *text = payload.text();
      rule.speedup_percent = payload.take<double>();
      kernel.rules.push_back(std::move(rule));
    }
    if (!payload.bad) kernels_.push_back(std::move(kernel));
    return !payload.bad;
  }

  void metadata(std::string_view key, std::string_view value) {
    auto& facts = builder_.facts();
    const std::string text(value);
    if (key == kRecordedAs) facts.format = text;
    if (key == "host") facts.host = text;
    if (key == "rank") facts.rank = std::atoi(text.c_str());
    if (key == "world_size") facts.world_size = std::atoi(text.c_str());
    if (key == "gpu") return gpu(text);
    if (key == kSampledGpu) return sampled(text);
    if (key == "problem_id") problem_id_ += "_" + text;
    if (key == "problem") builder_.issue(problem_id_, "what the recorder could not do", text);
    if (key == "dropped_records" && std::atoll(text.c_str()) > 0) {
      builder_.issue("dropped_records", "records that CUPTI had no room for: the program was faster than the recorder",
                     {}, std::atoll(text.c_str()));
    }
    if (key == "recording_begin_ns") begin_ns_ = std::atoll(text.c_str());
    if (key != kRecordedAs) builder_.add_metadata(key, value);
  }

  /// CUPTI delivers what a window left unfinished during the next one, with ends of a later replay of the same graph.
  [[nodiscard]] bool is_of_earlier_window(const EventRecord& record) const {
    switch (static_cast<EventKind>(record.kind)) {
      case EventKind::kernel:
      case EventKind::memcpy:
      case EventKind::memset:
      case EventKind::graph:
      case EventKind::overhead: return record.start_ns < begin_ns_;
      default: return false;
    }
  }

  /// "index|name|memory bytes|multiprocessors|major|minor", since version 3 "|most threads of a multiprocessor", then
  /// "|uuid"
  void gpu(const std::string& text) {
    const auto fields = split(text, '|');
    if (fields.size() < 6) return;
    builder_.facts().gpus.push_back({.index = std::atoi(fields[0].c_str()),
                                     .name = fields[1],
                                     .memory_bytes = std::atoll(fields[2].c_str()),
                                     .sm_count = std::atoi(fields[3].c_str()),
                                     .compute_major = std::atoi(fields[4].c_str()),
                                     .compute_minor = std::atoi(fields[5].c_str()),
                                     .max_threads_per_sm = fields.size() > 6 ? std::atoi(fields[6].c_str()) : 0,
                                     .uuid = fields.size() > 7 ? fields[7] : std::string()});
  }

  /// "index|uuid"
  void sampled(const std::string& text) {
    const auto fields = split(text, '|');
    if (fields.size() == 2) sampled_[std::atoi(fields[0].c_str())] = fields[1];
  }

  void shape(const ShapeRecord& shape) {
    LaunchShape launch;
    std::memcpy(launch.grid, shape.grid, sizeof launch.grid);
    std::memcpy(launch.block, shape.block, sizeof launch.block);
    launch.registers_per_thread = shape.registers_per_thread;
    launch.shared_bytes = shape.shared_bytes;
    launch.graph_id = shape.graph_id;
    launch.blocks_per_sm = shape.blocks_per_sm;
    launch.occupancy = shape.occupancy;
    shapes_[shape.id] = builder_.launch_shape(launch);
  }

  void event(const EventRecord& record, bool bad) {
    if (bad) return;
    const std::uint64_t number = events_++;
    const auto track = tracks_.find(record.track);
    if (track == tracks_.end() || record.kind > static_cast<std::uint8_t>(EventKind::other)) {
      builder_.issue("unknown_track", "events of a row or kind that was never described: left out");
      return;
    }
    if (is_of_earlier_window(record)) {
      builder_.issue("earlier_window", "work of the GPU from before the recording began: left out");
      return;
    }
    NewEvent event{.start = record.start_ns,
                   .duration = record.duration_ns,
                   .value = record.value,
                   .name = names_.contains(record.name) ? names_[record.name] : 0,
                   .track = track->second,
                   .correlation = record.correlation,
                   .link = record.link,
                   .detail = record.detail,
                   .kind = static_cast<EventKind>(record.kind)};
    if (event.kind == EventKind::kernel) event.detail = shapes_.contains(record.detail) ? shapes_[record.detail] : 0;
    if (event.kind == EventKind::op) event.detail = names_.contains(record.detail) ? names_[record.detail] : 0;
    const EventIndex at = builder_.add(event);
    if (const auto found = collectives_.find(number); found != collectives_.end()) collective(found->second, at);
  }

  void collective(const CollectiveRecord& record, EventIndex event) {
    const auto id_of = [this](std::uint32_t name) { return names_.contains(name) ? names_[name] : NameId{0}; };
    builder_.add_collective({.event = event,
                             .name = id_of(record.name),
                             .data_type = id_of(record.data_type),
                             .group = id_of(record.group),
                             .in_elements = record.in_elements,
                             .out_elements = record.out_elements,
                             .group_size = record.group_size,
                             .sequence = record.sequence});
  }

  bool counters(Payload payload) {
    const auto name = payload.take<std::uint32_t>();
    const auto unit = payload.take<std::uint32_t>();
    const auto device = payload.take<std::int32_t>();
    (void)payload.take<std::uint32_t>();
    if (payload.bad) return false;
    while (!payload.rest.empty() && !payload.bad) {
      const auto sample = payload.take<CounterRecord>();
      if (!payload.bad) builder_.add_counter(text_of(name), text_of(unit), device, sample.time_ns, sample.value);
    }
    return !payload.bad;
  }

  /// Empty for an id that was never described.
  [[nodiscard]] std::string_view text_of(std::uint32_t id) const {
    const auto found = texts_.find(id);
    return found == texts_.end() ? std::string_view() : found->second;
  }

  TimelineBuilder builder_;
  bool complete_ = false;
  std::string problem_id_ = kRecorderIssue;
  std::int64_t begin_ns_ = std::numeric_limits<std::int64_t>::min();
  std::uint64_t events_ = 0;
  std::unordered_map<std::uint64_t, CollectiveRecord> collectives_;  ///< by the number of their event
  std::vector<KernelProfile> kernels_;
  std::shared_ptr<KernelMetricNames> metric_names_ = std::make_shared<KernelMetricNames>();
  std::unordered_map<std::uint32_t, std::string> texts_;
  std::unordered_map<std::uint32_t, NameId> names_;
  std::unordered_map<std::uint32_t, std::uint32_t> tracks_;
  std::unordered_map<std::uint32_t, std::uint32_t> shapes_;
  std::unordered_map<int, std::string> sampled_;  ///< uuids of the GPUs that were sampled
};

constexpr std::size_t kFirstStep = 1 << 16;

enum class Next { chunk, end, cut, corrupt };

/// The next whole chunk into `payload`, or why there is none.
Result<Next> next_chunk(ByteSource& source, ChunkHeader& header, std::string& payload) {
  // Where the packing around it is damaged, the bytes end too, and no program was killed.
  const auto short_of = [&source](Next plain) {
    if (source.damage().empty()) return plain;
    return source.is_cut() ? Next::cut : Next::corrupt;
  };
  WM_ASSIGN(const std::size_t got, source.read({reinterpret_cast<char*>(&header), sizeof header}));
  if (got < sizeof header) return short_of(got == 0 ? Next::end : Next::cut);
  if (header.magic != kChunkMagic || header.payload_bytes > kMaxPayload) return Next::corrupt;
  payload.clear();
  while (payload.size() < header.payload_bytes) {  // in steps: a damaged size may promise more than there is
    const std::size_t have = payload.size();
    payload.resize(std::min<std::size_t>(header.payload_bytes, have + std::max(have, kFirstStep)));
    WM_ASSIGN(const std::size_t filled, source.read({payload.data() + have, payload.size() - have}));
    if (filled < payload.size() - have) return short_of(Next::cut);
  }
  return crc32(payload) == header.checksum ? Next::chunk : Next::corrupt;
}

Error nothing_whole(Next next) {
  if (next == Next::end) return data_error("the recording is empty", "was the program stopped before it used the GPU?");
  const char* how = next == Next::cut ? "cut off within its first chunk" : "corrupt from its first chunk on";
  return data_error(std::string("the recording is ") + how, "copy or record it again");
}

Status read(ByteSource& source, const ReadOptions& /*options*/, ProfileSession& session) {
  std::optional<Part> part;
  ChunkHeader header;
  std::string payload;
  Next next = Next::end;
  while (true) {
    WM_ASSIGN(next, next_chunk(source, header, payload));
    if (next != Next::chunk) break;
    if (header.type == ChunkType::begin) {
      if (part) part->conclude(session);
      part.emplace();
    }
    if (!part) return data_error("the recording does not begin with a part");
    if (!part->take(header.type, {payload})) part->issue("bad_chunk", "chunks whose content makes no sense: left out");
  }
  if (!part) return nothing_whole(next);
  constexpr const char* kCut = "the recording ends within a chunk, as it was cut off: what stands before it was read";
  constexpr const char* kCorrupt =
      "the recording is corrupt (its bytes are not those written): what stands before was read";
  if (next == Next::cut) part->issue("torn_chunk", kCut, source.damage());
  if (next == Next::corrupt) part->issue("corrupt_chunk", kCorrupt, source.damage());
  part->conclude(session, next != Next::end);
  return {};
}

}  // namespace

extern const TraceReader kRecordingReader = {"warpmark", "warpmark's own recording (warpmark profile)", sniff, read};

}  // namespace warpmark::profile
