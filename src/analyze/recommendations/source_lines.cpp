#include "analyze/recommendations/source_lines.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/names/api_calls.h"
#include "analyze/names/code_frames.h"
#include "analyze/recommendations/findings.h"
#include "analyze/recorded/thread_stacks.h"

namespace warpmark::analyze {

namespace {

constexpr std::size_t kLookBack = 64;  // events, for the launch before a call

struct Cause {
  const char* rule;
  std::initializer_list<Part> idle;
  Owner owner = Owner::none;
};

const Cause* cause_of(const std::string& rule) {
  static const std::initializer_list<Cause> kCauses = {
      {"data_loading", {Part::idle_data_loading}},
      {"host_transfer", {Part::idle_host_transfer}},
      {"cpu_gpu_sync", {Part::idle_sync}},
      {"memory_allocation", {Part::idle_allocation}},
      {"launch_overhead", {Part::idle_launch}},
      {"host_work", {Part::idle_host_work}},
      {"waiting_for_input", {Part::idle_waiting_for_input}},
      {"blocking_call", {Part::idle_blocking_call}},
      {"optimizer", {Part::idle_optimizer}, Owner::optimizer},
      {"attention", {}, Owner::attention},
      {"precision", {}, Owner::precision},
      {"memory_bandwidth", {}, Owner::memory_bandwidth},
  };
  const auto found = std::ranges::find_if(kCauses, [&rule](const Cause& cause) { return cause.rule == rule; });
  return found == kCauses.end() ? nullptr : found;
}

/// By launch, the kernel or copy.
using Launched = std::unordered_map<EventIndex, NameId>;

Launched launched_in(const RankEvidence& rank) {
  Launched launched;
  for (const GpuWork& work : rank.list.works) {
    if (work.launch != kNoEvent) launched.emplace(work.launch, rank.timeline->events.name[work.event]);
  }
  return launched;
}

/// Adds up the time of one finding by line.
class Placing {
 public:
  Placing(const RankEvidence& rank, const ThreadStacks& stacks, const Launched& launched)
      : rank_(rank), timeline_(*rank.timeline), stacks_(stacks), launched_(launched) {}

  std::vector<LineShare> of(const Finding& finding) {
    if (const Cause* cause = cause_of(finding.rule)) {
      for (const auto& [part, piece] : rank_.breakdown.all_pieces) {
        if (std::ranges::find(cause->idle, part) != cause->idle.end()) idle(piece);
      }
      if (finding.rule == "cpu_gpu_sync") waits(HostCause::sync);
      if (finding.rule == "memory_allocation") waits(HostCause::allocation);
      works(*cause, finding.rule == "host_transfer");
      if (!seen_in_calls())
        std::ranges::for_each(attributed_, [&](const Attributed& one) { launch(one.call, one.weight); });
    }
    if (all_ == 0) shown(finding);
    return sorted();
  }

 private:
  void add(std::uint32_t track, std::int64_t from, std::int64_t to, double weight) {
    const auto found = stacks_.within(track, from, to);
    double sum = 0;
    for (const auto& [frame, ns] : found) sum += static_cast<double>(ns);
    for (const auto& [frame, ns] : found) add(frame, weight * static_cast<double>(ns) / sum);
  }

  void add(const InFrame& frame, double weight) {
    const EventIndex named = frame.own != kNoEvent ? frame.own : frame.innermost;
    const CodeFrame code = parse_code_frame(timeline_.name_of(named));
    const CodeFrame inner = parse_code_frame(timeline_.name_of(frame.innermost));
    const bool calls = frame.innermost != named && inner.file.empty();
    lines_[{std::string(code.file), code.line, std::string(code.function), std::string(calls ? inner.function : "")}] +=
        weight;
    all_ += weight;
  }

