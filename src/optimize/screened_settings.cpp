#include "optimize/screened_settings.h"

#include <fmt/format.h>

#include "optimize/priors.h"

namespace warpmark::optimize {

std::vector<Setting> ScreenedSettings::begin(const std::vector<Proposal>& open) {
  std::vector<Setting> settings;
  for (const auto& proposal : open) {
    if (!proposal.switchable || proposal.asked) continue;
    settings.push_back(proposal.setting);
    proposals_.insert_or_assign(text_of({proposal.setting}), proposal);
  }
  return settings;
}

std::vector<std::string> ScreenedSettings::take(const std::vector<Screened>& settings) {
  if (!settings.empty()) known_.clear();
  std::vector<std::string> decisions;
  for (const auto& screened : settings) {
    const auto name = text_of({screened.setting});
    decisions.push_back(fmt::format("screened {}: {}, {}", name,
                                    screened.discard ? "discarded" : "goes on to processes of its own", screened.text));
    if (screened.discard) {
      discarded_.insert_or_assign(name, screened);
    } else {
      discarded_.erase(name);
    }
    known_.insert_or_assign(name, screened);
  }
  return decisions;
}

const Screened* ScreenedSettings::known(const Setting& setting) const {
  const auto found = known_.find(text_of({setting}));
  return found == known_.end() ? nullptr : &found->second;
}

bool ScreenedSettings::discards(const Setting& setting) const {
  const auto* screened = known(setting);
  return screened != nullptr && screened->discard;
}

Proposal ScreenedSettings::ordered(Proposal proposal) const {
  const auto* screened = known(proposal.setting);
  if (screened != nullptr && screened->gain) {
    proposal.predicted.low = screened->gain->low;
    proposal.predicted.high = screened->gain->high;
  }
  return proposal;
}

std::vector<JourneyStep> ScreenedSettings::discarded(const std::function<bool(const std::string&)>& tried) const {
  std::vector<JourneyStep> steps;
  for (const auto& [name, screened] : discarded_) {
    if (tried(name)) continue;
    const auto& proposal = proposals_.at(name);
    steps.push_back({.knob = proposal.setting.knob,
                     .value = proposal.setting.value,
                     .title = proposal.title,
                     .numerics = name_of(proposal.numerics),
                     .outcome = TrialOutcome::slower,
                     .reason = "no faster when switched within one process: " + screened.text,
                     .predicted = proposal.predicted,
                     .prior = prior_of(proposal.setting.knob),
                     .screened = screened.gain,
                     .answers = {.kind = "none", .text = "not judged"}});
  }
  return steps;
}

}  // namespace warpmark::optimize
