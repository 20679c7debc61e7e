// A step's window on the GPU's clock begins when the first work that the step launched begins, and ends where the next
// step's window begins: where the host runs ahead of the GPU, the ranges of the host say nothing about when the GPU
// works on a step. So windows tile the recording without gap, and their sum is exact.
#include "analyze/steps/steps.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <utility>

#include "analyze/names/ranges.h"
#include "analyze/names/words.h"
#include "analyze/recorded/order_statistics.h"
#include "analyze/steps/launch_sequence.h"
#include "analyze/steps/marked_ranges.h"
#include "analyze/steps/pauses.h"
#include "analyze/steps/repeating_launches.h"
#include "base/text.h"

namespace warpmark::analyze {

namespace {

// A step holds most of the work. What the program marks may share the recording with other phases; what is only seen
// to repeat has nothing else that speaks for it.
constexpr double kRepeatedShare = 0.8;

bool is_explicit(const RangeGroup& group) { return names_profiler_step(group.name) || names_step(group.name); }

/// Ranges that can be steps: one after another, and nothing that several threads do at once.
bool are_in_turn(const RangeGroup& group) { return !group.overlapping && group.concurrent * 2 < group.ranges.size(); }

/// Of the groups that `wanted` accepts the one that holds the most work; of about as much, the fewest ranges.
template <typename Wanted>
const RangeGroup* most_work(const std::vector<RangeGroup>& groups, Wanted wanted) {
  const RangeGroup* best = nullptr;
  for (const RangeGroup& one : groups) {
    if (!are_in_turn(one) || !wanted(one)) continue;
    const bool more = best == nullptr || one.work_share > best->work_share + kMatters;
    const bool fewer =
        best != nullptr && one.work_share > best->work_share - kMatters && one.ranges.size() < best->ranges.size();
    if (more || fewer) best = &one;
  }
  return best;
}

/// What the profiler says is a step, whatever else was recorded between, unless the program says it of more work; else
/// what the program says, or marks again and again. A single marker of the profiler may be its whole cycle: ranges that
/// replay one CUDA graph each are the iterations within it.
const RangeGroup* choose(const std::vector<RangeGroup>& groups) {
  const auto several = [](std::size_t least, double share, auto named) {
    return [=](const RangeGroup& one) {
      return one.ranges.size() >= least && one.work_share > 0 && one.work_share >= share && named(one);
    };
  };
  const auto by_profiler = [](const RangeGroup& one) { return names_profiler_step(one.name); };
  const auto by_program = [](const RangeGroup& one) { return names_step(one.name); };
  const auto anything = [](const RangeGroup& one) { return !names_part(one.name); };
  const auto replays = [](const RangeGroup& one) { return one.alike && one.replays_graphs; };
  const auto* by_marks = most_work(groups, several(2, 0, by_profiler));
  if (by_marks != nullptr && by_marks->work_share >= 0.5) return by_marks;
  if (const auto* found = most_work(groups, several(2, 0.5, by_program))) return found;
  if (by_marks != nullptr) return by_marks;
  if (const auto* cycle = most_work(groups, several(1, 0, by_profiler))) {
    const auto* within = most_work(groups, several(kFewest, kRepeatedShare, replays));
    return within != nullptr ? within : cycle;
  }
  if (const auto* single = most_work(groups, several(1, kRepeatedShare, by_program))) return single;
  return most_work(groups, several(kFewest, 0.5, anything));
}

/// Functions of a recording with stacks that are called again and again around nearly all of the work.
const RangeGroup* choose_function(const std::vector<RangeGroup>& calls) {
  return most_work(calls, [](const RangeGroup& one) {
    return one.ranges.size() >= kFewest && one.work_share >= kRepeatedShare && !names_part(one.name);
  });
}

std::string found_by(const RangeGroup& chosen) {
  if (names_profiler_step(chosen.name)) return "ProfilerStep annotations";
  const std::string_view name = trim(chosen.name);
  if (chosen.kind == EventKind::python) {
    const auto colon = name.rfind(": ");
    return "calls of " + std::string(colon == std::string_view::npos ? name : name.substr(colon + 2));
  }
  return std::string(chosen.kind == EventKind::gpu_annotation ? "GPU range" : "annotation") + " '" + std::string(name) +
         "'";
}

std::vector<StepSpan> windows(const std::vector<std::int64_t>& boundaries) {
  std::vector<StepSpan> spans;
  for (std::size_t i = 0; i + 1 < boundaries.size(); ++i) {
    if (boundaries[i + 1] > boundaries[i]) spans.push_back({boundaries[i], boundaries[i + 1]});
  }
  return spans;
}

double length_of(const StepSpan& span) { return static_cast<double>(span.end_ns - span.start_ns); }

/// Of two windows one is a warm-up or a pause: a third tells which.
bool differ(const std::vector<StepSpan>& spans) {
  if (spans.size() != 2) return false;
  const auto [shorter, longer] = std::minmax({length_of(spans[0]), length_of(spans[1])});
  return longer > 2 * shorter;
}

/// The boundaries with an end of the last step, which no other follows. Where the GPU has done its work whenever a
/// range begins, steps are the host's ranges; else the last ends with its work.
std::vector<std::int64_t> with_last(const RangeGroup& chosen, std::vector<std::int64_t> boundaries) {
  const std::vector<MarkedRange>& ranges = chosen.ranges;
  if (ranges.back().work_ns == 0) return boundaries;
  const auto behind = [](const MarkedRange& one, const MarkedRange& next) { return one.last_work > next.start; };
  if (std::ranges::adjacent_find(ranges, behind) == ranges.end()) {
    boundaries.clear();
    for (const MarkedRange& range : ranges) boundaries.push_back(range.start);
    boundaries.push_back(std::max(ranges.back().end, ranges.back().last_work));
  } else {
    boundaries.push_back(ranges.back().last_work);
  }
  return boundaries;
}

/// A step that stands alone lasts as long as the slower of both sides: the host's range, or the GPU's work.
StepSpan alone(const MarkedRange& range) {
  const bool by_gpu = range.last_work - range.first_work >= range.end - range.start;
  if (range.work_ns == 0) return {range.start, range.end};
  return {by_gpu ? range.first_work : range.start, std::max(range.end, range.last_work)};
}

/// Where the program marks each of the batches that one update of the parameters sums up, a step goes from update to
/// update.
void join_up_to_updates(const WorkList& list, Steps& steps) {
  std::vector<StepSpan> batches = steps.analyzed;  // and the last, which no other follows
  std::int64_t end = batches.back().end_ns;
  for (const GpuWork& work : list.works) end = std::max(end, work.end);
  batches.push_back({batches.back().end_ns, end});
  std::vector<std::size_t> updating;
  for (const GpuWork& work : list.works) {
    if (!work.updates_parameters()) continue;
    const auto after = std::ranges::upper_bound(batches, work.start, {}, &StepSpan::start_ns);
    if (after == batches.begin()) continue;
    const auto at = static_cast<std::size_t>(std::prev(after) - batches.begin());
    if (updating.empty() || updating.back() != at) updating.push_back(at);
  }
  if (updating.size() * 2 >= batches.size() || even_spacing(updating) == 0) return;
  std::vector<std::int64_t> boundaries;
  for (const std::size_t at : updating) boundaries.push_back(batches[at].end_ns);
  steps.found = static_cast<int>(boundaries.size());
  steps.found_by += ", from update to update";
  steps.analyzed = windows(boundaries);
}

Steps from_ranges(const RangeGroup& chosen, const WorkList& list) {
  Steps steps;
  const bool on_gpu = chosen.kind == EventKind::gpu_annotation;
  steps.found_by = found_by(chosen);
  steps.marked = is_explicit(chosen);
  steps.found = static_cast<int>(chosen.ranges.size());
  std::vector<std::int64_t> boundaries;
  for (const MarkedRange& range : chosen.ranges) {
    if (range.work_ns == 0 && chosen.work_share > 0) continue;  // it launched nothing: part of the one before
    boundaries.push_back(on_gpu || range.work_ns == 0 ? range.start : range.first_work);
  }
  steps.analyzed = windows(boundaries);
  if (differ(steps.analyzed) && is_explicit(chosen)) steps.analyzed = windows(with_last(chosen, std::move(boundaries)));
  if (steps.analyzed.empty() && !chosen.ranges.empty()) steps.analyzed.push_back(alone(chosen.ranges.front()));
  if (!names_profiler_step(chosen.name)) join_up_to_updates(list, steps);
  return steps;
}

Steps from_launches(const Timeline& timeline, const WorkList& list) {
  Steps steps;
  const std::vector<std::int64_t> boundaries = repeating_launches(timeline, list, kRepeatedShare);
  steps.found = static_cast<int>(boundaries.size());
  steps.found_by = "repeating kernel sequence";
  steps.analyzed = windows(boundaries);
  return steps;
}

/// When the program asks its loader for the next batch.
std::vector<std::int64_t> loads_of(const Timeline& timeline) {
  const std::vector<Loader> loaders = known_by_names(timeline.names, loader_of);
  std::vector<std::int64_t> starts;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    const bool loads = loaders[timeline.events.name[i]] != Loader::none;
    if (loads && timeline.events.kind[i] == EventKind::annotation) starts.push_back(timeline.events.start[i]);
  }
  return starts;
}

/// One call of a module launched most of the GPU's work: what repeats within it are layers.
bool is_of_one_module_call(const Timeline& timeline, const WorkList& list) {
  const EventColumns& events = timeline.events;
  const NameSet modules(timeline.names, names_module);
  std::vector<EventIndex> calls;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] == EventKind::python && modules.contains(events.name[i])) calls.push_back(i);
  }
  if (calls.empty()) return false;
  std::map<std::int64_t, std::int64_t> launched{{INT64_MIN, 0}};  // work up to each launch, ns
  for (const GpuWork& work : list.works) {
    if (work.launch != kNoEvent) launched[events.start[work.launch]] += work.end - work.start;
  }
  std::int64_t sum = 0;
  for (auto& [time, work] : launched) work = sum += work;
  const auto before = [&](std::int64_t time) { return std::prev(launched.lower_bound(time))->second; };
  return std::ranges::any_of(
      calls, [&](EventIndex call) { return (before(events.end(call)) - before(events.start[call])) * 2 > sum; });
}

