// A Timeline is what one process (one rank) of a program did: events in columns, times as integer nanoseconds, names
// interned. Readers of every format and our own recorder build it; the analysis sees nothing else.
//
// One event costs 45 bytes of columns. What only some events have (launch shapes, collectives) is interned or kept in
// small side tables, so that no event needs more than 64 bytes beside its name.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/profile/event_kind.h"

namespace warpmark {

/// Index into Timeline::names. 0 is the empty name.
using NameId = std::uint32_t;
/// Index of an event in the columns.
using EventIndex = std::uint32_t;
inline constexpr EventIndex kNoEvent = 0xFFFFFFFF;

/// Texts, each kept once. Ids are dense and stable. Not thread safe.
class NameTable {
 public:
  NameTable() { (void)intern(""); }
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;
  [[nodiscard]] NameId intern(std::string_view text);
  [[nodiscard]] std::optional<NameId> find(std::string_view text) const;
  [[nodiscard]] std::string_view at(NameId id) const { return texts_[id]; }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // never moves its elements: the keys below point into them
  std::unordered_map<std::string_view, NameId> ids_;
};

/// A row of the timeline.
struct Track {
  TrackKind kind = TrackKind::other;
  std::int64_t process = 0;  ///< operating system id; 0 where the format does not tell
  std::int64_t thread = 0;   ///< thread id, or the stream's number
  int device = -1;           ///< GPU index for streams
  std::string name;          ///< thread name, if known
  friend bool operator==(const Track&, const Track&) = default;
};

/// Shape of a kernel launch, interned: programs repeat few of them.
struct LaunchShape {
  std::uint32_t grid[3] = {0, 0, 0};
  std::uint32_t block[3] = {0, 0, 0};
  std::uint32_t registers_per_thread = 0;
  std::uint32_t shared_bytes = 0;  ///< static plus dynamic, per block
  float blocks_per_sm = -1;        ///< as the format says; negative if it does not
  float occupancy = -1;            ///< estimated, ratio 0..1; negative if unknown
  std::uint32_t graph_id = 0;      ///< 0 outside of graphs
  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

/// What a communication kernel or operator said about its collective.
struct Collective {
  EventIndex event = kNoEvent;
  NameId name = 0;       ///< "allreduce", "_allgather_base"
  NameId data_type = 0;  ///< "Float", "BFloat16"
  NameId group = 0;      ///< process group
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
  std::int32_t group_size = 0;
  std::int64_t sequence = -1;  ///< number within its group; -1 if unknown
};

/// One GPU as the recording describes it; 0 or empty where it does not say.
struct GpuInfo {
  int index = 0;
  std::string name;
  std::int64_t memory_bytes = 0;
  int sm_count = 0;
  int compute_major = 0;
  int compute_minor = 0;
  int max_threads_per_sm = 0;
  std::string uuid{};  ///< "GPU-...", the same for every program and tool; empty if unknown
  friend bool operator==(const GpuInfo&, const GpuInfo&) = default;
};

/// A sampled quantity: GPU utilization, clocks, power, host load.
struct CounterSeries {
  std::string id;    ///< "gpu_utilization", "sm_clock", "power", "throttle_reasons", ... (docs/metrics.md)
  std::string unit;  ///< SI without prefix; "" for ratios 0..1 and bit masks
  int device = -1;   ///< GPU index, of the tool that sampled; -1 is the host
  std::vector<std::int64_t> times;  ///< ns on the timeline's clock, ascending
  std::vector<double> values;       ///< NaN where the tool printed no value
  std::string gpu{};                ///< the GPU's uuid; empty if unknown
};

/// One kind of flaw met while reading, and how often.
struct DataQualityIssue {
  std::string id;    ///< "truncated", "negative_duration", "one_ended_flow", ...
  std::string text;  ///< what it is and what was done about it
  std::int64_t count = 0;
  std::string example;  ///< the first one met, shortened; may be empty
};

/// Columns of equal length; event i is element i of each. Sorted by start after TimelineBuilder::finish.
struct EventColumns {
  EventColumn<std::int64_t> start;     ///< ns since Timeline::origin_ns
  EventColumn<std::int64_t> duration;  ///< ns; 0 for instants
  EventColumn<std::int64_t> value;     ///< meaning by kind, see EventKind; else 0
  EventColumn<NameId> name;
  EventColumn<std::uint32_t> track;        ///< index into Timeline::tracks
  EventColumn<std::uint32_t> correlation;  ///< joins an API call and the GPU work it started; 0 is none
  EventColumn<std::uint32_t> link;         ///< external id: joins GPU work and API calls to the operator; 0 is none
  EventColumn<std::uint32_t> detail;       ///< meaning by kind; for op the NameId of its input shapes, 0 none
  EventColumn<EventKind> kind;
  [[nodiscard]] std::size_t size() const { return start.size(); }
  [[nodiscard]] std::int64_t end(std::size_t i) const { return start[i] + duration[i]; }
};

struct Timeline {
  std::string source;  ///< file or command it came from
  std::string format;  ///< id of the reader
  /// The instant 0 of `start`, in ns since the Unix epoch (or since boot, if that is all there is).
  std::int64_t origin_ns = 0;
  int rank = -1;           ///< -1 if unknown
  int declared_rank = -1;  ///< what the file says where another file says the same and `rank` is a free number; else -1
  int world_size = 0;      ///< 0 if unknown
  std::string host;
  std::vector<GpuInfo> gpus;
  NameTable names;
  std::vector<Track> tracks;
  std::vector<LaunchShape> launch_shapes;  ///< element 0 is the unknown shape
  std::vector<Collective> collectives;     ///< ascending by event
  std::vector<CounterSeries> counters;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< other facts of the file, in its words
  std::vector<DataQualityIssue> quality;
  EventColumns events;

  [[nodiscard]] std::string_view name_of(EventIndex i) const { return names.at(events.name[i]); }
};

}  // namespace warpmark