  /// Of a call: while it lasted. Else while the GPU was idle.
  void idle(const IdlePiece& piece) {
    const EventColumns& events = timeline_.events;
    const auto weight = static_cast<double>(piece.end - piece.start);
    if (piece.host_event == kNoEvent) {
      if (const EventIndex launch = launch_of(piece.next_work); launch != kNoEvent) {
        add(events.track[launch], piece.start, piece.end, weight);
      }
    } else if (is_api_call(events.kind[piece.host_event])) {
      attribute(piece.host_event, weight);
    } else if (events.kind[piece.host_event] == EventKind::op) {
      add(events.track[piece.host_event], events.start[piece.host_event], events.end(piece.host_event), weight);
    } else {
      add(events.track[piece.host_event], piece.start, piece.end, weight);
    }
  }

  void waits(HostCause cause) {
    for (const BlockingCall& call : rank_.host->blocking_calls()) {
      if (call.cause != cause || call.end < rank_.steps.start() || call.start >= rank_.steps.end()) continue;
      const std::int64_t ns = cause == HostCause::sync ? call.waited_ns : call.end - call.start;
      if (ns > 0) attribute(call.event, static_cast<double>(ns));
    }
  }

  void works(const Cause& cause, bool copies) {
    if (cause.owner == Owner::none && !copies) return;
    for (std::size_t i = 0; i < rank_.list.works.size(); ++i) {
      const GpuWork& work = rank_.list.works[i];
      const bool wanted = copies ? moves_data(work) : rank_.attribution.owner[i] == cause.owner;
      if (!wanted || !rank_.in_steps(work) || work.launch == kNoEvent) continue;
      const double share = copies ? 1 : 1 - static_cast<double>(rank_.attribution.share_left[i]);
      const double weight = static_cast<double>(work.end - work.start) * share;
      if (weight > 0) attributed_.push_back({work.launch, {timeline_.events.name[work.event], 0}, weight});
    }
  }

  /// A call that waited, or allocated: calls of one name behind the same kernel are the same place of a step.
  void attribute(EventIndex call, double weight) {
    const EventColumns& events = timeline_.events;
    if (events.end(call) - events.start[call] >= kStackPeriodNs) return launch(call, weight);
    NameId behind = 0;
    std::size_t left = kLookBack;
    for (EventIndex before = call; before > 0 && left > 0 && behind == 0; --left) {
      --before;
      if (events.track[before] != events.track[call]) continue;
      const auto launched = launched_.find(before);
      if (launched != launched_.end()) behind = launched->second;
    }
    attributed_.push_back({call, {events.name[call], behind}, weight});
  }

  /// A thread makes hundreds of calls from one sample to the next, so that the nearest sample is mostly of another
  /// line. Steps repeat: some samples fall into the calls of each place, and tell for all of its calls.
  bool seen_in_calls() {
    struct Seen {
      double weight = 0;
      std::vector<InFrame> frames;
    };
    const EventColumns& events = timeline_.events;
    std::map<Place, Seen> places;
    double all = 0, reported = 0;
    for (const Attributed& one : attributed_) {
      Seen& place = places[one.place];
      place.weight += one.weight;
      all += one.weight;
      // A launch is short, and its operator takes a while around it; a wait is what lasts.
      const std::int64_t around = launched_.contains(one.call) ? kDispatchNs : 0;
      const std::int64_t from = events.start[one.call] - around, to = events.end(one.call) + around;
      const auto frame = stacks_.seen_at(events.track[one.call], from, to);
      if (frame) place.frames.push_back(*frame);
    }
    std::size_t seen = 0;
    for (const auto& [name, place] : places) {
      seen += place.frames.size();
      if (!place.frames.empty()) reported += place.weight;
    }
    if (seen < kFewest || reported < all / 2) return false;
    for (const auto& [name, place] : places) {
      for (const InFrame& frame : place.frames) add(frame, place.weight / static_cast<double>(place.frames.size()));
    }
    return true;
  }

  void launch(EventIndex call, double weight) {
    const EventColumns& events = timeline_.events;
    if (call != kNoEvent && weight > 0) add(events.track[call], events.start[call], events.end(call), weight);
  }

  /// The events that show a finding whose time is known no nearer.
  void shown(const Finding& finding) {
    for (const EventReference& one : finding.events) {
      if (one.rank != static_cast<int>(rank_.index)) continue;
      const bool on_gpu = is_gpu_work(timeline_.events.kind[one.event]);
      launch(on_gpu ? launch_of(one.event) : one.event, static_cast<double>(one.duration_ns));
    }
  }

