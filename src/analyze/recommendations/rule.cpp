#include "analyze/recommendations/rule.h"

#include <algorithm>
#include <utility>

namespace warpmark::analyze {

Gain gain_up_to(double all, std::string method) {
  const double most = std::max(all, 1.0);
  const double removed = 1 - 1 / most;  // of the time
  return {1 / (1 - removed / 2), most, std::move(method)};
}

Gain at_most(double bound, std::string method) { return {1, std::max(bound, 1.0), std::move(method)}; }

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
  const double all = rule.predict != nullptr ? rule.predict(evidence) : replayed(rule, evidence, 1.0);
  return gain_up_to(all, "trace re-simulated without half and without all of this cause");
}

Gain combined_gain(const std::vector<const Rule*>& applied, const std::vector<Finding>& findings,
                   const Evidence& evidence) {
  Change change(evidence);
  for (const Rule* rule : applied) {
    if (rule->change != nullptr) rule->change(evidence, 1.0, change);
  }
  Gain gain = gain_up_to(evidence.has_timeline() ? speedup_of(evidence, change) : 1,
                         "trace re-simulated without all of these causes");
  for (const Finding& finding : findings) {  // a rule may predict more than its replay alone
    if (finding.gain.per_sample) continue;
    gain.low = std::max(gain.low, finding.gain.low);
    gain.high = std::max(gain.high, finding.gain.high);
  }
  return gain;
}

}  // namespace warpmark::analyze
