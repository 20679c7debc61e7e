#include "optimize/proposals.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "optimize/findings.h"

namespace warpmark::optimize {
namespace {

bool named(const std::vector<std::string>& patterns, std::string_view id) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return pattern == id || glob_match(pattern, id); });
}

/// An analysis that found the knob's bottleneck in a recording knows the gain better than the phases do. A knob need
/// not remove all of what it answers, so a lower end that only another fix reaches is taken back.
Prediction sharpened(std::string_view answers, Prediction predicted, const ProgramFacts& facts) {
  if (auto replayed = replayed_gain(answers, facts.found)) {
    replayed->low = std::min(replayed->low, std::max(predicted.low, 1.0));
    return *replayed;
  }
  if (facts.analyzed) predicted.method += "; nothing in the recording supports it";
  return predicted;
}

/// What no finding speaks for comes after what one does.
double risk_of(const Knob& knob, std::string_view answers, const ProgramFacts& facts) {
  constexpr double kNoFinding = 3;
  return facts.analyzed && !replayed_gain(answers, facts.found) ? knob.risk * kNoFinding : knob.risk;
}

std::string_view answers_of(const Knob& knob, const Candidate& candidate) {
  return *candidate.answers != '\0' ? candidate.answers : knob.answers;
}

/// The probe has looked, and there is no place that it would change.
bool acts_nowhere(const ProgramFacts& facts, std::string_view id) {
  return std::ranges::any_of(facts.report.acts, [&](const auto& one) { return one.knob == id && one.places == 0; });
}

Proposal own_proposal(const UserKnob& knob, const std::string& value) {
  return {.setting = {knob.name, value},
          .title = knob.target,
          .numerics = knob.numerics,
          .predicted = {.low = 1, .high = 1.5, .method = "declared by the user; nothing is known of it"},
          .risk = 1,
          .asked = true,
          .until_memory_ends = knob.until_memory_ends};
}

}  // namespace

std::vector<Proposal> proposals(const ProgramFacts& facts, const Settings& settings, const ProposalOptions& options) {
  std::vector<Proposal> found;
  for (const auto& own : options.own) {
    for (const auto& value : own.values) found.push_back(own_proposal(own, value));
  }
  for (const auto& setting : options.asked) {
    const Knob* knob = find_in(knobs(), setting.knob);
    if (knob == nullptr) continue;
    Prediction predicted{.low = 1, .high = 1, .method = "asked for"};
    std::string_view answers = knob->answers;
    for (const auto& candidate : knob->offer(facts, settings).candidates) {
      if (candidate.value != setting.value) continue;
      answers = answers_of(*knob, candidate);
      predicted = sharpened(answers, candidate.predicted, facts);
    }
    found.push_back({.setting = setting,
                     .title = knob->title,
                     .numerics = numerics_of(*knob, facts),
                     .predicted = std::move(predicted),
                     .risk = risk_of(*knob, answers, facts),
                     .asked = true,
                     .switchable = knob->switchable,
                     .bundled = knob->bundled});
  }
  if (options.asked_only) return found;
  for (const Knob* knob : knobs()) {
    if (named(options.skip, knob->id) || (!options.only.empty() && !named(options.only, knob->id))) continue;
    if (acts_nowhere(facts, knob->id)) continue;
    for (auto& candidate : knob->offer(facts, settings).candidates) {
      const auto answers = answers_of(*knob, candidate);
      found.push_back({.setting = {knob->id, std::move(candidate.value)},
                       .title = knob->title,
                       .numerics = numerics_of(*knob, facts),
                       .predicted = sharpened(answers, std::move(candidate.predicted), facts),
                       .risk = risk_of(*knob, answers, facts),
                       .switchable = knob->switchable,
                       .bundled = knob->bundled});
    }
  }
  return found;
}

Status check_names(const ProposalOptions& options) {
  const auto ids = ids_of(knobs());
  for (const auto* list : {&options.only, &options.skip}) {
    for (const auto& name : *list) {
      const bool known = std::any_of(ids.begin(), ids.end(), [&](const auto& id) { return named({name}, id); });
      if (known) continue;
      const auto meant = nearest(name, ids);
      return usage_error("there is no knob '" + name + "'", meant.empty() ? "`warpmark optimize --list-knobs` shows all"
                                                                          : "did you mean '" + meant + "'?");
    }
  }
  for (const auto& setting : options.asked) {
    if (const Knob* knob = find_in(knobs(), setting.knob)) {
      if (takes(*knob, setting.value)) continue;
      return usage_error(fmt::format("{} has no value '{}'", setting.knob, setting.value),
                         "it takes " + values_text(*knob));
    }
    const auto meant = nearest(setting.knob, ids);
    return usage_error("there is no knob '" + setting.knob + "'",
                       meant.empty() ? "declare your own with --knob" : "did you mean '" + meant + "'?");
  }
  return {};
}

std::vector<KnobOffer> offers(const ProgramFacts& facts, const ProposalOptions& options) {
  std::vector<KnobOffer> rows;
  for (const Knob* knob : knobs()) {
    rows.push_back({knob->id, knob->title, name_of(knob->numerics), knob->breaks, knob->offer(facts, {})});
    for (auto& candidate : rows.back().offer.candidates) {
      candidate.predicted = sharpened(answers_of(*knob, candidate), std::move(candidate.predicted), facts);
    }
  }
  for (const auto& own : options.own) {
    KnobOffer row{own.name, own.target, name_of(own.numerics), "what the user knows of it", {}};
    for (const auto& value : own.values) row.offer.candidates.push_back({value, own_proposal(own, value).predicted});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace warpmark::optimize
