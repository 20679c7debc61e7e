// A simulated program: each setting multiplies its time, changes its answers, fails or does nothing; and a log of what
// was asked.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "optimize/search.h"

namespace warpmark::optimize {

struct FakeSetting {
  double factor = 1;  ///< of the time: below 1 is faster
  std::string failure = {};
  bool same_answers = true;
  double in_process = 0;     ///< the factor that the living process shows; 0: the same
  std::string nothing = {};  ///< why it changes nothing
};

class FakeTrials final : public Trials {
 public:
  std::map<std::string, FakeSetting> settings;  ///< by "knob=value"
  std::map<std::string, double> together;       ///< by two names joined by '+': a further factor where both are on
  bool has_process = true;
  int stop_after = 1000;  ///< questions until "interrupted"
  std::vector<std::string> asked;
  std::string worse_quality;                     ///< the setting that the user's evaluation rejects
  std::map<std::string, NumericsSet> judged_by;  ///< in the last test of these settings
  double compile_s = 0;                          ///< what a compiler takes
  double half_width = 0.005;                     ///< of gains in the living process, relative
  double variant_s = 0;                          ///< that the living process says a variant takes
  double seconds_left = 1e9;                     ///< a test in fresh processes takes ten, in the living one takes one
  std::string disturbed;                         ///< why tests in fresh processes are unreliable

  [[nodiscard]] double left_s() const override { return seconds_left; }
  [[nodiscard]] double test_s() const override { return kTest_s; }

  [[nodiscard]] double within_s(const Settings& /*from*/, std::span<const Variant> variants) const override {
    return variant_s * static_cast<double>(variants.size());
  }

  Result<TrialResult> evaluate(const Settings& with) override {
    asked.push_back("evaluate " + text_of(with));
    TrialResult result;
    if (!worse_quality.empty() && text_of(with).find(worse_quality) != std::string::npos) {
      result.answers_same = false;
      result.answers = {.kind = "evaluation", .difference = 0, .allowed = 0, .text = "top1 is lower"};
    }
    return result;
  }

  Result<WithinResult> within(const Settings& from, std::span<const Variant> variants, bool /*decide*/) override {
    WithinResult result;
    if (!has_process) {
      result.why_not = "no steps";
      return result;
    }
    std::string text = "within " + text_of(from) + " |";
    for (const auto& variant : variants) text += " [" + text_of(variant.settings) + "]";
    asked.push_back(text);
    seconds_left -= std::max(1.0, within_s(from, variants));
    for (const auto& variant : variants) result.variants.push_back(variant_result(from, variant));
    return result;
  }

  Result<Recorded> record(const Settings& with) override {
    asked.push_back("record " + text_of(with));
    Recorded recorded;
    for (const auto& setting : with) recorded.kernels.emplace_back(setting.knob, "in 3 of 9 kernels");
    return recorded;
  }

  Result<TrialResult> compare(const Settings& from, const Variant& to, bool /*state_checked*/, bool decide) override {
    judged_by.insert_or_assign(text_of(to.settings), to.numerics);
    asked.push_back((decide ? "prove " : "try ") + text_of(from) + " | " + text_of(to.settings));
    seconds_left -= kTest_s;
    TrialResult result = about(to.settings);
    if (result.stopped || !result.failure.empty()) return result;
    const double ratio = time_of(from, false) / time_of(to.settings, false);
    result.speedup = SpeedUp{ratio, ratio * 0.995, ratio * 1.005, 0.95};
    result.times_as_long = 1 / ratio;
    result.verdict = ratio > 1.01 ? Verdict::better : ratio < 0.99 ? Verdict::worse : Verdict::same;
    if (!disturbed.empty()) {
      result.verdict = Verdict::unreliable;
      result.reason = disturbed;
    }
    result.times_from_s = {time_of(from, false)};
    result.times_to_s = {time_of(to.settings, false)};
    return result;
  }

 private:
  static constexpr double kTest_s = 10;

  [[nodiscard]] double time_of(const Settings& wanted, bool in_process) const {
    double time = 1;
    for (const auto& setting : wanted) {
      const auto found = settings.find(setting.knob + "=" + setting.value);
      if (found == settings.end()) continue;
      time *= in_process && found->second.in_process > 0 ? found->second.in_process : found->second.factor;
    }
    for (const auto& [pair, factor] : together) {
      const auto plus = pair.find('+');
      const auto on = [&](const std::string& name) {
        return std::ranges::any_of(wanted, [&](const auto& s) { return s.knob + "=" + s.value == name; });
      };
      if (on(pair.substr(0, plus)) && on(pair.substr(plus + 1))) time *= factor;
    }
    return time;
  }

  VariantResult variant_result(const Settings& from, const Variant& variant) const {
    VariantResult result;
    for (const auto& setting : variant.settings) {
      const auto found = settings.find(setting.knob + "=" + setting.value);
      if (found == settings.end()) continue;
      const auto& known = found->second;
      if (!known.failure.empty()) result.failure = known.failure;
      if (!known.nothing.empty()) result.nothing.emplace_back(setting.knob, known.nothing);
      if (!known.same_answers) {
        result.answers_same = false;
        result.answers = {.kind = "state", .difference = 0.5, .allowed = 0.01, .text = "outputs differ by 50 %"};
      }
    }
    const double ratio = time_of(from, true) / time_of(variant.settings, true);
    result.gain = SpeedUp{ratio, ratio * (1 - half_width), ratio * (1 + half_width), 0.95};
    result.warm_s = compile_s;
    return result;
  }

  TrialResult about(const Settings& to) {
    TrialResult result;
    result.runs = 4;
    result.cost_s = kTest_s;
    if (static_cast<int>(asked.size()) > stop_after) {
      result.stopped = true;
      result.reason = "interrupted";
      return result;
    }
    for (const auto& setting : to) {
      const auto found = settings.find(setting.knob + "=" + setting.value);
      if (found == settings.end()) continue;
      if (!found->second.failure.empty()) result.failure = found->second.failure;
      result.out_of_memory = result.failure == "ran out of memory";
      if (!found->second.same_answers) {
        result.answers_same = false;
        result.answers = {.kind = "losses", .difference = 0.5, .allowed = 0.01, .text = "losses differ by 50 %"};
      }
    }
    return result;
  }
};

}  // namespace warpmark::optimize
