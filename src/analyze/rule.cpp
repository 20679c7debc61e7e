#include "analyze/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warpmark::analyze {

namespace {

constexpr double kWidestRatio = 1.995;  // of high to low
constexpr double kLeastGain = 0.93;     // run-to-run noise of a step; the least of 167 pairs is 0.948
constexpr double kLeastSpread = 0.08;   // of the logarithm: noise of both measurements
constexpr std::size_t kEventsShown = 5;
constexpr double kToldInTenths = 9.5;  // told with a decimal: a mean of 1.5 a step is neither 1 nor 2

/// The range of a whole step, around all that the host did in it, shows nothing of why the GPU was idle.
bool is_profiled_step(const RankEvidence& rank, EventIndex event) {
  return rank.timeline->name_of(event).starts_with("ProfilerStep#");
}

}  // namespace

bool can_apply(const Rule& rule, const Evidence& evidence) {
  switch (rule.needs) {
    case Need::gpu_work: return evidence.has_timeline();
    case Need::several_ranks: return evidence.ranks.size() >= 2;
    case Need::kernel_profiles: return !evidence.session->kernels.empty();
    case Need::counters: break;
  }
  if (!evidence.session->counters.empty()) return true;
  return std::any_of(evidence.session->ranks.begin(), evidence.session->ranks.end(),
                     [](const Timeline& timeline) { return !timeline.counters.empty(); });
}

double speedup_of(const Evidence& evidence, const Change& change) {
  const double after = evidence.step_ns(change.ranks);
  return evidence.base_step_ns > 0 && after > 0 ? evidence.base_step_ns / after : 1.0;
}

double replayed(const Rule& rule, const Evidence& evidence, double removed) {
  Change change(evidence);
  rule.change(evidence, removed, change);
  return speedup_of(evidence, change);
}

Gain estimate_gain(const Rule& rule, const Evidence& evidence) {
  const double foretold =
      rule.foretell != nullptr ? rule.foretell(evidence) : replayed(rule, evidence, rule.calibration.removed);
  return gain_around(foretold, rule.calibration,
                     fmt::format("replay of the recorded steps with {:.0f} % of this cause removed, and how far such "
                                 "replays were off",
                                 rule.calibration.removed * 100));
}

Gain gain_around(double foretold, const Calibration& calibration, std::string method) {
  const double middle = std::log(std::max(foretold, 1.0)) + calibration.bias;
  const double grown = std::clamp(calibration.small + middle, calibration.small, 1.0);
  const double spread = std::max(kLeastSpread, calibration.spread * grown);
  return shaped(std::exp(middle - spread), std::exp(middle + spread), std::move(method));
}

namespace {

/// What a rule foretells, to what its replay alone does: loading by workers leaves a quarter of the loading.
double beyond_replay(const Rule& rule, const Evidence& evidence) {
  if (rule.foretell == nullptr) return 1;
  return rule.foretell(evidence) / replayed(rule, evidence, rule.calibration.removed);
}

}  // namespace

Gain combined_gain(const std::vector<const Rule*>& applied, const std::vector<Finding>& findings,
                   const Evidence& evidence) {
  Change change(evidence);
  Calibration calibration{1.0, 0.0, 0.0};
  double foretold = 1;
  for (const Rule* rule : applied) {
    if (rule->change == nullptr) continue;
    rule->change(evidence, rule->calibration.removed, change);
    calibration.spread = std::max(calibration.spread, rule->calibration.spread);
  }
  if (evidence.has_timeline()) {
    foretold = speedup_of(evidence, change);
    for (const Rule* rule : applied) foretold *= beyond_replay(*rule, evidence);
  }
  Gain gain = gain_around(foretold, calibration, "replay with all findings cured together");
  // A rule may foretell more than its replay alone; curing everything never gains less than curing one thing.
  for (const Finding& finding : findings) {
    if (finding.gain.per_sample) continue;
    gain.low = std::max(gain.low, finding.gain.low);
    gain.high = std::max(gain.high, finding.gain.high);
  }
  gain.high = std::min(gain.high, gain.low * kWidestRatio);
  return gain;
}

Gain shaped(double low, double high, std::string method) {
  low = std::max(low, kLeastGain);
  high = std::max(high, low);
  if (high / low > kWidestRatio) {
    const double middle = std::sqrt(low * high);
    low = middle / std::sqrt(kWidestRatio);
    high = middle * std::sqrt(kWidestRatio);
  }
  return {low, high, std::move(method)};
}

double severity_of(double lost_ns, double step_ns) {
  return step_ns > 0 ? std::clamp(2.0 * lost_ns / step_ns, 0.0, 1.0) : 0.0;
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

Fact count_fact(std::string id, const std::string& label, double count) {
  const bool whole = std::abs(count - std::round(count)) < 0.05 || count >= kToldInTenths;
  const std::string text = whole ? format_count(std::llround(count)) : fmt::format("{:.1f}", count);
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
    if (event == kNoEvent || finding.events.size() >= kEventsShown) continue;
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
    if (longest.size() == kEventsShown && length(i) <= length(longest.back())) continue;
    const auto at = std::find_if(longest.begin(), longest.end(), [&](std::size_t j) { return length(j) < length(i); });
    longest.insert(at, i);
    if (longest.size() > kEventsShown) longest.pop_back();
  }
  for (const std::size_t i : longest) finding.events.push_back(reference(rank, rank.list.works[i].event));
}

double avoidable_ns(const RankEvidence& rank, Owner owner) {
  double sum = 0;
  for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
    const GpuWork& work = rank.list.works[i];
    if (rank.blame.owner[i] != owner || !rank.in_steps(work)) continue;
    sum += static_cast<double>(work.end - work.start) * (1.0 - static_cast<double>(rank.blame.keep[i]));
  }
  return sum / rank.step_count();
}

double owned_ns(const RankEvidence& rank, Owner owner) {
  double sum = 0;
  for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
    const GpuWork& work = rank.list.works[i];
    if (rank.blame.owner[i] == owner && rank.in_steps(work)) sum += static_cast<double>(work.end - work.start);
  }
  return sum / rank.step_count();
}

void open_columns(const RankEvidence& rank, WhatIf& change) {
  if (change.duration_scale.empty()) change.duration_scale.assign(rank.list.works.size(), 1.0F);
  if (change.dispatch_scale.empty()) change.dispatch_scale.assign(rank.list.works.size(), 1.0F);
}

void shrink_owned(const Evidence& evidence, Owner owner, double success, Change& change) {
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    open_columns(rank, change.ranks[r]);
    std::vector<float>& scale = change.ranks[r].duration_scale;
    std::vector<float>& dispatch = change.ranks[r].dispatch_scale;
    for (std::size_t i = 0; i < scale.size(); ++i) {
      if (rank.blame.owner[i] != owner) continue;
      dispatch[i] *= static_cast<float>(scaled(static_cast<double>(rank.blame.dispatch[i]), success));
      scale[i] *= static_cast<float>(scaled(static_cast<double>(rank.blame.keep[i]), success));
    }
  }
}

}  // namespace warpmark::analyze
