#include "analyze/cautions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "analyze/names/api_calls.h"
#include "base/text.h"
#include "base/units.h"

namespace warpmark::analyze {

namespace {

/// Readers call these flaws so. A program that was killed wrote all that its recording holds: no loss of the file.
Loss loss_of(const std::vector<DataQualityIssue>& quality) {
  Loss worst = Loss::none;
  for (const DataQualityIssue& issue : quality) {
    const std::string_view id = issue.id;
    if (id == "damaged_archive" || id == "corrupt_chunk") return Loss::corrupt;
    if (id == "cut_archive" || id == "torn_chunk" || id == "truncated" || id == "unfinished_file") worst = Loss::cut;
  }
  return worst;
}

std::string seconds_text(std::int64_t ns) { return format_seconds(static_cast<double>(ns) * 1e-9); }

const char* lost_how(Loss loss) { return loss == Loss::corrupt ? "is corrupt" : "is cut off"; }

struct WhatWasRead {
  std::int64_t of_host = 0;
  std::int64_t of_gpu = 0;
  std::int64_t launches = 0;
  std::int64_t without_work = 0;  ///< launches
};

WhatWasRead what_was_read(const Timeline& timeline) {
  const EventColumns& events = timeline.events;
  WhatWasRead read;
  std::unordered_set<std::uint32_t> worked;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (is_gpu_work(events.kind[i])) {
      ++read.of_gpu;
      worked.insert(events.correlation[i]);
    } else if (timeline.tracks[events.track[i]].kind == TrackKind::cpu_thread) {
      ++read.of_host;
    }
  }
  for (EventIndex i = 0; i < events.size(); ++i) {
    const bool call = is_api_call(events.kind[i]);
    if (!call || events.correlation[i] == 0 || !is_launch_call(timeline.name_of(i))) continue;
    ++read.launches;
    if (!worked.contains(events.correlation[i])) ++read.without_work;
  }
  return read;
}

std::string caution_of(const Timeline& timeline, Loss loss) {
  const WhatWasRead read = what_was_read(timeline);
  std::string text = fmt::format("{} {}: {} events of the host and {} of the GPU were read, the rest is missing.",
                                 timeline.source.empty() ? "The file" : timeline.source, lost_how(loss),
                                 format_count(read.of_host), read.of_gpu == 0 ? "none" : format_count(read.of_gpu));
  if (read.without_work > 0) {
    text += fmt::format(" Of {} launches, what the GPU did for {} is missing.", format_count(read.launches),
                        read.without_work == read.launches ? "all of them" : format_count(read.without_work));
  }
  return text;
}

std::vector<std::string> cautions_of_losses(const ProfileSession& session) {
  std::vector<std::string> cautions;
  std::size_t more = 0;
  for (const Timeline& timeline : session.ranks) {
    const Loss loss = loss_of(timeline.quality);
    if (loss == Loss::none) continue;
    if (cautions.size() < kShown) {
      cautions.push_back(caution_of(timeline, loss));
    } else {
      ++more;
    }
  }
  if (const Loss loss = loss_of(session.quality); loss != Loss::none) {
    cautions.push_back(
        fmt::format("A file, or a part of one, without a timeline {}: something of it is missing.", lost_how(loss)));
  }
  if (more > 0) cautions.push_back(fmt::format("So {} {} more.", more == 1 ? "is" : "are", more));
  if (!cautions.empty()) {
    cautions.back() += " What is said here is of what was read alone: copy the file again, or record it again.";
  }
  return cautions;
}

/// Why they cannot be of one program; see programs.h.
std::string known_by(const ProfileSession& session) {
  bool same_rank = false, other_size = false;
  int size = 0;
  for (const Timeline& timeline : session.ranks) {
    same_rank = same_rank || timeline.declared_rank >= 0;
    other_size = other_size || (timeline.world_size > 0 && size > 0 && timeline.world_size != size);
    size = std::max(size, timeline.world_size);
  }
  if (other_size) return "they do not agree on how many ranks there are";
  return same_rank ? "several are of the same rank" : "they were recorded at different times";
}

/// Of a program: "rank0.json and rank1.json".
std::string files_of(const Evidence& evidence, std::size_t program) {
  std::vector<std::string> files;
  for (const RankEvidence& rank : evidence.ranks) {
    const std::string& source = rank.timeline->source;
    const std::string file = source.substr(source.rfind('/') + 1);
    const bool known = std::ranges::find(files, file) != files.end();
    if (evidence.programs[rank.index] == program && !known) files.push_back(file);
  }
  return join(files, " and ");
}

/// What was recorded one after the other into one file cannot be given apart.
const char* what_to_do(const Evidence& evidence) {
  const auto of_the_first = [&](const RankEvidence& rank) {
    return rank.timeline->source == evidence.ranks.front().timeline->source;
  };
  return std::ranges::all_of(evidence.ranks, of_the_first) ? "record each alone"
                                                           : "analyze each alone, or one --against another";
}

std::string caution_of_programs(const Evidence& evidence) {
  const std::set<std::size_t> programs = evidence.programs_with_steps();
  std::vector<std::string> named;
  for (const std::size_t program : programs) {
    if (named.size() < kShown) named.push_back(files_of(evidence, program));
  }
  if (programs.size() > kShown) named.push_back(fmt::format("{} more", programs.size() - kShown));
  return fmt::format(
      "these are profiles of {} runs, not of one, as {} ({}). Nothing was compared between them, and what is said here "
      "mixes them: {}.",
      programs.size(), known_by(*evidence.session), join(named, "; "), what_to_do(evidence));
}

}  // namespace

