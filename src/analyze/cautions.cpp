#include "analyze/cautions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_set>

#include "analyze/names/api_calls.h"
#include "base/quantity.h"
#include "base/text.h"

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
std::string told_by(const ProfileSession& session) {
  bool same_rank = false, other_size = false;
  int size = 0;
  for (const Timeline& timeline : session.ranks) {
    same_rank = same_rank || timeline.claimed_rank >= 0;
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
      programs.size(), told_by(*evidence.session), join(named, "; "), what_to_do(evidence));
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

/// A step that holds little of the recorded time says nothing about the rest, which may be what takes long.
std::string caution_of_coverage(const RankEvidence& rank) {
  const EventColumns& events = rank.timeline->events;
  std::int64_t first = rank.steps.start(), last = rank.steps.end();
  EventIndex longest = kNoEvent;  // range outside of the steps
  for (EventIndex i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    if (kind != EventKind::op && kind != EventKind::annotation) continue;
    first = std::min(first, events.start[i]);
    last = std::max(last, events.end(i));
    const bool outside = events.end(i) <= rank.steps.start() || events.start[i] >= rank.steps.end();
    if (outside && (longest == kNoEvent || events.duration[i] > events.duration[longest])) longest = i;
  }
  const std::int64_t recorded = last - first, analyzed = rank.steps.end() - rank.steps.start();
  if (longest == kNoEvent || events.duration[longest] * 2 <= recorded || analyzed * 2 >= recorded) return "";
  return fmt::format("Most of the recording lies outside of the analyzed steps ({} of {}): {} alone takes {}.",
                     format_seconds(static_cast<double>(analyzed) * 1e-9),
                     format_seconds(static_cast<double>(recorded) * 1e-9), rank.timeline->name_of(longest),
                     format_seconds(static_cast<double>(events.duration[longest]) * 1e-9));
}

std::vector<std::string> cautions_of(const Evidence& evidence) {
  std::vector<std::string> cautions;
  if (evidence.has_timeline()) {
    if (std::string text = caution_of_coverage(evidence.rank()); !text.empty()) cautions.push_back(std::move(text));
  }
  if (!evidence.of_one_program()) cautions.push_back(caution_of_programs(evidence));
  for (std::string& caution : cautions_of_losses(*evidence.session)) cautions.push_back(std::move(caution));
  return cautions;
}

}  // namespace warpmark::analyze