/// The shortest range of the program around nearly all of the GPU's work.
const RangeGroup* around_all(const std::vector<RangeGroup>& groups) {
  const RangeGroup* best = nullptr;
  const auto length = [](const RangeGroup& one) { return one.ranges.front().end - one.ranges.front().start; };
  for (const RangeGroup& one : groups) {
    const bool around = one.kind == EventKind::annotation && one.ranges.size() == 1 && one.work_share >= kNearlyAll;
    if (around && !names_part(one.name) && (best == nullptr || length(one) < length(*best))) best = &one;
  }
  return best;
}

/// From the first work of the GPU, or from the load that it works on; or what the program marked as a whole.
Steps whole_recording(const Timeline& timeline, const WorkList& list, const std::vector<std::int64_t>& loads = {},
                      const std::vector<RangeGroup>& groups = {}) {
  Steps steps;
  steps.found_by = "whole recording";
  steps.found = 1;
  std::int64_t start = 0;
  std::int64_t end = 0;
  if (!list.empty()) {
    start = list.works.front().start;
    if (!loads.empty()) start = std::min(start, loads.front());
    for (const GpuWork& work : list.works) end = std::max(end, work.end);
  } else if (timeline.events.size() > 0) {
    start = timeline.events.start[0];
    for (EventIndex i = 0; i < timeline.events.size(); ++i) end = std::max(end, timeline.events.end(i));
  }
  // What a range holds before the work is start-up, and what lasts far longer than the work is the program itself.
  const RangeGroup* marked = loads.empty() ? around_all(groups) : nullptr;
  if (marked != nullptr && marked->ranges.front().end - start <= kStartUpTimes * (end - start))
    end = std::max(end, marked->ranges.front().end);
  if (end > start) steps.analyzed.push_back({start, end});
  return steps;
}

