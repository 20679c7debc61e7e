// Merging the rounds of a case into its Run.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "measure/round.h"
#include "model/run_query.h"
#include "stats/summary.h"

namespace warpmark::measure {
namespace {

/// Order of gravity: what a merged run must not hide.
int gravity(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed: return 0;
    case Outcome::unreliable: return 1;
    case Outcome::skipped: return 2;
    case Outcome::unsupported: return 3;
    case Outcome::error: return 4;
    case Outcome::failed: return 5;
  }
  return 5;
}

void merge_metric(Run& merged, const Metric& more) {
  for (auto& metric : merged.metrics) {
    if (metric.id != more.id) continue;
    metric.samples.insert(metric.samples.end(), more.samples.begin(), more.samples.end());
    metric.round_sizes.insert(metric.round_sizes.end(), more.round_sizes.begin(), more.round_sizes.end());
    return;
  }
  merged.metrics.push_back(more);
}

void merge_environment(Environment& merged, const Environment& more) {
  for (const auto& disturbance : more.disturbances) {
    auto same = std::find_if(merged.disturbances.begin(), merged.disturbances.end(),
                             [&](const auto& known) { return known.id == disturbance.id; });
    if (same == merged.disturbances.end()) {
      merged.disturbances.push_back(disturbance);
    } else if (disturbance.invalidates && !same->invalidates) {
      *same = disturbance;
    }
  }
  for (const auto& reading : more.readings) {
    auto same = std::find_if(merged.readings.begin(), merged.readings.end(),
                             [&](const auto& known) { return known.id == reading.id; });
    if (same == merged.readings.end()) {
      merged.readings.push_back(reading);
    } else {
      same->after = reading.after;
    }
  }
}

void merge_round(Run& merged, const Run& round) {
  if (gravity(round.outcome) > gravity(merged.outcome)) {
    merged.outcome = round.outcome;
    merged.reason = round.reason;
    merged.hint = round.hint;
    merged.fault = round.fault;
  }
  for (const auto& metric : round.metrics) merge_metric(merged, metric);
  if (round.error && (!merged.error || !(round.error->value <= merged.error->value))) merged.error = round.error;
  merge_environment(merged.environment, round.environment);
  merged.warmup.launches += round.warmup.launches;
  merged.warmup.seconds += round.warmup.seconds;
  if (merged.warmup.settled && !round.warmup.settled) merged.warmup.reason = round.warmup.reason;
  merged.warmup.settled = merged.warmup.settled && round.warmup.settled;
  merged.timing.launches_per_sample = std::max(merged.timing.launches_per_sample, round.timing.launches_per_sample);
  for (const auto& note : round.notes) {
    if (std::find(merged.notes.begin(), merged.notes.end(), note) == merged.notes.end()) merged.notes.push_back(note);
  }
  merged.rounds += round.rounds;
}

/// One sentence for all rounds: what ended most of them (the clause before the first ";" of each), and what the samples
/// of all of them support together.
std::string stopped_because(std::span<const Run* const> rounds, const Run& merged, const StoppingOptions& stopping) {
  std::map<std::string, int> causes;
  for (const Run* round : rounds) {
    if (!round->stopped_because.empty()) ++causes[round->stopped_because.substr(0, round->stopped_because.find(';'))];
  }
  if (causes.empty() || rounds.size() == 1) return rounds.front()->stopped_because;
  const auto most =
      std::max_element(causes.begin(), causes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (merged.converged || merged.metrics.empty()) return most->first;
  const double half_width = relative_half_width(merged.metrics.front().samples, stopping.confidence);
  return fmt::format("{} in {} of {} rounds; interval of the median over all is ±{:.2g} %, target ±{:.2g} %",
                     most->first, most->second, rounds.size(), half_width * 100, stopping.half_width * 100);
}

}  // namespace

Run merge_rounds(std::span<const Run> rounds, const StoppingOptions& stopping) {
  WM_CHECK(!rounds.empty());
  // Rounds skipped for want of time or by Ctrl-C take nothing from the rounds that were measured.
  const bool any_measured =
      std::any_of(rounds.begin(), rounds.end(), [](const Run& round) { return round.outcome != Outcome::skipped; });
  std::vector<const Run*> used;
  for (const Run& round : rounds) {
    if (!any_measured || round.outcome != Outcome::skipped) used.push_back(&round);
  }
  Run merged = *used.front();
  for (std::size_t i = 1; i < used.size(); ++i) merge_round(merged, *used[i]);
  if (!is_measured(merged.outcome)) merged.metrics.clear();
  for (auto& metric : merged.metrics) metric.summary = stats::summarize(metric.samples, stopping.confidence);
  if (!merged.metrics.empty()) {
    merged.converged = relative_half_width(merged.metrics.front().samples, stopping.confidence) <= stopping.half_width;
  }
  merged.stopped_because = stopped_because(used, merged, stopping);
  return merged;
}

}  // namespace warpmark::measure
