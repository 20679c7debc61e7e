// Words that the knobs share: an offer of nothing, of one value, and the gain that follows from a share of a step.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "optimize/knob.h"

namespace warpmark::optimize {

[[nodiscard]] inline Offer no_offer(std::string why) { return {.candidates = {}, .why_not = std::move(why)}; }

/// `share` of a step becomes between `low_factor` and `high_factor` times faster.
[[nodiscard]] inline Prediction gain_of_share(double share, double low_factor, double high_factor, std::string what) {
  return {.low = amdahl(share, low_factor),
          .high = amdahl(share, high_factor),
          .method = fmt::format("{} is {:.0f} % of a step, {:.3g} to {:.3g} times faster", what, share * 100,
                                low_factor, high_factor)};
}

[[nodiscard]] inline Offer one_offer(std::string value, Prediction predicted) {
  return {.candidates = {{std::move(value), std::move(predicted)}}, .why_not = {}};
}

/// FILE:LINE of the first loader, optimizer or module that the program makes; empty if it makes none.
[[nodiscard]] inline std::string place_in(const ProgramFacts& facts, Place place) {
  const auto first = [](const auto& made) { return made.empty() ? std::string() : made.front().where; };
  if (place == Place::loader) return first(facts.report.loaders);
  if (place == Place::optimizer) return first(facts.report.optimizers);
  return place == Place::module ? first(facts.report.modules) : std::string();
}

/// Whether the aid that this knob puts off is on.
[[nodiscard]] inline bool debugs_with(const ProgramFacts& facts, std::string_view knob) {
  const auto& on = facts.report.debugging;
  return std::find(on.begin(), on.end(), knob) != on.end();
}

/// Forward and backward together.
[[nodiscard]] inline double model_share(const ProgramFacts& facts) {
  return facts.phases.forward + facts.phases.backward;
}

[[nodiscard]] inline std::int64_t convolutions(const ProgramFacts& facts) {
  std::int64_t most = 0;
  for (const auto& module : facts.report.modules) most = std::max(most, module.convolutions);
  return most;
}

/// "1.13.0" -> 1.13 as (1, 13).
[[nodiscard]] bool torch_at_least(const ProgramFacts& facts, int major, int minor);

}  // namespace warpmark::optimize
