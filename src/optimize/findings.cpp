#include "optimize/findings.h"

#include <algorithm>

#include "base/text.h"

namespace warpmark::optimize {
namespace {

/// The line of the program that most of the lost time was placed on: the first evidence, where stacks were recorded.
std::string line_of(const Finding& finding) {
  for (const auto& fact : finding.evidence) {
    if (fact.id == "source_line") return fact.text;
  }
  return {};
}

bool answers(std::string_view token, const FoundGain& gain) {
  const auto colon = token.find(':');
  const auto name = token.substr(0, colon);
  if (gain.rule != name && gain.kind != name) return false;
  return colon == std::string_view::npos ? gain.advice.empty() : gain.advice == token.substr(colon + 1);
}

}  // namespace

std::vector<JourneyFinding> findings_of(const Analysis& analysis) {
  std::vector<JourneyFinding> findings;
  for (const auto& finding : analysis.findings) {
    JourneyFinding row{.rule = finding.rule,
                       .title = finding.title,
                       .severity = finding.severity,
                       .low = finding.gain.low,
                       .high = finding.gain.high,
                       .where = line_of(finding)};
    if (!finding.recommendations.empty()) {
      row.text = finding.recommendations.front().text;
      row.code = finding.recommendations.front().snippet;
      row.advice = finding.recommendations.front().id;
    }
    findings.push_back(std::move(row));
  }
  return findings;
}

std::vector<FoundGain> gains_of(const Analysis& analysis) {
  std::vector<FoundGain> gains;
  for (const auto& finding : analysis.findings) {
    if (finding.gain.high > 1) gains.push_back({finding.rule, finding.kind, "", finding.gain.low, finding.gain.high});
    for (const auto& advice : finding.recommendations) {
      if (advice.gain && !advice.id.empty()) {
        gains.push_back({finding.rule, finding.kind, advice.id, advice.gain->low, advice.gain->high});
      }
    }
  }
  return gains;
}

std::optional<Prediction> replayed_gain(const Knob& knob, const std::vector<FoundGain>& found) {
  std::optional<Prediction> best;
  for (const auto& token : split(knob.answers, ' ')) {
    for (const auto& gain : found) {
      if (!answers(token, gain) || (best && gain.high <= best->high)) continue;
      best = Prediction{
          std::max(1.0, gain.low), std::max(1.0, gain.high),
          "replay of the recorded steps without " + gain.rule + (gain.advice.empty() ? "" : " (" + gain.advice + ")")};
    }
  }
  return best;
}

}  // namespace warpmark::optimize