double median_length(const std::vector<StepSpan>& spans) {
  std::vector<double> lengths;
  for (const StepSpan& span : spans) lengths.push_back(length_of(span));
  return upper_median(std::move(lengths));
}

/// Leaves out start-up, where enough steps remain: the first window.
void leave_out_start(Steps& steps) {
  const std::size_t count = steps.analyzed.size();
  const bool slow = count == kFewest && length_of(steps.analyzed.front()) > 2 * median_length(steps.analyzed);
  if (count > kFewest || slow) steps.analyzed.erase(steps.analyzed.begin());
}

/// Above this a step is an outlier: three scaled median absolute deviations (Leys et al., "Detecting outliers", J. Exp.
/// Soc. Psychology 49, 2013: 3 is the conservative choice, 1.4826 scales to a normal distribution), and twice the
/// median, as steps that hardly vary have no deviation.
double longest_steady_ns(const std::vector<StepSpan>& spans) {
  constexpr double kDeviations = 3 * 1.4826;
  const double median = median_length(spans);
  std::vector<double> deviations;
  for (const StepSpan& span : spans) deviations.push_back(std::abs(length_of(span) - median));
  return std::max(median + kDeviations * upper_median(std::move(deviations)), 2 * median);
}

double work_in(const WorkList& list, const std::vector<StepSpan>& spans) {
  std::int64_t sum = 0;
  for (const StepSpan& span : spans) sum += work_between(list, span.start_ns, span.end_ns);
  return static_cast<double>(sum);
}

