#include "profile/timeline_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include "base/units.h"

namespace warpmark::profile {
namespace {

/// Differences of times below this (146 years in ns) fit into 64 bits.
constexpr std::int64_t kTimeLimit = std::int64_t{1} << 62;
/// CUPTI marks a time it never got by one far away; nobody records for a week.
constexpr std::int64_t kNonsenseNs = std::int64_t{7} * 24 * 3600 * 1'000'000'000;
constexpr std::int64_t kOverlapNs = 1000;  // nested events may stick out by the rounding of their clock
constexpr std::size_t kExampleBytes = 160;
constexpr std::size_t kMaxEvents = kNoEvent - 1;

constexpr std::string_view kQualityKey = "quality of the source: ";

constexpr const char* kNonsenseText =
    "events left out: their time is a week or more away from the others, or they last as long";

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, kExampleBytes)) {
    const bool plain = static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7F;
    if (plain || (c == '\n' || c == '\t')) {
      const char shown = plain ? c : ' ';
      if (shown != ' ' || result.empty() || result.back() != ' ') result += shown;
    } else {
      result += '?';
    }
  }
  if (text.size() > kExampleBytes) result += "...";
  return result;
}

template <typename Shape>
std::string key_of_shape(const Shape& shape) {
  std::string key(sizeof(Shape), '\0');
  std::memcpy(key.data(), &shape, sizeof(Shape));
  return key;
}

bool nests(EventKind kind) {
  return kind == EventKind::op || kind == EventKind::runtime_api || kind == EventKind::python;
}

/// A value that half of the times are below; of a sample, as it only has to be somewhere among them.
std::int64_t middle_of(const EventColumn<std::int64_t>& times) {
  constexpr std::size_t kSample = 4096;
  const std::size_t step = std::max<std::size_t>(1, times.size() / kSample);
  std::vector<std::int64_t> sample;
  for (std::size_t i = 0; i < times.size(); i += step) sample.push_back(times[i]);
  const auto middle = sample.begin() + static_cast<std::ptrdiff_t>(sample.size() / 2);
  std::nth_element(sample.begin(), middle, sample.end());
  return *middle;
}

}  // namespace

TimelineBuilder::TimelineBuilder() { timeline_.launch_shapes.emplace_back(); }

std::uint32_t TimelineBuilder::track(const Track& track) {
  std::string key = std::to_string(static_cast<int>(track.kind)) + "/" + std::to_string(track.process) + "/" +
                    std::to_string(track.thread) + "/" + std::to_string(track.device);
  if (track.kind == TrackKind::other) key += "/" + track.name;
  const auto [known, added] =
      track_ids_.try_emplace(std::move(key), static_cast<std::uint32_t>(timeline_.tracks.size()));
  if (added) {
    timeline_.tracks.push_back(track);
  } else if (timeline_.tracks[known->second].name.empty()) {
    timeline_.tracks[known->second].name = track.name;
  }
  return known->second;
}

std::uint32_t TimelineBuilder::launch_shape(const LaunchShape& shape) {
  if (shape == timeline_.launch_shapes[0]) return 0;
  const auto [known, added] =
      shape_ids_.try_emplace(key_of_shape(shape), static_cast<std::uint32_t>(timeline_.launch_shapes.size()));
  if (added) timeline_.launch_shapes.push_back(shape);
  return known->second;
}

void TimelineBuilder::reserve(std::size_t count) {
  EventColumns& events = timeline_.events;
  events.start.reserve(count);
  events.duration.reserve(count);
  events.value.reserve(count);
  events.name.reserve(count);
  events.track.reserve(count);
  events.correlation.reserve(count);
  events.link.reserve(count);
  events.detail.reserve(count);
  events.kind.reserve(count);
}