Loss loss_of(const ProfileSession& session) {
  Loss worst = loss_of(session.quality);
  for (const Timeline& timeline : session.ranks) worst = std::max(worst, loss_of(timeline.quality));
  return worst;
}

std::string loss_text(const ProfileSession& session) {
  return fmt::format("{} {}", session.ranks.size() > 1 ? "A file" : "The file", lost_how(loss_of(session)));
}

namespace {

/// What was recorded outside of the analyzed steps, if one thing takes most of the recording.
struct OutsideOfSteps {
  std::int64_t recorded_ns = 0;
  std::int64_t analyzed_ns = 0;
  std::int64_t taken_ns = 0;  ///< by the longest range or call, or by all calls in which the driver held the host
  std::string longest;
  bool by_calls = false;
  int calls = 0;
};

/// Calls that hold the host outside of the steps, if they take most of the time since the first launch.
std::optional<OutsideOfSteps> held_outside(const RankEvidence& rank) {
  const EventColumns& events = rank.timeline->events;
  OutsideOfSteps outside{.analyzed_ns = rank.steps.end() - rank.steps.start(), .by_calls = true};
  std::int64_t first = rank.steps.start(), last = rank.steps.end();
  for (const GpuWork& work : rank.list.works) {
    first = std::min(first, work.launch == kNoEvent ? work.start : events.start[work.launch]);
    last = std::max(last, work.end);
  }
  EventIndex longest = kNoEvent;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (!is_api_call(events.kind[i]) || events.start[i] < first || events.end(i) > last) continue;
    // The first launch returns after its kernel has begun.
    const std::int64_t before = std::min(events.end(i), rank.steps.start()) - events.start[i];
    const std::int64_t after = events.end(i) - std::max(events.start[i], rank.steps.end());
    const std::int64_t ns = std::max<std::int64_t>(0, before) + std::max<std::int64_t>(0, after);
    if (ns < kHeldLaunchNs || is_sync_call(rank.timeline->name_of(i))) continue;
    if (rank.busy.covered(events.start[i], events.end(i)) * 2 > events.duration[i]) continue;
    if (longest == kNoEvent || events.duration[i] > events.duration[longest]) longest = i;
    outside.taken_ns += ns;
    ++outside.calls;
  }
  outside.recorded_ns = last - first;
  if (longest == kNoEvent || outside.taken_ns * 2 <= outside.recorded_ns) return std::nullopt;
  outside.longest = rank.timeline->name_of(longest);
  return outside;
}

/// One range outside of the steps that takes most of the recording.
std::optional<OutsideOfSteps> range_outside(const RankEvidence& rank) {
  const EventColumns& events = rank.timeline->events;
  std::int64_t first = rank.steps.start(), last = rank.steps.end();
  EventIndex longest = kNoEvent;
  for (EventIndex i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    if (kind != EventKind::op && kind != EventKind::annotation) continue;
    first = std::min(first, events.start[i]);
    last = std::max(last, events.end(i));
    const bool apart = events.end(i) <= rank.steps.start() || events.start[i] >= rank.steps.end();
    if (apart && (longest == kNoEvent || events.duration[i] > events.duration[longest])) longest = i;
  }
  if (longest == kNoEvent || events.duration[longest] * 2 <= last - first) return std::nullopt;
  return OutsideOfSteps{.recorded_ns = last - first,
                        .analyzed_ns = rank.steps.end() - rank.steps.start(),
                        .taken_ns = events.duration[longest],
                        .longest = std::string(rank.timeline->name_of(longest))};
}

std::optional<OutsideOfSteps> outside_of_steps(const RankEvidence& rank) {
  auto outside = held_outside(rank);
  if (!outside) outside = range_outside(rank);
  return outside && outside->analyzed_ns * 2 < outside->recorded_ns ? outside : std::nullopt;
}

bool is_start_up(const RankEvidence& rank, const OutsideOfSteps& outside) {
  return !rank.steps.marked && outside.by_calls && outside.analyzed_ns * kStartUpTimes < outside.recorded_ns;
}

}  // namespace