double time_in(const std::vector<StepSpan>& spans) {
  double sum = 0;
  for (const StepSpan& span : spans) sum += length_of(span);
  return sum;
}

/// What seems to repeat, but holds most of the work, or time, in windows far longer than the usual one, does not.
bool is_irregular(const WorkList& list, const std::vector<StepSpan>& spans, bool by_time) {
  std::vector<StepSpan> usual;
  const double longest = spans.empty() ? 0 : 2 * median_length(spans);
  std::ranges::copy_if(spans, std::back_inserter(usual),
                       [&](const StepSpan& one) { return length_of(one) <= longest; });
  return by_time ? time_in(usual) * 2 < time_in(spans) : work_in(list, usual) * 2 < work_in(list, spans);
}

/// The names of what lies mostly in one of these steps, by NameId. `steady` is ascending.
std::vector<bool> names_within(const Timeline& timeline, const std::vector<StepSpan>& steady) {
  std::vector<bool> within(timeline.names.size(), false);
  const EventColumns& events = timeline.events;
  auto step = steady.begin();
  for (EventIndex i = 0; i < events.size(); ++i) {
    while (step != steady.end() && step->end_ns <= events.start[i]) ++step;
    if (step == steady.end()) break;
    const bool mostly = (step->end_ns - events.start[i]) * 2 > events.duration[i];
    if (events.start[i] >= step->start_ns && mostly) within[events.name[i]] = true;
  }
  return within;
}

/// What the host does in this pause, and in no steady step: a checkpoint, a validation. Loading is part of each step.
bool is_apart(const Timeline& timeline, const StepPause& pause, const std::vector<bool>& in_steps) {
  if (pause.name.empty() || names_data_loading(pause.name) || names_worker_restart(pause.name)) return false;
  const std::optional<NameId> name = timeline.names.find(pause.name);
  return name && !in_steps[*name];
}