EventIndex TimelineBuilder::add(const NewEvent& event) {
  EventColumns& events = timeline_.events;
  if (events.size() >= kMaxEvents) {
    issue("too_many_events", "events left out: more than 4 billion in one process");
    return kNoEvent;
  }
  std::int64_t duration = event.duration;
  if (duration < 0) {
    issue("negative_duration", "events that end before they start: taken as instants", timeline_.names.at(event.name));
    duration = 0;
  }
  if (event.start <= -kTimeLimit || event.start >= kTimeLimit || duration >= kTimeLimit) {
    issue("nonsense_time", kNonsenseText, timeline_.names.at(event.name));
    return kNoEvent;
  }
  events.start.push_back(event.start);
  events.duration.push_back(duration);
  events.value.push_back(event.value);
  events.name.push_back(event.name);
  events.track.push_back(event.track);
  events.correlation.push_back(event.correlation);
  events.link.push_back(event.link);
  events.detail.push_back(event.detail);
  events.kind.push_back(event.kind);
  return static_cast<EventIndex>(events.size() - 1);
}

void TimelineBuilder::add_collective(const Collective& collective) {
  if (collective.event != kNoEvent) timeline_.collectives.push_back(collective);
}

void TimelineBuilder::add_counter(std::string_view id, std::string_view unit, int device, std::int64_t time,
                                  double value) {
  if (time <= -kTimeLimit || time >= kTimeLimit) {
    issue("nonsense_time", kNonsenseText, id);
    return;
  }
  const auto [known, added] =
      counter_ids_.try_emplace(std::to_string(device) + "/" + std::string(id), timeline_.counters.size());
  if (added) timeline_.counters.push_back({std::string(id), std::string(unit), device, {}, {}});
  CounterSeries& series = timeline_.counters[known->second];
  series.times.push_back(time);
  series.values.push_back(value);
}

void TimelineBuilder::issue(std::string_view id, std::string_view text, std::string_view example, std::int64_t count) {
  const auto [known, added] = issue_ids_.try_emplace(std::string(id), timeline_.quality.size());
  if (added) {
    count_issue(timeline_.quality, id, text, example, count);
    return;
  }
  DataQualityIssue& issue = timeline_.quality[known->second];
  issue.count += count;
  if (issue.example.empty()) issue.example = printable(example);
}

void TimelineBuilder::add_metadata(std::string_view key, std::string_view value) {
  const auto bar = value.find('|');
  const auto end = value.find('|', bar + 1);
  const auto count = warpmark::parse_integer(value.substr(0, bar));
  if (key.starts_with(kQualityKey) && end != std::string_view::npos && count.ok() && *count > 0) {
    count_issue(issues_of_source_, printable(key.substr(kQualityKey.size())),
                printable(value.substr(bar + 1, end - bar - 1)), value.substr(end + 1), *count);
  } else {
    timeline_.metadata.emplace_back(key, value);
  }
}

/// The flaws that the events still have were counted again here, so that the larger count is the one of both.
void TimelineBuilder::join_issues_of_source() {
  for (auto& issue : issues_of_source_) {
    const auto known = issue_ids_.find(issue.id);
    if (known == issue_ids_.end()) {
      timeline_.quality.push_back(std::move(issue));
    } else {
      DataQualityIssue& met = timeline_.quality[known->second];
      met.count = std::max(met.count, issue.count);
    }
  }
}

Timeline TimelineBuilder::finish() {
  drop_nonsense();
  sort_events(timeline_);
  drop_copies();
  sort_counters();
  rebase();
  if (const Overruns overruns = shorten_overruns(timeline_); overruns.count > 0) {
    issue("overrunning_duration",
          "GPU work that lasts longer than later work of its stream allows: shortened to where the next one began",
          overruns.example, overruns.count);
  }
  count_overlaps();
  join_issues_of_source();
  Timeline finished = std::move(timeline_);
  *this = TimelineBuilder();
  return finished;
}

void TimelineBuilder::drop_nonsense() {
  const EventColumns& events = timeline_.events;
  if (events.size() == 0) return;
  const std::int64_t middle = middle_of(events.start);
  const auto is_nonsense = [&](std::size_t i) {
    return events.duration[i] >= kNonsenseNs || std::abs(events.start[i] - middle) >= kNonsenseNs;
  };
  std::size_t first = 0;
  while (first < events.size() && !is_nonsense(first)) ++first;
  if (first == events.size()) return;
  EventColumn<std::uint8_t> keep;
  keep.reserve(events.size());
  std::int64_t dropped = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    keep.push_back(is_nonsense(i) ? 0 : 1);
    dropped += keep.back() == 0 ? 1 : 0;
  }
  issue("nonsense_time", kNonsenseText, timeline_.names.at(events.name[first]), dropped);
  keep_events(timeline_, keep);
}

