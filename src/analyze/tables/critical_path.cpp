// The chain of events that sets the length of a step, walked back from the work that ends last: from a work to the one
// it waited for on the GPU, else to its launch, along the host to the wait that held it up, and from there to the GPU
// again. Refused where the data cannot tell: without launch calls, or with several streams that compute but no records
// of their waits for one another (such a path would attribute everything to the host, as HTA's does without
// synchronization records).
#include <algorithm>
#include <map>
#include <set>

#include "analyze/tables/tables.h"

namespace warpmark::analyze {

namespace {

class Walk {
 public:
  Walk(const RankEvidence& rank, const StepSpan& step) : rank_(rank), step_(step) {
    for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
      const GpuWork& work = rank.list.works[i];
      if (work.end > step.start_ns && work.start < step.end_ns) by_end_.push_back(i);
    }
    std::sort(by_end_.begin(), by_end_.end(),
              [&rank](std::size_t a, std::size_t b) { return rank.list.works[a].end < rank.list.works[b].end; });
  }

  std::map<std::string, std::int64_t> run() {
    if (by_end_.empty()) return {};
    std::int64_t time = std::min(step_.end_ns, work(by_end_.back()).end);
    add("host", step_.end_ns - time);  // the step ends when the next one's first work begins
    std::size_t at = by_end_.size() - 1;
    for (;;) {
      const GpuWork& current = work(by_end_[at]);
      const std::int64_t start = std::max(current.start, step_.start_ns);
      add(category_id(current.category), time - start);
      time = start;
      if (time <= step_.start_ns) break;
      const auto before = last_ended(time);
      // Where clocks are off, a call may seem to come after its work: the walk never goes forward in time.
      const std::int64_t launch =
          current.launch == kNoEvent ? time : std::min(time, rank_.timeline->events.start[current.launch]);
      const bool from_gpu = before >= 0 && (time - end(before) <= kLatencyNs || launch <= end(before));
      if (from_gpu) {
        add("kernel gap", time - end(before));
        time = end(before);
        at = static_cast<std::size_t>(before);
        continue;
      }
      add("launch", time - std::max(launch, step_.start_ns));
      time = std::max(launch, step_.start_ns);
      const BlockingCall* call = last_wait(time);
      const auto waited_for = call == nullptr ? -1 : last_ended(call->end);
      if (waited_for < 0 || end(waited_for) <= step_.start_ns) {
        add("host", time - step_.start_ns);
        break;
      }
      add("host", time - end(waited_for));
      time = end(waited_for);
      at = static_cast<std::size_t>(waited_for);
    }
    return std::move(parts_);
  }

 private:
  [[nodiscard]] const GpuWork& work(std::size_t index) const { return rank_.list.works[index]; }
  [[nodiscard]] std::int64_t end(std::ptrdiff_t at) const { return work(by_end_[static_cast<std::size_t>(at)]).end; }
  void add(const std::string& part, std::int64_t ns) {
    if (ns > 0) parts_[part] += ns;
  }
  /// Position in by_end_ of the work that ended last at or before `time`, or -1.
  [[nodiscard]] std::ptrdiff_t last_ended(std::int64_t time) const {
    const auto next =
        std::partition_point(by_end_.begin(), by_end_.end(), [&](std::size_t i) { return work(i).end <= time; });
    std::ptrdiff_t at = next - by_end_.begin() - 1;
    while (at >= 0 && work(by_end_[static_cast<std::size_t>(at)]).start >= time) --at;  // works without duration
    return at;
  }
  [[nodiscard]] const BlockingCall* last_wait(std::int64_t time) const {
    const auto& calls = rank_.host->blocking_calls();
    auto at =
        std::partition_point(calls.begin(), calls.end(), [time](const BlockingCall& call) { return call.end <= time; });
    while (at != calls.begin()) {
      --at;
      if (at->end <= step_.start_ns) return nullptr;
      if (at->waited_ns > 0) return &*at;
    }
    return nullptr;
  }

  const RankEvidence& rank_;
  StepSpan step_;
  std::vector<std::size_t> by_end_;
  std::map<std::string, std::int64_t> parts_;
};

std::string refusal(const RankEvidence& rank) {
  if (!rank.replay.knows_host())
    return "Refused: launch calls were not recorded, so nothing joins the host to the GPU.";
  std::set<std::uint32_t> computing;
  for (const GpuWork& work : rank.list.works) {
    if (is_compute(work.category) && rank.in_steps(work)) computing.insert(work.track);
  }
  const EventColumns& events = rank.timeline->events;
  const bool syncs = std::any_of(events.kind.begin(), events.kind.end(),
                                 [](EventKind kind) { return kind == EventKind::sync_record; });
  if (computing.size() > 1 && !syncs) {
    return "Refused: several streams compute, and their waits for one another were not recorded "
           "(enable_cuda_sync_events).";
  }
  return {};
}

}  // namespace

AnalysisTable critical_path_table(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  AnalysisTable table{"critical_path",
                      "Critical path of one step",
                      "What the length of the first analyzed step is made of, walked back from its last work.",
                      {{"part", "Part", ""}, {"time", "Time", "s"}, {"share", "Of the step", "ratio"}},
                      {}};
  if (std::string reason = refusal(rank); !reason.empty()) {
    table.note = std::move(reason);
    return table;
  }
  const StepSpan step = rank.steps.analyzed.front();
  std::vector<std::pair<std::string, std::int64_t>> parts;
  for (const auto& part : Walk(rank, step).run()) parts.push_back(part);
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [part, ns] : parts) {
    table.rows.push_back({part, static_cast<double>(ns) * 1e-9,
                          static_cast<double>(ns) / static_cast<double>(step.end_ns - step.start_ns)});
  }
  return table;
}

}  // namespace warpmark::analyze