/// Takes the pauses out: the steps analyzed are the longest run of steady ones between two pauses, so that they still
/// follow one another. Programs whose steps are long again and again (every fourth, where four workers load batches),
/// or do far more work than those, have no pauses but steps of several kinds, except where the host does what it does
/// in no other step.
void separate_pauses(const Timeline& timeline, const WorkList& list, std::string_view step, Steps& steps) {
  if (steps.analyzed.size() <= kFewest) return;
  const double longest = longest_steady_ns(steps.analyzed);
  std::vector<StepSpan> steady;
  std::vector<StepPause> apart, others;
  std::ranges::copy_if(steps.analyzed, std::back_inserter(steady),
                       [&](const StepSpan& one) { return length_of(one) <= longest; });
  if (steady.size() == steps.analyzed.size()) return;
  const std::vector<bool> in_steps = names_within(timeline, steady);
  for (const StepSpan& span : steps.analyzed) {
    if (length_of(span) <= longest) continue;
    const StepPause pause{span.start_ns, span.end_ns, what_paused(timeline, span, step, in_steps)};
    (is_apart(timeline, pause, in_steps) ? apart : others).push_back(pause);
  }
  const auto work_per_step = [&](const std::vector<StepSpan>& spans) {
    return work_in(list, spans) / static_cast<double>(std::max<std::size_t>(1, spans.size()));
  };
  std::vector<StepSpan> with_others = steady;
  for (const StepPause& one : others) with_others.push_back({one.start_ns, one.end_ns});
  const bool usual = work_per_step(steady) >= kRepeatedShare * work_per_step(with_others);
  const auto rare = static_cast<std::size_t>((1 - kNearlyAll) * static_cast<double>(steps.analyzed.size()));
  if (others.size() <= std::max<std::size_t>(rare, 1) && usual) apart.insert(apart.end(), others.begin(), others.end());
  std::ranges::sort(apart, {}, &StepPause::start_ns);
  std::span<const StepSpan> best, run;
  for (const StepSpan& span : steps.analyzed) {
    const bool pause = std::ranges::binary_search(apart, span.start_ns, {}, &StepPause::start_ns);
    run = pause ? std::span<const StepSpan>() : std::span(run.empty() ? &span : run.data(), run.size() + 1);
    if (run.size() > best.size()) best = run;
  }
  if (apart.empty() || best.size() < 2) return;
  steps.pauses = std::move(apart);
  steps.analyzed = std::vector<StepSpan>(best.begin(), best.end());
}

}  // namespace

Steps find_steps(const Timeline& timeline, const WorkList& list) {
  if (timeline.events.size() == 0 || list.empty()) return whole_recording(timeline, list);
  const std::vector<RangeGroup> marked = marked_ranges(timeline, list);
  std::vector<RangeGroup> groups;
  const RangeGroup* chosen = choose(marked);
  Steps steps = chosen != nullptr ? from_ranges(*chosen, list) : from_launches(timeline, list);
  const std::vector<std::int64_t> loads = loads_of(timeline);
  const bool one_pass = chosen == nullptr && is_of_one_module_call(timeline, list);
  if (chosen == nullptr) {  // what repeats between two loads is a layer
    const bool layers = !loads.empty() && loads.size() * 2 <= steps.analyzed.size();
    if (one_pass || layers || is_irregular(list, steps.analyzed, false)) steps.analyzed.clear();
  }
  if (steps.analyzed.empty() && loads.empty() && !one_pass) {
    groups = calls_of_functions(timeline, list);
    chosen = choose_function(groups);
    if (chosen != nullptr) steps = from_ranges(*chosen, list);
    if (is_irregular(list, steps.analyzed, true)) steps.analyzed.clear();  // layers, once each
  }
  if (steps.analyzed.empty()) return whole_recording(timeline, list, loads, marked);
  steps.repeating = true;
  leave_out_start(steps);
  separate_pauses(timeline, list, chosen != nullptr ? chosen->name : "", steps);
  return steps;
}

}  // namespace warpmark::analyze