/// A file that was merged with itself holds rows twice. A few that are alike may be what happened.
void TimelineBuilder::drop_copies() {
  constexpr std::size_t kLookBack = 8;  // rows that begin together
  const EventColumns& events = timeline_.events;
  const auto is_copy_of = [&](std::size_t i, std::size_t k) {
    return events.duration[k] == events.duration[i] && events.name[k] == events.name[i] &&
           events.track[k] == events.track[i] && events.correlation[k] == events.correlation[i] &&
           events.link[k] == events.link[i] && events.kind[k] == events.kind[i] && events.duration[i] > 0;
  };
  EventColumn<std::uint8_t> keep;
  keep.reserve(events.size());
  std::size_t copies = 0, first = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    bool copy = false;
    for (std::size_t k = i; !copy && k-- > 0 && i - k <= kLookBack && events.start[k] == events.start[i];) {
      copy = keep[k] != 0 && is_copy_of(i, k);
    }
    if (copy && copies++ == 0) first = i;
    keep.push_back(copy ? 0 : 1);
  }
  if (copies * 3 < events.size() || copies * 2 > events.size() || copies == 0) return;
  issue("repeated_rows", "rows that are there twice, as in a file merged with itself: counted once",
        timeline_.names.at(events.name[first]), static_cast<std::int64_t>(copies));
  keep_events(timeline_, keep);
}

void TimelineBuilder::sort_counters() {
  for (CounterSeries& series : timeline_.counters) {
    if (std::is_sorted(series.times.begin(), series.times.end())) continue;
    std::vector<std::pair<std::int64_t, double>> points;
    for (std::size_t i = 0; i < series.times.size(); ++i) points.emplace_back(series.times[i], series.values[i]);
    std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < points.size(); ++i) std::tie(series.times[i], series.values[i]) = points[i];
  }
}

void TimelineBuilder::rebase() {
  EventColumns& events = timeline_.events;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  if (events.size() > 0) first = events.start[0];
  for (const CounterSeries& series : timeline_.counters) {
    if (events.size() == 0 && !series.times.empty()) first = std::min(first, series.times[0]);
  }
  if (first == std::numeric_limits<std::int64_t>::max()) first = 0;
  for (std::int64_t& start : events.start) start -= first;
  for (CounterSeries& series : timeline_.counters) {
    for (std::int64_t& time : series.times) time -= first;
  }
  if (__builtin_add_overflow(clock_origin_ns_, first, &timeline_.origin_ns)) timeline_.origin_ns = first;
}

/// Calls of one thread nest. Those that do not would count some time twice.
void TimelineBuilder::count_overlaps() {
  const EventColumns& events = timeline_.events;
  std::vector<std::vector<std::int64_t>> open(timeline_.tracks.size());  // ends of the calls that are running
  std::int64_t count = 0;
  std::size_t example = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!nests(events.kind[i]) || events.track[i] >= open.size()) continue;
    auto& ends = open[events.track[i]];
    while (!ends.empty() && ends.back() <= events.start[i]) ends.pop_back();
    if (!ends.empty() && events.end(i) > ends.back() + kOverlapNs) {
      if (count++ == 0) example = i;
    }
    ends.push_back(events.end(i));
  }
  if (count == 0) return;
  issue("overlapping_events", "calls of one thread that overlap without nesting: kept as they are",
        timeline_.names.at(events.name[example]), count);
}

std::pair<std::string, std::string> metadata_of(const DataQualityIssue& issue) {
  return {std::string(kQualityKey) + issue.id, std::to_string(issue.count) + '|' + issue.text + '|' + issue.example};
}

void count_issue(std::vector<DataQualityIssue>& issues, std::string_view id, std::string_view text,
                 std::string_view example, std::int64_t count) {
  const auto known =
      std::find_if(issues.begin(), issues.end(), [&](const DataQualityIssue& issue) { return issue.id == id; });
  if (known == issues.end()) {
    issues.push_back({std::string(id), std::string(text), count, printable(example)});
    return;
  }
  known->count += count;
  if (known->example.empty()) known->example = printable(example);
}

}  // namespace warpmark::profile
