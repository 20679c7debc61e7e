// A simulated program whose measurements are random: blocks of steps in one process, and fresh processes, each with its
// own noise. Pairs and rounds end by the rules of real searches (stages/pair_test.h).
#pragma once

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "optimize/search.h"
#include "optimize/stages/pair_test.h"

namespace warpmark::optimize {

/// Standard deviations of the logarithm of a time; a burst of other load makes a measurement half again as long.
struct RandomNoise {
  double block = 0.01;
  double run = 0.03;
  double burst_chance = 0;
};

class RandomTrials final : public Trials {
 public:
  /// `factors`: of the time, by knob; settings of other knobs change nothing.
  RandomTrials(const RandomNoise& noise, std::uint64_t seed, std::map<std::string, double> factors = {})
      : noise_(noise), random_(seed), factors_(std::move(factors)) {}

  Result<WithinResult> within(const Settings& from, std::span<const Variant> variants, bool decide) override {
    WithinResult result;
    result.variants.resize(variants.size());
    for (std::int64_t rounds = 0; rounds < kMostBlockRounds; rounds += kBlockRounds) {
      bool open = false;
      for (std::size_t i = 0; i < variants.size(); ++i) {
        auto& one = result.variants[i];
        for (std::int64_t k = 0; k < kBlockRounds; ++k) {
          one.base_s.push_back(time_of(from, noise_.block));
          one.times_s.push_back(time_of(variants[i].settings, noise_.block));
        }
        const auto judged = judge_pairs(one.base_s, one.times_s, kEffect, kBlockAlpha, kBlockPrior);
        one.gain = judged.speedup;
        open = open || needs_blocks(judged, decide);
      }
      if (!open) break;
    }
    return result;
  }

  Result<TrialResult> compare(const Settings& from, const Variant& to, bool /*state_checked*/, bool decide) override {
    constexpr std::int64_t kRounds = 12;
    TrialResult result;
    for (std::int64_t round = 0; round < kRounds; ++round) {
      result.times_from_s.push_back(time_of(from, noise_.run));
      result.times_to_s.push_back(time_of(to.settings, noise_.run));
      const auto judged = judge_pairs(result.times_from_s, result.times_to_s, kEffect, kAlpha, kRunPrior);
      result.verdict = judged.verdict;
      result.speedup = judged.speedup;
      if (judged.verdict != Verdict::inconclusive) break;
      result.futile = judged.futile && (!decide || round + 1 >= kPairsUntilFutile);
      if (result.futile) break;
    }
    return result;
  }

 private:
  static constexpr double kEffect = 0.01, kAlpha = 0.05;

  double time_of(const Settings& settings, double deviation) {
    const bool burst = std::bernoulli_distribution(noise_.burst_chance)(random_);
    double time = std::exp(std::normal_distribution<double>(0, deviation)(random_)) * (burst ? 1.5 : 1);
    for (const auto& setting : settings) {
      if (const auto found = factors_.find(setting.knob); found != factors_.end()) time *= found->second;
    }
    return time;
  }

  RandomNoise noise_;
  std::mt19937_64 random_;
  std::map<std::string, double> factors_;
};

/// Options of a search over `bundled` settings of a first bundle and as many that are tried later, none of which
/// changes anything, and those of `real`.
inline SearchOptions options_of_nothing(int bundled, const std::vector<std::string>& real) {
  SearchOptions options;
  options.propose = [bundled, real](const ProgramFacts&, const Settings&) {
    std::vector<Proposal> proposals;
    const auto add = [&](std::string knob, bool in_bundle) {
      proposals.push_back({.setting = {std::move(knob), "on"},
                           .predicted = {.low = 1, .high = 1.5, .method = ""},
                           .switchable = true,
                           .bundled = in_bundle});
    };
    for (int k = 0; k < bundled; ++k) add("bundled" + std::to_string(k), true);
    for (int k = 0; k < bundled; ++k) add("later" + std::to_string(k), false);
    for (const auto& knob : real) add(knob, true);
    return proposals;
  };
  return options;
}

}  // namespace warpmark::optimize
