// A search over settings of a simulated program.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "optimize/fake_trials.h"
#include "optimize/search.h"

namespace warpmark::optimize {

inline Proposal proposal(const std::string& knob, const std::string& value, double high, bool asked = false) {
  return {.setting = {knob, value},
          .title = knob,
          .numerics = Numerics::rounding,
          .predicted = {.low = 1, .high = high, .method = "test"},
          .risk = 1,
          .asked = asked};
}

inline Proposal bundled(const std::string& knob, double high, bool asked = false) {
  auto one = proposal(knob, "on", high, asked);
  one.switchable = one.bundled = true;
  return one;
}

class SearchTest : public ::testing::Test {
 protected:
  Optimization run() {
    Optimization optimization;
    optimization.baseline.seconds_per_step = 1;
    SearchOptions options;
    options.propose = [this](const ProgramFacts&, const Settings&) { return proposals_; };
    options.log = [this](const std::string& text) { logged_.push_back(text); };
    EXPECT_TRUE(search(trials_, {}, options, optimization).ok());
    return optimization;
  }
  static const OptimizationStep& step(const Optimization& optimization, const std::string& knob) {
    for (const auto& step : optimization.steps) {
      if (step.knob == knob) return step;
    }
    ADD_FAILURE() << "no step of " << knob;
    return optimization.steps.front();
  }
  [[nodiscard]] auto asked(const std::string& text) const {
    return std::count(trials_.asked.begin(), trials_.asked.end(), text);
  }
  FakeTrials trials_;
  std::vector<Proposal> proposals_;
  std::vector<std::string> logged_;
};

}  // namespace warpmark::optimize
