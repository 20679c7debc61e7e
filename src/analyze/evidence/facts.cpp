#include "analyze/evidence/facts.h"

#include <algorithm>
#include <string_view>

#include "analyze/replay/replay_together.h"

namespace warpmark::analyze {

namespace {

/// Recording also slows the host while the GPU works, which makes the GPU idle later. The replay without recording
/// costs tells how much shorter the step would be: what of it the idle stretches themselves do not explain is taken
/// from the parts that the host's slowness makes, in proportion. Where the recorder measured how much slower the
/// program ran, that is known and not replayed.
void correct_for_recording(RankEvidence& rank) {
  const auto measured = measured_inflation(*rank.timeline);
  if (!measured && (!rank.replay.knows_host() || recording_cost(*rank.timeline).api_ns == 0)) return;
  const double undisturbed_ns = measured ? rank.step_ns() / (1 + *measured) : rank.replay.step_ns();
  // No more than what recording its events can have cost.
  const auto most = static_cast<double>(rank.host->recording_ns(rank.steps.start(), rank.steps.end()));
  const double inflation = std::min(most, (rank.step_ns() - undisturbed_ns) * rank.step_count());
  const double unexplained = inflation - static_cast<double>(rank.breakdown.of(Part::idle_profiler));
  constexpr Part kSlowed[] = {Part::idle_launch, Part::idle_optimizer, Part::idle_sync};
  double sum = 0;
  for (const Part part : kSlowed) sum += static_cast<double>(rank.breakdown.of(part));
  if (unexplained <= 0 || sum <= 0) return;
  const double share = std::min(kNearlyAll, unexplained / sum);
  for (const Part part : kSlowed) {
    std::int64_t& ns = rank.breakdown.ns[static_cast<std::size_t>(part)];
    const auto taken = static_cast<std::int64_t>(share * static_cast<double>(ns));
    ns -= taken;
    rank.breakdown.ns[static_cast<std::size_t>(Part::idle_profiler)] += taken;
  }
}

/// Worker processes set the pace of a loop that waits for them: without recording it would not be faster, but wait for
/// them longer.
void give_to_loading(RankEvidence& rank) {
  const Loading& loading = rank.loading;
  const bool paced =
      !loading.in_process && loading.waits_ns.size() >= 2 && loading.mean_ns() > kMatters * rank.step_ns();
  if (!paced || rank.breakdown.of(Part::idle_data_loading) == 0) return;
  std::int64_t& recording = rank.breakdown.ns[static_cast<std::size_t>(Part::idle_profiler)];
  rank.breakdown.ns[static_cast<std::size_t>(Part::idle_data_loading)] += recording;
  recording = 0;
}

/// Ranks that meet in collectives take the same steps. Where they were told apart by kernels alone and differ, the
/// longest ones (what repeats within a step is shorter) hold for all, on each rank's clock.
void agree_on_steps(const std::vector<const Timeline*>& timelines, const std::vector<RankAlignment>& alignments,
                    std::vector<Steps>& steps) {
  const auto length = [&](std::size_t r) {
    const auto count = static_cast<double>(std::max<std::size_t>(1, steps[r].analyzed.size()));
    return static_cast<double>(steps[r].length()) / count;
  };
  std::size_t longest = 0;
  for (std::size_t r = 1; r < steps.size(); ++r) {
    if (steps[r].repeating && (!steps[longest].repeating || length(r) > length(longest))) longest = r;
  }
  if (steps.empty() || !steps[longest].repeating || !alignments[longest].aligned) return;
  const auto to_first = [&](std::size_t r) {
    return timelines[r]->origin_ns - timelines[0]->origin_ns + alignments[r].clock_offset_ns;
  };
  for (std::size_t r = 0; r < steps.size(); ++r) {
    const bool alike = length(r) * kClearlyMore > length(longest);
    if (alike || !alignments[r].aligned || steps[r].analyzed.empty()) continue;
    steps[r] = steps[longest];
    for (StepSpan& span : steps[r].analyzed) {
      span.start_ns += to_first(longest) - to_first(r);
      span.end_ns += to_first(longest) - to_first(r);
    }
  }
}

/// When the other GPUs of the process work.
Coverage busy_others(const std::vector<RankEvidence>& all, const RankEvidence& rank) {
  std::vector<Interval> busy;
  for (const RankEvidence& one : all) {
    if (&one == &rank || one.timeline != rank.timeline || one.list.process != rank.list.process) continue;
    busy.insert(busy.end(), one.busy.intervals().begin(), one.busy.intervals().end());
  }
  return Coverage(united(std::move(busy)));
}

}  // namespace

double RankEvidence::step_ns() const {
  return steps.analyzed.empty() ? 0 : static_cast<double>(steps.length()) / step_count();
}

double RankEvidence::part_ns(Part part) const {
  return steps.analyzed.empty() ? 0 : static_cast<double>(breakdown.of(part)) / step_count();
}

double RankEvidence::undisturbed_step_ns() const { return std::max(1.0, step_ns() - part_ns(Part::idle_profiler)); }

double RankEvidence::group_ns(const char* group) const {
  double sum = 0;
  for (std::size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    if (std::string_view(part_group(part)) == group) sum += part_ns(part);
  }
  return sum;
}

bool is_own_work(Part part) {
  switch (part) {
    case Part::idle_host_transfer:
    case Part::idle_sync:
    case Part::idle_allocation:
    case Part::idle_blocking_call:
    case Part::idle_host_work: return true;
    case Part::exposed_copy_on_device: return false;  // from or to another GPU, as a rule
    default: return part < Part::idle_data_loading && part != Part::exposed_communication;
  }
}

double RankEvidence::own_work_ns() const {
  double sum = 0;
  for (std::size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    if (is_own_work(part) && (part < Part::idle_data_loading || !alignment.by_messages)) sum += part_ns(part);
  }
  return sum;
}

double RankEvidence::dispatch_ns() const {
  if (!replay.knows_host()) return 0;
  return replay.host_ns(HostCause::dispatch) + replay.host_ns(HostCause::other) + replay.host_ns(HostCause::none) +
         replay.host_ns(HostCause::optimizer);
}

double RankEvidence::between_collectives_ns() const {
  const auto ns = static_cast<double>(breakdown.between_collectives_ns);
  return steps.analyzed.empty() ? 0 : std::min(ns / step_count(), part_ns(Part::idle_launch));
}

double RankEvidence::avoidable_ns(Owner owner) const {
  double sum = 0;
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    const GpuWork& work = list.works[i];
    if (attribution.owner[i] != owner || !in_steps(work)) continue;
    sum += static_cast<double>(work.end - work.start) * (1.0 - static_cast<double>(attribution.share_left[i]));
  }
  return sum / step_count();
}

