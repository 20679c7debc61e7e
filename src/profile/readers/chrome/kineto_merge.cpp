#include "profile/readers/chrome/kineto_merge.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "profile/readers/text/json_text.h"

namespace warpmark::profile {
namespace {

struct FlawText {
  const char* id;
  const char* text;
};

/// In the order of Flaw.
constexpr FlawText kFlawTexts[] = {
    {"malformed_event", "events that are no valid JSON: read as far as they make sense"},
    {"unreadable_event", "pieces of text that are no event: left out"},
    {"truncated", "the file ends within an event, which was left out: what came later is missing"},
    {"not_a_number",
     "times that are no number: without a start the event was left out, without a duration it is an instant"},
    {"no_time", "events without a time, or with none but 0: left out"},
    {"other_phase", "rows of kinds that the PyTorch profiler does not write ('b', 'e', 'n', ...): left out"},
    {"profiler_row", "rows about the recording itself: left out"},
    {"large_id", "ids above 32 bits: shortened, so that two may have become one"},
    {"odd_argument", "arguments that are no number (NaN, inf, N/A): left out, the events were kept"},
    {"text_id", "events of processes or threads whose id is a text: it was taken as the name of their row"},
};
static_assert(std::size(kFlawTexts) == static_cast<std::size_t>(Flaw::count));

/// Those of the streams with work; none if a stream has no rank or several.
std::set<int> ranks_with_work(const Timeline& whole, const std::vector<int>& ranks) {
  std::set<int> found;
  for (EventIndex i = 0; i < whole.events.size(); ++i) {
    if (!is_gpu_work(whole.events.kind[i])) continue;
    const std::uint32_t track = whole.events.track[i];
    if (track >= ranks.size() || ranks[track] < 0) return {};
    found.insert(ranks[track]);
  }
  return found;
}

NewEvent event_of(const Timeline& whole, EventIndex i, TimelineBuilder& builder) {
  const EventColumns& events = whole.events;
  NewEvent event{
      events.start[i], events.duration[i], events.value[i], builder.intern(whole.name_of(i)), 0, events.correlation[i],
      events.link[i],  events.detail[i],   events.kind[i]};
  event.track = builder.track(whole.tracks[events.track[i]]);
  if (event.kind == EventKind::kernel) event.detail = builder.launch_shape(whole.launch_shapes[event.detail]);
  if (event.kind == EventKind::op) event.detail = builder.intern(whole.names.at(event.detail));
  return event;
}

}  // namespace

KinetoMerge::KinetoMerge(TimelineBuilder& builder, std::size_t parsers) : builder_(builder), words_(parsers) {}

void KinetoMerge::skip(std::size_t parser, const EventBatch& batch) {
  Words& words = words_[parser];
  if (batch.restart) words = Words();
  words.texts.insert(words.texts.end(), batch.new_texts.begin(), batch.new_texts.end());
  words.names.resize(words.texts.size());
  for (std::size_t i = 0; i < batch.new_tracks.size(); ++i) {
    Track decoded = batch.new_tracks[i];
    decoded.name = decode_json_text(decoded.name).text;
    words.tracks.push_back(builder_.track(decoded));
    note_rank(words.tracks.back(), batch.new_ranks[i]);
  }
  for (const LaunchShape& shape : batch.new_shapes) words.shapes.push_back(builder_.launch_shape(shape));
}

void KinetoMerge::note_rank(std::uint32_t track, int rank) {
  if (track >= ranks_.size()) ranks_.resize(track + 1, kNoRank);
  if (rank < 0) return;
  ranks_[track] = ranks_[track] == kNoRank || ranks_[track] == rank ? rank : kSeveralRanks;
}

void KinetoMerge::add(std::size_t parser, const EventBatch& batch) {
  skip(parser, batch);
  Words& words = words_[parser];
  std::size_t next_collective = 0;
  std::size_t next_bracket = 0;
  for (std::size_t i = 0; i < batch.events.size(); ++i) {
    const RawEvent& raw = batch.events[i];
    NewEvent event{
        raw.start, raw.duration, raw.value, name_of(words, raw.name), words.tracks[raw.track], raw.correlation,
        raw.link,  raw.detail,   raw.kind};
    if (raw.kind == EventKind::kernel) event.detail = words.shapes[raw.detail];
    if (raw.kind == EventKind::op && raw.detail > 0) event.detail = name_of(words, raw.detail - 1);
    const EventIndex index = builder_.add(event);
    for (; next_bracket < batch.brackets.size(); ++next_bracket) {
      const RawBracket& one = batch.brackets[next_bracket];
      if (one.event != kEndBracket && one.event > i) break;
      brackets_.push_back({one.process, one.thread, one.time, one.event == kEndBracket ? kEndBracket : index});
    }
    for (; next_collective < batch.collectives.size() && batch.collectives[next_collective].event == i;
         ++next_collective) {
      const RawCollective& from = batch.collectives[next_collective];
      builder_.add_collective({index, name_of(words, from.name), name_of(words, from.data_type),
                               name_of(words, from.group), from.in_elements, from.out_elements,
                               static_cast<std::int32_t>(std::clamp<std::int64_t>(from.group_size, 0, INT32_MAX)),
                               from.sequence});
    }
  }
  for (; next_bracket < batch.brackets.size(); ++next_bracket) {  // ends behind the last event
    const RawBracket& one = batch.brackets[next_bracket];
    brackets_.push_back({one.process, one.thread, one.time, kEndBracket});
  }
  for (const std::string& category : batch.new_categories) {
    const std::string name = decode_json_text(category).text;
    if (categories_.size() < kMostCategories && std::ranges::count(categories_, name) == 0) categories_.push_back(name);
  }
  add_counters(words, batch);
  flows_.insert(flows_.end(), batch.flows.begin(), batch.flows.end());
  track_names_.insert(track_names_.end(), batch.track_names.begin(), batch.track_names.end());
  rows_ += batch.rows;
  for (std::size_t i = 0; i < flaws_.size(); ++i) {
    flaws_[i] += batch.flaws[i];
    if (examples_[i].empty()) examples_[i] = batch.examples[i];
  }
}

NameId KinetoMerge::name_of(Words& words, std::uint32_t text) {
  Name& name = words.names[text];
  if (name.id == kNotYet) {
    const DecodedText decoded = decode_json_text(words.texts[text]);
    name = {builder_.intern(decoded.text), decoded.flaws};
  }
  if (name.flaws != 0) {
    const std::string_view example = words.texts[text];
    if ((name.flaws & kBadUtf8) != 0) {
      builder_.issue("bad_utf8", "texts that are not UTF-8: the wrong bytes were replaced by U+FFFD", example);
    }
    if ((name.flaws & kControlCharacter) != 0) {
      builder_.issue("control_character", "texts with raw control characters, which JSON forbids: kept", example);
    }
    if ((name.flaws & kBadEscape) != 0) {
      builder_.issue("bad_escape", "texts with a backslash that JSON does not know: kept unchanged", example);
    }
  }
  return name.id;
}

/// The allocator's totals come with each of its calls. Kept are changes of what is reserved and new heights of what is
/// allocated: the rest follows from the events.
void KinetoMerge::add_counters(Words& words, const EventBatch& batch) {
  for (const RawCounter& counter : batch.counters) {
    const std::string name(builder_.facts().names.at(name_of(words, counter.name)));
    if (counter.is_memory) {
      const bool first = !last_memory_.contains(name + std::to_string(counter.device));
      double& last = last_memory_[name + std::to_string(counter.device)];
      const bool is_news = name == "memory_allocated" ? counter.value > last : counter.value != last;
      if (!first && !is_news) continue;
      last = counter.value;
    }
    const std::string unit(builder_.facts().names.at(name_of(words, counter.unit)));
    builder_.add_counter(name, unit, counter.device, counter.time, counter.value);
  }
}

void KinetoMerge::finish() {
  builder_.add_metadata("rows", std::to_string(rows_));
  if (!categories_.empty()) builder_.add_metadata("unknown_categories", join(categories_, ", "));
  close_brackets();
  name_tracks();
  count_flows();
  count_flaws();
}

/// Rows of one thread nest: an end closes what was opened last. What the file never closes stays an instant.
void KinetoMerge::close_brackets() {
  std::ranges::stable_sort(brackets_, [](const RawBracket& a, const RawBracket& b) {
    return std::tie(a.process, a.thread, a.time) < std::tie(b.process, b.thread, b.time);
  });
  EventColumns& events = builder_.facts().events;
  std::vector<std::uint32_t> open;
  std::int64_t unmatched = 0;
  for (std::size_t i = 0; i < brackets_.size(); ++i) {
    const RawBracket& one = brackets_[i];
    if (i > 0 && (brackets_[i - 1].process != one.process || brackets_[i - 1].thread != one.thread)) {
      unmatched += std::ssize(open);
      open.clear();
    }
    if (one.event != kEndBracket) {
      open.push_back(one.event);
    } else if (open.empty()) {
      ++unmatched;
    } else {
      events.duration[open.back()] = one.time - events.start[open.back()];
      open.pop_back();
    }
  }
  unmatched += std::ssize(open);
  if (unmatched > 0) {
    builder_.issue("unmatched_bracket",
                   "rows that begin or end an event ('B', 'E') without the other: instants, or left out", "",
                   unmatched);
  }
}

/// Kineto's rows that name threads do not tell whether they mean a thread of a process or a stream of a GPU.
void KinetoMerge::name_tracks() {
  std::multimap<std::pair<std::int64_t, std::int64_t>, Track*> tracks;
  for (Track& track : builder_.facts().tracks) {
    const bool is_stream = track.kind == TrackKind::gpu_stream;
    tracks.insert({{is_stream ? track.device : track.process, track.thread}, &track});
  }
  for (const RawTrackName& row : track_names_) {
    const auto [begin, end] = tracks.equal_range({row.process, row.thread});
    for (auto track = begin; track != end; ++track) {
      if (row.kind && (*row.kind == TrackKind::gpu_stream) != (track->second->kind == TrackKind::gpu_stream)) continue;
      if (track->second->name.empty()) track->second->name = decode_json_text(row.name).text;
    }
  }
}

void KinetoMerge::count_flows() {
  builder_.add_metadata("flow_rows", std::to_string(flows_.size()));
  std::sort(flows_.begin(), flows_.end());
  std::int64_t one_ended = 0;
  for (std::size_t i = 0; i < flows_.size();) {
    std::size_t end = i;
    bool has[2] = {false, false};
    for (; end < flows_.size() && flows_[end] >> 1 == flows_[i] >> 1; ++end) has[flows_[end] & 1] = true;
    if (!has[0] || !has[1]) ++one_ended;
    i = end;
  }
  if (one_ended > 0) {
    builder_.issue("one_ended_flow", "flow events without a counterpart: events are joined by correlation id instead",
                   "", one_ended);
  }
}

void KinetoMerge::count_flaws() {
  for (std::size_t i = 0; i < flaws_.size(); ++i) {
    if (flaws_[i] > 0) builder_.issue(kFlawTexts[i].id, kFlawTexts[i].text, examples_[i], flaws_[i]);
  }
}

std::vector<Timeline> split_by_rank(Timeline whole, const std::vector<int>& ranks) {
  std::vector<Timeline> parts;
  const std::set<int> with_work = ranks_with_work(whole, ranks);
  if (with_work.size() < 2) {
    parts.push_back(std::move(whole));
    return parts;
  }
  std::map<int, TimelineBuilder> builders;
  std::map<int, int> rank_of_device;
  for (const int rank : with_work) builders[rank].set_clock_origin(whole.origin_ns);
  const auto rank_of = [&](std::uint32_t track) {
    const int rank = track < ranks.size() ? ranks[track] : kNoRank;
    return with_work.contains(rank) ? rank : *with_work.begin();
  };
  for (std::uint32_t track = 0; track < whole.tracks.size(); ++track) {
    const Track& one = whole.tracks[track];
    if (one.kind == TrackKind::gpu_stream) rank_of_device.try_emplace(one.device, rank_of(track));
  }
  std::size_t next_collective = 0;
  for (EventIndex i = 0; i < whole.events.size(); ++i) {
    TimelineBuilder& builder = builders[rank_of(whole.events.track[i])];
    const EventIndex added = builder.add(event_of(whole, i, builder));
    for (; next_collective < whole.collectives.size() && whole.collectives[next_collective].event == i;
         ++next_collective) {
      Collective one = whole.collectives[next_collective];
      one.event = added;
      for (NameId* name : {&one.name, &one.data_type, &one.group}) *name = builder.intern(whole.names.at(*name));
      builder.add_collective(one);
    }
  }
  for (const CounterSeries& series : whole.counters) {
    const auto known = rank_of_device.find(series.device);
    TimelineBuilder& builder = builders[known == rank_of_device.end() ? *with_work.begin() : known->second];
    for (std::size_t i = 0; i < series.times.size(); ++i)
      builder.add_counter(series.id, series.unit, series.device, series.times[i], series.values[i]);
  }
  for (auto& [rank, builder] : builders) {
    Timeline part = builder.finish();
    part.rank = rank;
    part.world_size = whole.world_size;
    part.host = whole.host;
    part.format = whole.format;
    part.gpus = whole.gpus;
    part.metadata = whole.metadata;
    part.quality = rank == *with_work.begin() ? whole.quality : std::vector<DataQualityIssue>();
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace warpmark::profile
