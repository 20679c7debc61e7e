// Method: between two samples lies a stretch of which the GPU was idle `i` and busy `n`, and the thread blocked `b`. Of
// the idle time it was blocked at least b - n (it could have been blocked all of the busy time) and at most b.
#include "analyze/evidence/main_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace warpmark::analyze {

namespace {

constexpr const char* kEveryPoll = "program_threads";  // a series that every look at the machine adds to

/// Share of the time up to each sample, by the sample's time since the Unix epoch.
using Shares = std::map<std::int64_t, double>;

/// Of all launching threads together, which take turns.
struct Samples {
  Shares running, waiting;
  std::string name;  ///< of the one that launched the most
  int threads = 0;
};

/// Adds the series `id` of the session's own counters and of the rank's, as times since the Unix epoch.
template <typename Take>
void each_series(const ProfileSession& session, const RankEvidence& rank, Take&& take) {
  for (const CounterSeries& series : session.counters) take(series, std::int64_t{0});
  for (const CounterSeries& series : rank.timeline->counters) take(series, rank.timeline->origin_ns);
}

/// Those that launch what matters, by its share: PyTorch launches the backward pass from a thread of
/// its own, for which the main thread waits.
std::vector<std::uint32_t> launching_tracks(const RankEvidence& rank) {
  std::map<std::uint32_t, std::int64_t> launches;
  std::int64_t all = 0;
  for (const GpuWork& work : rank.list.works) {
    if (work.launch == kNoEvent || !rank.in_steps(work)) continue;
    ++launches[rank.timeline->events.track[work.launch]];
    ++all;
  }
  std::vector<std::uint32_t> tracks;
  for (const auto& [track, count] : launches) {
    if (static_cast<double>(count) >= kMatters * static_cast<double>(all)) tracks.push_back(track);
  }
  std::sort(tracks.begin(), tracks.end(), [&](std::uint32_t one, std::uint32_t other) {
    return launches[one] != launches[other] ? launches[one] > launches[other] : one < other;
  });
  return tracks;
}

/// A thread that did nothing has no sample: between its samples it was blocked.
void add_samples(const ProfileSession& session, const RankEvidence& rank, const Track& track, Samples& samples) {
  const std::string label = fmt::format("{}/{} ", track.process, track.thread);
  each_series(session, rank, [&](const CounterSeries& series, std::int64_t origin_ns) {
    const bool running = series.id.starts_with("thread_running " + label);
    if (!running && !series.id.starts_with("thread_waiting " + label)) return;
    if (samples.name.empty()) samples.name = series.id.substr(series.id.find(label) + label.size());
    samples.threads += running ? 1 : 0;
    for (std::size_t i = 0; i < series.times.size(); ++i) {
      if (series.values[i] > 0)
        (running ? samples.running : samples.waiting)[origin_ns + series.times[i]] += series.values[i];
    }
  });
}

std::vector<std::int64_t> times_of_polls(const ProfileSession& session, const RankEvidence& rank) {
  std::vector<std::int64_t> times;
  each_series(session, rank, [&](const CounterSeries& series, std::int64_t origin_ns) {
    if (series.id != kEveryPoll) return;
    for (const std::int64_t time : series.times) times.push_back(origin_ns + time);
  });
  std::sort(times.begin(), times.end());
  return times;
}

/// 0 if no thread has a sample then.
double share_at(const Shares& shares, std::int64_t time) {
  const auto at = shares.find(time);
  return at != shares.end() && at->second > 0 ? std::min(at->second, 1.0) : 0;
}

}  // namespace

std::optional<MainThread> main_thread(const ProfileSession& session, const RankEvidence& rank) {
  if (rank.steps.analyzed.empty()) return std::nullopt;
  Samples samples;
  for (const std::uint32_t track : launching_tracks(rank)) {
    add_samples(session, rank, rank.timeline->tracks[track], samples);
  }
  if (samples.threads == 0) return std::nullopt;
  const std::vector<std::int64_t> times = times_of_polls(session, rank);
  const std::int64_t begin = rank.steps.start(), end = rank.steps.end();
  MainThread thread{.name = samples.name, .threads = samples.threads};
  double covered = 0, idle = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const std::int64_t from = std::max(begin, times[i - 1] - rank.timeline->origin_ns);
    const std::int64_t to = std::min(end, times[i] - rank.timeline->origin_ns);
    if (to <= from) continue;
    const auto length = static_cast<double>(to - from);
    const auto busy = static_cast<double>(rank.busy.covered(from, to));
    const double running = share_at(samples.running, times[i]) * length;
    const double waiting = std::min(share_at(samples.waiting, times[i]) * length, length - running);
    const double blocked = length - running - waiting;
    covered += length;
    idle += length - busy;
    thread.running += running;
    thread.waiting += waiting;
    thread.blocked += blocked;
    thread.idle_blocked_low += std::max(0.0, blocked - busy);
    thread.idle_blocked_high += std::min(blocked, length - busy);
  }
  if (covered * 2 < static_cast<double>(end - begin)) return std::nullopt;  // of less than half nothing is known
  for (double* share : {&thread.running, &thread.waiting, &thread.blocked}) *share /= covered;
  for (double* share : {&thread.idle_blocked_low, &thread.idle_blocked_high}) *share = idle > 0 ? *share / idle : 0;
  return thread;
}

std::string idle_text(const MainThread& thread) {
  const std::string range =
      fmt::format("{:.0f} to {:.0f} %", thread.idle_blocked_low * 100, thread.idle_blocked_high * 100);
  if (thread.idle_blocked_low * 2 > 1) {
    return "While the GPU idles the host is mostly blocked (" + range +
           " of that time): it waits for a loader, another thread, a lock or a disk";
  }
  if (thread.idle_blocked_high * 2 < 1) {
    return "While the GPU idles the host mostly works (blocked " + range +
           " of that time): on data, on dispatching or in an interpreter";
  }
  return {};
}

}  // namespace warpmark::analyze
