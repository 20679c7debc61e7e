#include "analyze/recorded/thread_stacks.h"

#include <algorithm>
#include <iterator>

#include "analyze/names/code_frames.h"
#include "analyze/recorded/scales.h"

namespace warpmark::analyze {
namespace {

/// The first after `from`, else the last before; none further away than kStackPeriodNs.
const InFrame* nearest(const std::vector<InFrame>& all, std::vector<InFrame>::const_iterator at, std::int64_t from,
                       std::int64_t to) {
  for (auto one = at; one != all.end() && one->start <= to + kStackPeriodNs; ++one) {
    if (one->innermost != kNoEvent && one->start >= from) return &*one;
  }
  while (at != all.begin()) {
    const auto end = at->start;
    --at;
    if (end < from - kStackPeriodNs) return nullptr;
    if (at->innermost != kNoEvent) return &*at;
  }
  return nullptr;
}

}  // namespace

ThreadStacks::ThreadStacks(const Timeline& timeline) : timeline_(timeline) {
  const EventColumns& events = timeline.events;
  std::map<ThreadId, std::vector<EventIndex>> frames;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] != EventKind::python) continue;
    const Track& track = timeline.tracks[events.track[i]];
    sampled_ = sampled_ || track.kind == TrackKind::other;
    frames[{track.process, track.thread}].push_back(i);
  }
  std::size_t most = 0;
  std::erase_if(frames, [this](const auto& thread) {
    const auto& all = thread.second;
    return std::ranges::none_of(all, [this](EventIndex one) { return is_own(one); }) &&
           std::ranges::any_of(all, [this](EventIndex one) { return is_generated(one); });
  });
  for (const auto& [thread, all] : frames) {
    if (all.size() > most) most = all.size(), main_ = thread;
    threads_[thread] = in_frames(all);
  }
  // Linux gives the first thread of a process its number: that one, unless it only waits for another.
  for (const auto& [thread, all] : frames) {
    if (thread.first == thread.second &&
        static_cast<double>(all.size()) >= (1 - kNearlyAll) * static_cast<double>(most))
      main_ = thread;
  }
}

std::vector<TimeInFrame> ThreadStacks::within(std::uint32_t track, std::int64_t from, std::int64_t to) const {
  const Track& row = timeline_.tracks[track];
  auto thread = threads_.find({row.process, row.thread});
  if (thread == threads_.end()) thread = threads_.find(main_);
  if (thread == threads_.end()) return {};
  const std::vector<InFrame>& all = thread->second;
  const auto after = [](std::int64_t time, const InFrame& one) { return time < one.start; };
  auto at = std::upper_bound(all.begin(), all.end(), from, after);
  // Of samples, what was seen before the interval is old once something was seen within it.
  const bool seen_within = at != all.end() && at->start < to && at->innermost != kNoEvent;
  if (at != all.begin() && !(sampled_ && seen_within)) --at;
  std::vector<TimeInFrame> found;
  for (auto one = at; one != all.end() && one->start < std::max(to, from + 1); ++one) {
    const std::int64_t end = std::next(one) == all.end() ? one->start : std::next(one)->start;
    const std::int64_t ns = std::min(end, std::max(to, from + 1)) - std::max(one->start, from);
    if (ns <= 0 || one->innermost == kNoEvent) continue;
    found.push_back({*one, ns});
  }
  if (!found.empty() || !sampled_) return found;
  if (const InFrame* frame = nearest(all, at, from, to)) found.push_back({*frame, 1});
  return found;
}

std::optional<InFrame> ThreadStacks::seen_at(std::uint32_t track, std::int64_t from, std::int64_t to) const {
  const Track& row = timeline_.tracks[track];
  const auto thread = threads_.find({row.process, row.thread});
  if (!sampled_ || thread == threads_.end()) return std::nullopt;
  const std::vector<InFrame>& all = thread->second;
  const auto before = [](const InFrame& one, std::int64_t time) { return one.start < time; };
  auto at = std::lower_bound(all.begin(), all.end(), from, before);
  while (at != all.end() && at->innermost == kNoEvent) ++at;
  if (at == all.end() || at->start > to) return std::nullopt;
  return *at;
}

std::vector<InFrame> ThreadStacks::in_frames(const std::vector<EventIndex>& frames) const {
  const EventColumns& events = timeline_.events;
  std::vector<InFrame> all;
  std::vector<EventIndex> open;
  const auto now_in = [&](std::int64_t time) {
    InFrame one{time, kNoEvent, open.empty() ? kNoEvent : open.back()};
    for (auto frame = open.rbegin(); frame != open.rend() && one.own == kNoEvent; ++frame) {
      if (is_own(*frame)) one.own = *frame;
    }
    if (!all.empty() && all.back().start == time) all.pop_back();
    all.push_back(one);
  };
  const auto close_until = [&](std::int64_t time) {
    while (!open.empty() && events.end(open.back()) <= time) {
      const std::int64_t end = events.end(open.back());
      open.pop_back();
      now_in(end);
    }
  };
  for (const EventIndex frame : frames) {
    close_until(events.start[frame]);
    open.push_back(frame);
    now_in(events.start[frame]);
  }
  close_until(INT64_MAX);
  return all;
}

bool ThreadStacks::is_generated(EventIndex frame) const {
  return is_generated_by_compiler(parse_code_frame(timeline_.name_of(frame)).file);
}

bool ThreadStacks::is_own(EventIndex frame) const {
  const NameId name = timeline_.events.name[frame];
  const auto [known, is_new] = own_.try_emplace(name, false);
  if (is_new) known->second = !is_library_code(parse_code_frame(timeline_.names.at(name)).file);
  return known->second;
}

}  // namespace warpmark::analyze