  [[nodiscard]] EventIndex launch_of(EventIndex event) const {
    if (event == kNoEvent) return kNoEvent;
    const std::int64_t start = timeline_.events.start[event];
    const auto& works = rank_.list.works;
    auto at = std::partition_point(works.begin(), works.end(), [start](const auto& one) { return one.start < start; });
    while (at != works.end() && at->start == start && at->event != event) ++at;
    return at != works.end() && at->event == event ? at->launch : kNoEvent;
  }

  [[nodiscard]] std::vector<LineShare> sorted() const {
    std::vector<LineShare> lines;
    for (const auto& [key, weight] : lines_) {
      const auto& [file, line, function, call] = key;
      if (weight >= kMatters * all_) lines.push_back({file, line, function, call, weight / all_});
    }
    std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
    return lines;
  }

  using Place = std::pair<NameId, NameId>;  // a kernel that is launched; or a call, and the kernel launched before it
  struct Attributed {
    EventIndex call;
    Place place;
    double weight;  ///< ns
  };

  const RankEvidence& rank_;
  const Timeline& timeline_;
  const ThreadStacks& stacks_;
  const Launched& launched_;
  std::vector<Attributed> attributed_;
  std::map<std::tuple<std::string, std::int64_t, std::string, std::string>, double> lines_;
  double all_ = 0;
};

/// "train.py:57 main, calling item"
std::string text_of(const LineShare& line) {
  if (line.file.empty()) return line.function;
  std::string text = std::string(file_name_of(line.file)) + ":" + std::to_string(line.line);
  if (!line.function.empty()) text += " " + line.function;
  if (!line.call.empty()) text += ", calling " + line.call;
  return text;
}

}  // namespace

std::string main_line(const RankEvidence& rank, const char* rule) {
  const ThreadStacks stacks(*rank.timeline);
  if (stacks.empty()) return "";
  const Launched launched = launched_in(rank);
  Finding finding;
  finding.rule = rule;
  const std::vector<LineShare> lines = Placing(rank, stacks, launched).of(finding);
  if (lines.empty() || lines.front().share < 0.5 || lines.front().file.empty()) return "";
  const LineShare& line = lines.front();
  const std::string place = std::string(file_name_of(line.file)) + ":" + std::to_string(line.line);
  return line.function.empty() ? place : line.function + " (" + place + ")";
}

AnalysisTable place_in_source(const Evidence& evidence, const SourceText& source, std::vector<Finding>& findings) {
  AnalysisTable table{"source_lines",
                      "Where in the program",
                      "Lines of the program's own code, by the time that each finding loses there; stacks are joined "
                      "with calls by thread and time.",
                      {{"rule", "Finding", ""},
                       {"file", "File", ""},
                       {"line", "Line", ""},
                       {"function", "Function", ""},
                       {"call", "Calling", ""},
                       {"code", "Code", ""},
                       {"time", "Lost per step", "s"},
                       {"share", "Of the finding", "ratio"}},
                      {}};
  if (!evidence.has_timeline()) return table;
  const RankEvidence& rank = evidence.rank();
  const ThreadStacks stacks(*rank.timeline);
  if (stacks.empty()) return table;
  const Launched launched = launched_in(rank);
  for (Finding& finding : findings) {
    const std::vector<LineShare> lines = Placing(rank, stacks, launched).of(finding);
    std::vector<Fact> facts;
    for (const LineShare& line : lines) {
      const std::string code = source ? source(line.file, line.line) : "";
      table.rows.push_back({finding.rule, line.file, line.line, line.function, line.call, code,
                            static_cast<double>(finding.lost_ns) * 1e-9 * line.share, line.share});
      if (facts.size() == kShown) continue;
      facts.push_back(share_fact("source_line", "At " + text_of(line) + (code.empty() ? "" : ": " + code), line.share));
    }
    finding.evidence.insert(finding.evidence.begin(), facts.begin(), facts.end());
  }
  return table;
}

}  // namespace warpmark::analyze
