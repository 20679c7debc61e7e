// A program of the imagination: each setting multiplies its time, breaks its answers or fails; and the log of what was
// asked.
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
};

class FakeTrials final : public Trials {
 public:
  std::map<std::string, FakeSetting> settings;  ///< by "knob=value"
  std::map<std::string, double> together;       ///< by two names joined by '+': a further factor where both are on
  int stop_after = 1000;                        ///< trials until "interrupted"
  std::vector<std::string> asked;
  std::string worse_quality;                     ///< the setting that the user's evaluation rejects
  std::map<std::string, NumericsSet> judged_by;  ///< in the last test of these settings
  std::size_t tests_left = 1000;                 ///< that the budget is enough for
  std::string disturbed;                         ///< why the last test is mistrusted

  [[nodiscard]] bool affords(std::size_t tests) const override { return tests <= tests_left; }

  Result<TrialResult> evaluate(const Settings& with) override {
    asked.push_back("evaluate " + text_of(with));
    TrialResult result;
    if (!worse_quality.empty() && text_of(with).find(worse_quality) != std::string::npos) {
      result.answers_same = false;
      result.answers = {.kind = "evaluation", .difference = 0, .allowed = 0, .text = "top1 is lower"};
    }
    return result;
  }

  Result<TrialResult> look(const Settings& with, const ProgramFacts& seen) override {
    asked.push_back("look " + text_of(with));
    TrialResult result;
    result.facts = seen;
    result.facts.found = {{"seen", text_of(with), 1, 2}};
    result.reason = "looked at " + text_of(with);
    for (const auto& setting : with)
      result.kernels.emplace_back(setting.knob, "in 3 of 9 kernels, as k_" + setting.knob);
    return result;
  }

  std::map<std::string, double> within;  ///< gain within one process by "knob=value"; what is not here is not told

  Result<ScreeningResult> screen_within(const Settings& from, const std::vector<Setting>& wanted) override {
    std::string names;
    ScreeningResult result;
    for (const auto& setting : wanted) {
      names += " " + text_of({setting});
      const auto known = within.find(text_of({setting}));
      Screened screened{.setting = setting, .text = "not told"};
      if (known != within.end()) {
        screened.gain = SpeedUp{known->second, known->second * 0.999, known->second * 1.001, 0.95};
        screened.discard = screened.gain->high < 1.01;
        screened.text = "by blocks";
      }
      result.settings.push_back(std::move(screened));
    }
    asked.push_back("within " + text_of(from) + ":" + names);
    return result;
  }

  Result<TrialResult> screen(const Settings& from, const Settings& to, const NumericsSet& /*numerics*/) override {
    asked.push_back("screen " + text_of(to));
    TrialResult result = about(to);
    if (result.stopped) return result;
    result.promising = time_of(to) <= time_of(from) * 1.03;
    result.times_as_long = time_of(to) / time_of(from);
    result.reason = "one run";
    return result;
  }

  Result<TrialResult> compare(const Settings& from, const Settings& to, const NumericsSet& numerics,
                              bool decide) override {
    judged_by.insert_or_assign(text_of(to), numerics);
    tests_left -= std::min<std::size_t>(1, tests_left);
    asked.push_back((decide ? "decide " : "compare ") + text_of(from) + " | " + text_of(to));
    TrialResult result = about(to);
    if (result.stopped || !result.failure.empty()) return result;
    const double ratio = time_of(from) / time_of(to);
    result.speedup = SpeedUp{ratio, ratio * 0.99, ratio * 1.01, 0.95};
    result.verdict = ratio > 1.01 ? Verdict::better : ratio < 0.99 ? Verdict::worse : Verdict::same;
    if (decide && from.empty() && !disturbed.empty()) {
      result.verdict = Verdict::mistrusted;
      result.reason = disturbed;
    }
    result.times_from_s = {time_of(from)};
    result.times_to_s = {time_of(to)};
    return result;
  }

 private:
  [[nodiscard]] double time_of(const Settings& wanted) const {
    double time = 1;
    for (const auto& setting : wanted) {
      const auto found = settings.find(setting.knob + "=" + setting.value);
      if (found != settings.end()) time *= found->second.factor;
    }
    for (const auto& [pair, factor] : together) {
      const auto plus = pair.find('+');
      const auto on = [&](const std::string& name) {
        return std::any_of(wanted.begin(), wanted.end(), [&](const auto& s) { return s.knob + "=" + s.value == name; });
      };
      if (on(pair.substr(0, plus)) && on(pair.substr(plus + 1))) time *= factor;
    }
    return time;
  }

  TrialResult about(const Settings& to) {
    TrialResult result;
    result.runs = 1;
    result.cost_s = 1;
    if (static_cast<int>(asked.size()) > stop_after) {
      result.stopped = true;
      result.reason = "interrupted";
      return result;
    }
    for (const auto& setting : to) {
      const auto found = settings.find(setting.knob + "=" + setting.value);
      if (found == settings.end()) continue;
      if (!found->second.failure.empty()) result.failure = found->second.failure;
      if (!found->second.same_answers) {
        result.answers_same = false;
        result.answers = {.kind = "losses", .difference = 0.5, .allowed = 0.01, .text = "losses differ by 50 %"};
      }
    }
    return result;
  }
};

}  // namespace warpmark::optimize