double RankEvidence::owned_ns(Owner owner) const {
  std::vector<Interval> owned;  // they may run side by side
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    const GpuWork& work = list.works[i];
    if (attribution.owner[i] == owner && in_steps(work)) owned.push_back({work.start, work.end});
  }
  return static_cast<double>(total_length(united(std::move(owned)))) / step_count();
}

bool RankEvidence::trains() const {
  return has_backward_pass(*timeline, list) ||
         std::ranges::any_of(list.works, [](const GpuWork& work) { return work.category == Category::optimizer; });
}

double Facts::step_ns(std::span<const WhatIf> changes) const {
  std::vector<const Replay*> replays;
  for (const RankEvidence& one : ranks) replays.push_back(&one.replay);
  return step_together_ns(replays, changes);
}

bool Facts::of_gpus() const { return session->ranks.size() == 1 && ranks.size() > 1; }

std::set<std::size_t> Facts::programs_with_steps() const {
  std::set<std::size_t> found;
  for (const RankEvidence& rank : ranks) found.insert(programs[rank.index]);
  return found;
}

Facts gather_facts(const ProfileSession& session) {
  Facts facts;
  facts.session = &session;
  facts.framework = framework_of(session);
  facts.compiled = is_compiled(session);
  std::vector<WorkList> lists;
  for (const Timeline& timeline : session.ranks) lists.push_back(list_work(timeline));
  facts.programs = programs_of(session, lists);
  std::vector<RankEvidence> all;
  std::vector<const Timeline*> timelines;
  std::vector<WorkList> parts;  // GPUs of a rank that has several meet in collectives as ranks do
  std::vector<std::size_t> programs;
  std::vector<MissingWork> missing;
  for (std::size_t r = 0; r < lists.size(); ++r) {
    missing.push_back(find_missing_work(session.ranks[r], lists[r]));
    facts.missing.add(missing.back());
    for (WorkList& part : split_by_gpu(session.ranks[r], std::move(lists[r]))) {
      all.emplace_back().index = r;
      timelines.push_back(&session.ranks[r]);
      programs.push_back(facts.programs[r]);
      parts.push_back(std::move(part));
    }
  }
  std::vector<RankAlignment> alignments = align_ranks(timelines, parts, programs);
  std::vector<Steps> steps;
  for (std::size_t i = 0; i < parts.size(); ++i) steps.push_back(find_steps(*timelines[i], parts[i]));
  if (facts.of_one_program()) agree_on_steps(timelines, alignments, steps);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    all[i].timeline = timelines[i];
    all[i].place = i;
    all[i].alignment = std::move(alignments[i]);
    all[i].steps = std::move(steps[i]);
    all[i].list = std::move(parts[i]);
  }
  for (RankEvidence& one : all) one.busy = Coverage(busy_intervals(one.list, [](const GpuWork&) { return true; }));
  std::vector<Coverage> others;
  for (const RankEvidence& one : all) others.push_back(busy_others(all, one));
  for (RankEvidence& one : all) {
    one.loading = find_loading(*one.timeline, one.list);
    if (one.list.empty() || one.steps.analyzed.empty()) continue;
    one.computing = Coverage(busy_intervals(one.list, [](const GpuWork& work) { return !is_copy(work.category); }));
    one.compute = Coverage(busy_intervals(one.list, [](const GpuWork& work) { return is_compute(work.category); }));
    one.host = std::make_unique<HostActivity>(*one.timeline, one.list, one.computing);
    one.breakdown = break_down({.timeline = *one.timeline,
                                .list = one.list,
                                .steps = one.steps,
                                .host = *one.host,
                                .wait_until = one.alignment.wait_until,
                                .missing = missing[one.index].unknown,
                                .other_gpus = &others[one.place]});
    one.attribution = attribute_kernels(*one.timeline, one.list, one.steps.analyzed);
    one.replay = Replay(*one.timeline, one.list, one.steps, *one.host, one.busy, one.alignment);
    one.over_host = over_host_of(*one.timeline, one.list, one.steps);
    correct_for_recording(one);
    give_to_loading(one);
    facts.ranks.push_back(std::move(one));
  }
  for (std::size_t r = 1; r < facts.ranks.size(); ++r) {
    const auto waits = [&](std::size_t i) { return facts.ranks[i].part_ns(Part::idle_waiting_for_rank); };
    if (waits(r) < waits(facts.critical)) facts.critical = r;
  }
  facts.base_step_ns = facts.step_ns(std::vector<WhatIf>(facts.ranks.size()));
  return facts;
}

}  // namespace warpmark::analyze