std::optional<StartUp> start_up_of(const Evidence& evidence) {
  const auto outside = evidence.has_timeline() ? outside_of_steps(evidence.rank()) : std::nullopt;
  if (!outside || !is_start_up(evidence.rank(), *outside)) return std::nullopt;
  std::string text = fmt::format(
      "Start-up takes {} of the {} since the first launch ({}{}: the driver creates its context and loads "
      "code), {} {}",
      seconds_text(outside->taken_ns), seconds_text(outside->recorded_ns), outside->longest,
      outside->calls > 1 ? fmt::format(" and {} more call{}", outside->calls - 1, outside->calls == 2 ? "" : "s") : "",
      evidence.rank().steps.repeating ? "the analyzed steps" : "the GPU's work, from first to last,",
      seconds_text(outside->analyzed_ns));
  return StartUp{std::move(text), outside->analyzed_ns * 100 < outside->recorded_ns};
}

/// A step that holds little of the recorded time says nothing about the rest, which may be what takes long.
std::string caution_of_coverage(const RankEvidence& rank) {
  const auto outside = outside_of_steps(rank);
  if (!outside || is_start_up(rank, *outside)) return "";
  return fmt::format("Most of the recording lies outside of the analyzed steps ({} of {}): {} takes {}.",
                     seconds_text(outside->analyzed_ns), seconds_text(outside->recorded_ns),
                     outside->longest + (outside->by_calls && outside->calls > 1 ? " with other calls" : " alone"),
                     seconds_text(outside->taken_ns));
}

/// Some launches left no kernel, though not most of them (lost_work()).
std::string caution_of_missing(const MissingWork& missing) {
  const std::int64_t lost = missing.launches_without_work;
  if (static_cast<double>(lost) < (1 - kNearlyAll) * static_cast<double>(missing.launches) || lost == 0) return "";
  if (2 * lost >= missing.launches) return "";
  return fmt::format(
      "{} of {} kernel launches left no kernel in the recording: where the GPU looks idle it may have "
      "worked.",
      format_count(lost), format_count(missing.launches));
}

/// No kernel begins before the call that launches it: the clocks of host and GPU differ.
std::string caution_of_clocks(const RankEvidence& rank) {
  std::int64_t early = 0, most = 0;
  for (const GpuWork& work : rank.list.works) {
    if (work.launch == kNoEvent) continue;
    const std::int64_t before = rank.timeline->events.start[work.launch] - work.start;
    if (before <= kLatencyNs) continue;
    ++early;
    most = std::max(most, before);
  }
  const bool many = static_cast<double>(early) > (1 - kNearlyAll) * static_cast<double>(rank.list.with_launch);
  if (!many || static_cast<double>(most) < kMatters * rank.step_ns()) return "";
  return fmt::format(
      "{} of {} kernels and copies begin before the call that launched them, by up to {}: the clocks of "
      "host and GPU differ, so causes of idle time may be wrong by that much.",
      format_count(early), format_count(rank.list.with_launch), seconds_text(most));
}

/// Kernels are joined with the calls that launched them by numbers that each process counts by itself.
std::string caution_of_processes(const Timeline& timeline) {
  std::set<std::int64_t> processes;
  for (const Track& track : timeline.tracks) {
    if (track.kind != TrackKind::gpu_stream) processes.insert(track.process);
  }
  if (processes.size() < 2) return "";
  std::unordered_map<std::uint32_t, std::int64_t> process;
  std::int64_t shared = 0;
  const EventColumns& events = timeline.events;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.correlation[i] == 0 || !is_api_call(events.kind[i])) continue;
    const std::int64_t own = timeline.tracks[events.track[i]].process;
    if (process.try_emplace(events.correlation[i], own).first->second != own) ++shared;
  }
  if (static_cast<double>(shared) <= (1 - kNearlyAll) * static_cast<double>(process.size())) return "";
  return fmt::format(
      "Several processes in {} use the same {} correlation ids, so which kernel is of which process is not known: "
      "analyze one file per process.",
      timeline.source, format_count(shared));
}

std::vector<std::string> cautions_of(const Evidence& evidence) {
  std::vector<std::string> cautions;
  const auto add = [&cautions](std::string text) {
    if (!text.empty()) cautions.push_back(std::move(text));
  };
  add(caution_of_missing(evidence.missing));
  if (evidence.has_timeline()) {
    add(caution_of_clocks(evidence.rank()));
    add(caution_of_processes(*evidence.rank().timeline));
    add(caution_of_coverage(evidence.rank()));
  }
  if (!evidence.of_one_program()) cautions.push_back(caution_of_programs(evidence));
  for (std::string& caution : cautions_of_losses(*evidence.session)) cautions.push_back(std::move(caution));
  return cautions;
}

}  // namespace warpmark::analyze
