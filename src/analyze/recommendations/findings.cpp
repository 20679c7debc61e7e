#include "analyze/recommendations/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/evidence/main_thread.h"
#include "analyze/evidence/other_processes.h"
#include "analyze/names/api_calls.h"
#include "analyze/names/code_frames.h"
#include "analyze/names/ranges.h"

namespace warpmark::analyze {

namespace {

/// The range of a whole step, around all that the host did in it, shows nothing of why the GPU was idle.
bool is_profiled_step(const RankEvidence& rank, EventIndex event) {
  return names_profiled_step(rank.timeline->name_of(event));
}

std::string shown_name(const std::string& name) {
  const CodeFrame frame = parse_code_frame(name);
  if (frame.file.empty()) return name;
  if (is_of_our_hook(frame.file)) return std::string(frame.function);
  return fmt::format("{} ({}:{})", frame.function, file_name_of(frame.file), frame.line);
}

}  // namespace

std::vector<Doing> doings_in(const RankEvidence& rank, Part part) {
  std::vector<Doing> all;
  for (const auto& [key, ns] : rank.breakdown.host_names) {
    if (key.first != part) continue;
    std::string name(rank.timeline->names.at(key.second));
    if (name != kBlockedThread) name = shown_name(name);
    all.push_back({std::move(name), static_cast<double>(ns) / rank.step_count()});
  }
  std::ranges::sort(all, [](const Doing& a, const Doing& b) { return a.ns > b.ns; });
  return all;
}

Finding make_finding(const Rule& rule, double lost_ns, double step_ns, std::string title) {
  Finding finding;
  finding.rule = rule.id;
  finding.kind = rule.kind;
  finding.severity = severity_of(lost_ns, step_ns);
  finding.lost_ns = static_cast<std::int64_t>(lost_ns);
  finding.title = std::move(title);
  return finding;
}

Fact time_fact(std::string id, const std::string& label, double ns) {
  return {label + ": " + time_text(ns), std::move(id), ns * 1e-9, "s"};
}

Fact share_fact(std::string id, const std::string& label, double ratio) {
  return {label + ": " + format_percent(ratio), std::move(id), ratio, ""};
}

Fact moved_fact(double bytes, double time_ns, double steps) {
  const double rate = bytes / (time_ns * 1e-9);
  return {fmt::format("Moved per step: {} at {:.1f} GB/s", format_bytes(bytes / steps), rate * 1e-9), "copy_bandwidth",
          rate, "B/s"};
}

Fact count_fact(std::string id, const std::string& label, double count) {
  std::string text = fmt::format("{:.1f}", count);  // a mean of 1.5 a step is neither 1 nor 2
  if (text.back() == '0' || count >= double{kFewLaunches}) text = format_count(std::llround(count));
  return {label + ": " + text, std::move(id), count, ""};
}

EventReference reference(const RankEvidence& rank, EventIndex event) {
  const EventColumns& events = rank.timeline->events;
  return {static_cast<int>(rank.index), event, std::string(rank.timeline->name_of(event)), events.start[event],
          events.duration[event]};
}

void show_idle(const RankEvidence& rank, std::initializer_list<Part> parts, Finding& finding) {
  std::vector<IdlePiece> pieces;
  for (const Part part : parts) {
    const auto& longest = rank.breakdown.longest[static_cast<std::size_t>(part)];
    pieces.insert(pieces.end(), longest.begin(), longest.end());
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const IdlePiece& a, const IdlePiece& b) { return a.end - a.start > b.end - b.start; });
  for (const IdlePiece& piece : pieces) {
    const bool host = piece.host_event != kNoEvent && !is_profiled_step(rank, piece.host_event);
    const EventIndex event = host ? piece.host_event : piece.next_work;
    if (event == kNoEvent || finding.events.size() >= kShown) continue;
    const bool shown = std::any_of(finding.events.begin(), finding.events.end(),
                                   [event](const EventReference& one) { return one.event == event; });
    if (!shown) finding.events.push_back(reference(rank, event));
  }
}

void show_works(const RankEvidence& rank, const std::function<bool(std::size_t)>& wanted, Finding& finding) {
  std::vector<std::size_t> longest;
  const auto length = [&rank](std::size_t i) { return rank.list.works[i].end - rank.list.works[i].start; };
  for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
    if (!rank.in_steps(rank.list.works[i]) || !wanted(i)) continue;
    if (longest.size() == kShown && length(i) <= length(longest.back())) continue;
    const auto at = std::find_if(longest.begin(), longest.end(), [&](std::size_t j) { return length(j) < length(i); });
    longest.insert(at, i);
    if (longest.size() > kShown) longest.pop_back();
  }
  for (const std::size_t i : longest) finding.events.push_back(reference(rank, rank.list.works[i].event));
}

void show_main_thread(const Evidence& evidence, Finding& finding) {
  const auto thread = main_thread(*evidence.session, evidence.rank());
  if (!thread) return;
  const std::string who =
      thread->threads == 1 ? "The thread that hands work to the GPU (" + thread->name + ")"
                           : fmt::format("At least one of the {} threads that hand work to the GPU", thread->threads);
  finding.evidence.push_back(share_fact("main_thread_running", who + " was computing", thread->running));
  finding.evidence.push_back(
      share_fact("main_thread_blocked", "It was waiting: for the GPU, data, or another thread", thread->blocked));
  if (thread->waiting > kMatters) {
    finding.evidence.push_back(
        share_fact("main_thread_waiting", "It was ready to run, but every processor core was taken", thread->waiting));
  }
  if (const std::string text = idle_text(*thread); !text.empty()) {
    finding.evidence.push_back(
        {text, "main_thread_blocked_while_idle", (thread->idle_blocked_low + thread->idle_blocked_high) / 2, ""});
  }
}

void show_other_processes(const Evidence& evidence, Finding& finding) {
  const auto share = used_by_others(*evidence.session, evidence.rank());
  if (!share) return;
  finding.evidence.push_back(
      share_fact("used_by_others", "Other processes use the GPU: it was busy, but not with this program, for", *share));
}

}  // namespace warpmark::analyze
