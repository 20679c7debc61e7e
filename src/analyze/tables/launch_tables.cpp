// How work gets to the GPU: launch calls with their delays, and how many launches queue up on each stream.
#include <algorithm>
#include <map>

#include "analyze/evidence/main_thread.h"
#include "analyze/tables/tables.h"

namespace warpmark::analyze {

namespace {

constexpr double kSlowCallNs = 50'000;  // outliers as in HTA

struct Calls {
  double count = 0;
  double call_ns = 0;
  double delay_ns = 0;
  double slow = 0;
  double delayed = 0;
  double shorter = 0;  ///< work shorter than its call
};

std::string stream_name(const Timeline& timeline, std::uint32_t track) {
  const Track& one = timeline.tracks[track];
  return "GPU " + std::to_string(one.device) + " stream " + std::to_string(one.thread);
}

}  // namespace

AnalysisTable launch_table(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  AnalysisTable table{
      "launches",
      "Launch calls",
      "Delay: from the end of the call to the start of its (first) work, 0 if it began earlier. Slow: above 50 µs; "
      "delayed: above 100 µs.",
      {{"call", "Call", ""},
       {"works", "Works per step", ""},
       {"mean_call", "Mean duration of the call", "s"},
       {"mean_delay", "Mean delay", "s"},
       {"slow", "Slow calls", "ratio"},
       {"delayed", "Delayed works", "ratio"},
       {"shorter", "Works shorter than their call", "ratio"}},
      {}};
  std::map<std::string, Calls> calls;
  const EventColumns& events = rank.timeline->events;
  for (const GpuWork& work : rank.list.works) {
    if (work.launch == kNoEvent || !rank.in_steps(work)) continue;
    Calls& one = calls[std::string(rank.timeline->name_of(work.launch))];
    const auto call = static_cast<double>(events.duration[work.launch]);
    const auto delay = static_cast<double>(std::max<std::int64_t>(0, work.start - events.end(work.launch)));
    one.count += 1;
    one.call_ns += call;
    one.delay_ns += delay;
    one.slow += call > kSlowCallNs;
    one.delayed += delay > kOwnWorkNs;
    one.shorter += static_cast<double>(work.end - work.start) < call;
  }
  if (calls.empty()) table.note = "No launch calls were recorded.";
  for (const auto& [name, one] : calls) {
    table.rows.push_back({name, one.count / rank.step_count(), one.call_ns * 1e-9 / one.count,
                          one.delay_ns * 1e-9 / one.count, one.slow / one.count, one.delayed / one.count,
                          one.shorter / one.count});
  }
  return table;
}

AnalysisTable queue_table(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  AnalysisTable table{
      "queue",
      "Launches waiting in a stream's queue",
      "Counted up at the launch call and down when the work begins. About 1024 is all a queue holds: then the "
      "call blocks. A queue that is mostly empty means that the GPU waits for the host.",
      {{"stream", "Stream", ""},
       {"mean", "Mean length at a launch", ""},
       {"longest", "Longest", ""},
       {"full", "Launches into a full queue", "ratio"}},
      {}};
  std::map<std::uint32_t, std::vector<std::pair<std::int64_t, int>>> changes;
  for (const GpuWork& work : rank.list.works) {
    if (work.launch == kNoEvent || !rank.in_steps(work)) continue;
    changes[work.track].emplace_back(std::min(rank.timeline->events.start[work.launch], work.start), +1);
    changes[work.track].emplace_back(work.start, -1);
  }
  for (auto& [track, list] : changes) {
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::int64_t length = 0;
    std::int64_t longest = 0;
    double sum = 0;
    double full = 0;
    for (const auto& [time, change] : list) {
      length += change;
      if (change < 0) continue;
      longest = std::max(longest, length);
      sum += static_cast<double>(length);
      full += length >= static_cast<std::int64_t>(kQueueDepth);
    }
    const double launches = static_cast<double>(list.size()) / 2;
    table.rows.push_back({stream_name(*rank.timeline, track), sum / launches, longest, full / launches});
  }
  if (table.rows.empty()) table.note = "No launch calls were recorded.";
  return table;
}

AnalysisTable idle_table(const Evidence& evidence) {
  AnalysisTable table{
      "idle",
      "Idle time of each stream",
      "As HTA defines it, and per stream: never summed over streams, which overlap. Host: the work was launched "
      "after the one before had ended; kernel: launched in time, gap below 30 µs; other: the rest (dependencies).",
      {{"rank", "Rank", ""},
       {"stream", "Stream", ""},
       {"busy", "Busy", "s"},
       {"host", "Waiting for the host", "s"},
       {"kernel", "Between kernels", "s"},
       {"other", "Other", "s"}},
      {}};
  if (const auto thread = main_thread(*evidence.session, evidence.rank()); thread && !idle_text(*thread).empty()) {
    table.note += " " + idle_text(*thread) + ".";
  }
  for (const RankEvidence& rank : evidence.ranks) {
    struct Idle {
      std::int64_t end = -1, busy = 0, host = 0, kernel = 0, other = 0;
    };
    std::map<std::uint32_t, Idle> streams;
    for (const GpuWork& work : rank.list.works) {
      if (!rank.in_steps(work)) continue;
      Idle& one = streams[work.track];
      const std::int64_t gap = one.end < 0 ? 0 : work.start - one.end;
      if (gap > 0) {
        const bool late = work.launch != kNoEvent && rank.timeline->events.start[work.launch] > one.end;
        (late ? one.host : gap < 30'000 ? one.kernel : one.other) += gap;
      }
      one.busy += work.end - std::min(work.end, std::max(work.start, one.end));
      one.end = std::max(one.end, work.end);
    }
    for (const auto& [track, one] : streams) {
      const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
      table.rows.push_back({static_cast<std::int64_t>(rank.number()), stream_name(*rank.timeline, track),
                            seconds(one.busy), seconds(one.host), seconds(one.kernel), seconds(one.other)});
    }
  }
  return table;
}

}  // namespace warpmark::analyze
