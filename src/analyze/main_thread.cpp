// Method: between two samples lies a stretch of which the GPU was idle `i` and busy `n`, and the thread blocked `b`. Of
// the idle time it was blocked at least b - n (it could have been blocked all of the busy time) and at most b.
#include "analyze/main_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/rule.h"

namespace warpmark::analyze {

namespace {

constexpr double kLeastCovered = 0.5;                    // of the steps by samples: less tells nothing about them
constexpr const char* kEverySample = "program_threads";  // a series that every look at the machine adds to

/// Share of the time up to each sample, by the sample's time since the Unix epoch.
using Shares = std::map<std::int64_t, double>;

struct Samples {
  std::vector<std::int64_t> times;  ///< of all looks at the machine
  Shares running, waiting;
  std::string name;
};

/// Adds the series `id` of the session's own counters and of the rank's, as times since the Unix epoch.
template <typename Take>
void each_series(const ProfileSession& session, const RankEvidence& rank, Take&& take) {
  for (const CounterSeries& series : session.counters) take(series, std::int64_t{0});
  for (const CounterSeries& series : rank.timeline->counters) take(series, rank.timeline->origin_ns);
}

std::uint32_t launching_track(const RankEvidence& rank) {
  std::map<std::uint32_t, std::int64_t> launches;
  for (const GpuWork& work : rank.list.works) {
    if (work.launch != kNoEvent && rank.in_steps(work)) ++launches[rank.timeline->events.track[work.launch]];
  }
  const auto most = std::max_element(launches.begin(), launches.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == launches.end() ? static_cast<std::uint32_t>(rank.timeline->tracks.size()) : most->first;
}

/// A thread that did nothing has no sample: between its samples it was blocked.
Samples samples_of(const ProfileSession& session, const RankEvidence& rank, const Track& track) {
  Samples samples;
  const std::string label = fmt::format("{}/{} ", track.process, track.thread);
  each_series(session, rank, [&](const CounterSeries& series, std::int64_t origin_ns) {
    const bool running = series.id.starts_with("thread_running " + label);
    if (series.id == kEverySample) {
      for (const std::int64_t time : series.times) samples.times.push_back(origin_ns + time);
    }
    if (!running && !series.id.starts_with("thread_waiting " + label)) return;
    samples.name = series.id.substr(std::string_view("thread_running ").size() + label.size());
    for (std::size_t i = 0; i < series.times.size(); ++i) {
      (running ? samples.running : samples.waiting)[origin_ns + series.times[i]] = series.values[i];
    }
  });
  std::sort(samples.times.begin(), samples.times.end());
  return samples;
}

/// 0 if the thread has no sample then.
double share_at(const Shares& shares, std::int64_t time) {
  const auto at = shares.find(time);
  return at != shares.end() && at->second > 0 ? std::min(at->second, 1.0) : 0;
}

}  // namespace

std::optional<MainThread> main_thread(const ProfileSession& session, const RankEvidence& rank) {
  const std::uint32_t track = launching_track(rank);
  if (track >= rank.timeline->tracks.size() || rank.steps.analyzed.empty()) return std::nullopt;
  const Samples samples = samples_of(session, rank, rank.timeline->tracks[track]);
  if (samples.running.empty()) return std::nullopt;
  const std::int64_t begin = rank.steps.start(), end = rank.steps.end();
  MainThread thread{.name = samples.name};
  double covered = 0, idle = 0;
  for (std::size_t i = 1; i < samples.times.size(); ++i) {
    const std::int64_t from = std::max(begin, samples.times[i - 1] - rank.timeline->origin_ns);
    const std::int64_t to = std::min(end, samples.times[i] - rank.timeline->origin_ns);
    if (to <= from) continue;
    const auto length = static_cast<double>(to - from);
    const auto busy = static_cast<double>(rank.busy.covered(from, to));
    const double running = share_at(samples.running, samples.times[i]) * length;
    const double waiting = std::min(share_at(samples.waiting, samples.times[i]) * length, length - running);
    const double blocked = length - running - waiting;
    covered += length;
    idle += length - busy;
    thread.running += running;
    thread.waiting += waiting;
    thread.blocked += blocked;
    thread.idle_blocked_low += std::max(0.0, blocked - busy);
    thread.idle_blocked_high += std::min(blocked, length - busy);
  }
  if (covered < kLeastCovered * static_cast<double>(end - begin)) return std::nullopt;
  for (double* share : {&thread.running, &thread.waiting, &thread.blocked}) *share /= covered;
  for (double* share : {&thread.idle_blocked_low, &thread.idle_blocked_high}) *share = idle > 0 ? *share / idle : 0;
  return thread;
}

std::string idle_text(const MainThread& thread) {
  constexpr double kMostly = 0.5;
  const std::string range =
      fmt::format("{:.0f} to {:.0f} %", thread.idle_blocked_low * 100, thread.idle_blocked_high * 100);
  if (thread.idle_blocked_low > kMostly) {
    return "While the GPU idles the launching thread is mostly blocked (" + range +
           " of that time): it waits for a loader, another thread, a lock or a disk";
  }
  if (thread.idle_blocked_high < kMostly) {
    return "While the GPU idles the launching thread mostly works (blocked " + range +
           " of that time): Python, preprocessing or dispatch";
  }
  return {};
}

void show_main_thread(const Evidence& evidence, Finding& finding) {
  const auto thread = main_thread(*evidence.session, evidence.rank());
  if (!thread) return;
  finding.evidence.push_back(
      share_fact("main_thread_running", "Launching thread " + thread->name + " on a processor", thread->running));
  finding.evidence.push_back(share_fact("main_thread_blocked", "Launching thread blocked", thread->blocked));
  constexpr double kWorthSaying = 0.05;
  if (thread->waiting > kWorthSaying) {
    finding.evidence.push_back(
        share_fact("main_thread_waiting", "Launching thread ready to run, but without a processor", thread->waiting));
  }
  if (const std::string text = idle_text(*thread); !text.empty()) {
    finding.evidence.push_back(
        {text, "main_thread_blocked_while_idle", (thread->idle_blocked_low + thread->idle_blocked_high) / 2, ""});
  }
}

}  // namespace warpmark::analyze
