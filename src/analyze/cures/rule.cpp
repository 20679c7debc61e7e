#include "analyze/cures/rule.h"

#include <fmt/format.h>

#include <algorithm>

namespace warpmark::analyze {

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
  gain.high = std::min(gain.high, gain.low * kWidestGain);
  return gain;
}

}  // namespace warpmark::analyze
