// Collects the events of one process into a Timeline: interns names, tracks and launch shapes, counts flaws, and
// finally sorts. Readers of every format and the reader of our own recordings use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/profile/timeline.h"

namespace warpmark::profile {

/// Fact of a converted profile: the format that it was first recorded in.
inline constexpr const char* kRecordedAs = "recorded_as";

/// One event as a reader found it. Indices come from the builder.
struct NewEvent {
  std::int64_t start = 0;     ///< ns on the recording's clock
  std::int64_t duration = 0;  ///< ns
  std::int64_t value = 0;
  NameId name = 0;
  std::uint32_t track = 0;
  std::uint32_t correlation = 0;
  std::uint32_t link = 0;
  std::uint32_t detail = 0;
  EventKind kind = EventKind::other;
};

/// Not thread safe. An event costs 45 bytes here; finish() needs 16 more while it sorts.
class TimelineBuilder {
 public:
  TimelineBuilder();

  [[nodiscard]] NameId intern(std::string_view text) { return timeline_.names.intern(text); }
  /// The track with this kind, process, thread and device; its name is kept from the first call that has one. Tracks of
  /// kind `other` are told apart by name as well.
  [[nodiscard]] std::uint32_t track(const Track& track);
  /// 0 for the shape that says nothing.
  [[nodiscard]] std::uint32_t launch_shape(const LaunchShape& shape);

  /// Room for so many events, as address space: memory is taken as they come. A guess spares much copying.
  void reserve(std::size_t events);
  /// The index is valid until finish(). A negative duration becomes 0 and is counted.
  EventIndex add(const NewEvent& event);
  /// `collective.event` is what add() returned; calls in ascending order of it.
  void add_collective(const Collective& collective);
  /// Appends to the series with this id and device, which the first call makes.
  void add_counter(std::string_view id, std::string_view unit, int device, std::int64_t time, double value);
  /// Counts a flaw. `text` says what it is and what was done about it; the first example is kept, shortened.
  void issue(std::string_view id, std::string_view text, std::string_view example = {}, std::int64_t count = 1);
  /// What metadata_of(issue) made becomes an issue again, which finish() joins with those met here.
  void add_metadata(std::string_view key, std::string_view value);

  /// Events start on a clock whose 0 is this many ns after the Unix epoch (or boot). May be set at any time.
  void set_clock_origin(std::int64_t origin_ns) { clock_origin_ns_ = origin_ns; }
  /// For what has no function of its own: source, format, rank, host, gpus. Not for the events.
  [[nodiscard]] Timeline& facts() { return timeline_; }
  [[nodiscard]] std::size_t size() const { return timeline_.events.size(); }

  /// Drops events whose time makes no sense (a week or more from the others, or as long), and counts them; sorts by
  /// start, longer first, else in the order added; moves the origin to the first event. The builder is empty
  /// afterwards.
  [[nodiscard]] Timeline finish();

 private:
  void drop_nonsense();
  void drop_copies();
  void sort_counters();
  void count_overlaps();
  void join_issues_of_source();
  void rebase();

  Timeline timeline_;
  std::int64_t clock_origin_ns_ = 0;
  std::unordered_map<std::string, std::uint32_t> track_ids_;
  std::unordered_map<std::string, std::uint32_t> shape_ids_;
  std::unordered_map<std::string, std::size_t> counter_ids_;
  std::unordered_map<std::string, std::size_t> issue_ids_;
  std::vector<DataQualityIssue> issues_of_source_;
};

/// A flaw as a key and a value of the metadata, by which a converted profile says what its source had lost.
[[nodiscard]] std::pair<std::string, std::string> metadata_of(const DataQualityIssue& issue);

/// Adds a flaw to a list of them, joined with the one of the same id. `example` is shortened and made printable.
void count_issue(std::vector<DataQualityIssue>& issues, std::string_view id, std::string_view text,
                 std::string_view example = {}, std::int64_t count = 1);

/// By start, longer first on ties, else in the order given; collectives follow their events. Needs 16 bytes an event.
void sort_events(Timeline& timeline);

/// Keeps the events for which keep[i] is not 0, in order; collectives of the others are dropped.
void keep_events(Timeline& timeline, const EventColumn<std::uint8_t>& keep);

/// CUDA C++ Programming Guide, "Streams": work of a stream executes in the order in which it was issued. Records of
/// ROCm were seen with kernels of 1.6 s among such of 0.3 ms.
struct Overruns {
  std::int64_t count = 0;
  std::string example;
};

/// Shortens work that its recorder lets run on while two or more later launches of its stream began and ended: to where
/// the next of them began. Nodes of one CUDA graph may overlap, and so may a kernel and the next one (programmatic
/// dependent launch). `timeline` is sorted by start. O(events).
[[nodiscard]] Overruns shorten_overruns(Timeline& timeline);

}  // namespace warpmark::profile
