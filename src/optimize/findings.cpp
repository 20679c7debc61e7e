#include "optimize/findings.h"

#include <fmt/format.h>

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
  if (gain.rule != name) return false;
  return colon == std::string_view::npos ? gain.advice.empty() : gain.advice == token.substr(colon + 1);
}

bool answers_rule(const Knob& knob, std::string_view rule) {
  const auto tokens = split(knob.answers, ' ');
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](const std::string& token) { return token.substr(0, token.find(':')) == rule; });
}

}  // namespace

std::vector<OptimizationFinding> findings_of(const std::vector<Finding>& found) {
  std::vector<OptimizationFinding> findings;
  for (const auto& finding : found) {
    OptimizationFinding row{.rule = finding.rule,
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

std::vector<FoundGain> gains_of(const std::vector<Finding>& findings) {
  std::vector<FoundGain> gains;
  for (const auto& finding : findings) {
    if (finding.gain.high > 1) gains.push_back({finding.rule, "", finding.gain.low, finding.gain.high});
    for (const auto& advice : finding.recommendations) {
      if (advice.gain && !advice.id.empty()) {
        gains.push_back({finding.rule, advice.id, advice.gain->low, advice.gain->high});
      }
    }
  }
  return gains;
}

std::string found_text(const std::vector<OptimizationFinding>& findings) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> texts;
  for (const auto& one : findings) {
    if (texts.size() == kNamed) break;
    texts.push_back(one.is_gain_known() ? fmt::format("{} ({:.2f}x-{:.2f}x without it)", one.rule, one.low, one.high)
                                        : one.rule + " (gain not known)");
  }
  return join(texts, ", ");
}

std::vector<OptimizationAdvice> advice_of_findings(const std::vector<OptimizationFinding>& findings,
                                                   const Settings& kept) {
  std::vector<OptimizationAdvice> advice;
  for (const auto& finding : findings) {
    const bool answered = std::any_of(kept.begin(), kept.end(), [&](const Setting& setting) {
      const Knob* knob = find_in(knobs(), setting.knob);
      return knob != nullptr && answers_rule(*knob, finding.rule);
    });
    if (answered || finding.text.empty()) continue;
    advice.push_back(
        {.where = finding.where, .text = finding.title + ". " + finding.text, .code = finding.code, .predicted = {}});
    if (finding.is_gain_known()) {
      advice.back().predicted = Prediction{finding.low, finding.high, "replay of the recorded steps without it"};
    }
  }
  return advice;
}

std::optional<Prediction> replayed_gain(std::string_view answered, const std::vector<FoundGain>& found) {
  std::optional<Prediction> best;
  for (const auto& token : split(answered, ' ')) {
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
