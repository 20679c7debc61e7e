// Trials of the search on the real program: screening runs, and A/B tests by validate::run_ab.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "optimize/answers.h"
#include "optimize/apply/program_runs.h"
#include "optimize/apply/quality_gate.h"
#include "optimize/search.h"

namespace warpmark::optimize {

struct TrialOptions {
  RunOptions run;
  bool recording_tells = false;  ///< of the original it did: recorded again after each kept step
  RunOptions last_run;           ///< of the last test: longer, so that what comes late is seen
  AnswerOptions answers;
  QualityOptions quality;
  bool screens_within = true;   ///< knobs that can be switched are screened within one process
  std::int64_t most_steps = 0;  ///< that a run makes after its warm-up; 0: not known
  double effect = 0.01;
  double alpha = 0.05;
  std::int64_t rounds = 12;  ///< at most, of an A/B test
  std::uint64_t seed = 1;
};

class ProgramTrials final : public Trials {
 public:
  /// `baselines` are the repeated runs of the original: the yardstick of answers, and the noise of times.
  ProgramTrials(ProgramRuns& runs, TrialOptions options, std::vector<ProgramRun> baselines);

  Result<TrialResult> screen(const Settings& from, const Settings& to, const NumericsSet& numerics) override;
  Result<ScreeningResult> screen_within(const Settings& from, const std::vector<Setting>& settings) override;
  Result<TrialResult> compare(const Settings& from, const Settings& to, const NumericsSet& numerics,
                              bool decide) override;
  /// On a GPU: a run that waits for it after each phase, and a recorded one.
  Result<TrialResult> look(const Settings& settings, const ProgramFacts& seen) override;
  Result<TrialResult> evaluate(const Settings& settings) override;
  [[nodiscard]] bool affords(std::size_t tests) const override;

 private:
  class Arm;
  /// `first_alone`: one run with the knob goes before the rounds.
  void expect_rounds(const Settings& from, const Settings& to, const RunOptions& how, bool first_alone);
  void judge(const ProgramRun& run, const NumericsSet& numerics, TrialResult& result) const;
  /// Of the runs so far; empty where there were none.
  [[nodiscard]] std::span<const double> known_times(const Settings& settings) const;
  /// By which one run differs from another, as far as so many tell.
  [[nodiscard]] double spread_among(std::span<const double> times) const;
  void remember(const Settings& settings, double time_s);

  ProgramRuns& runs_;
  TrialOptions options_;
  QualityGate gate_;
  std::vector<workers::ProgramReport> baselines_;
  double step_s_ = 0;  ///< of the original
  double spread_ = 0;  ///< standard deviation of the logarithm of repeated times
  std::vector<std::pair<std::string, std::vector<double>>> times_;
  std::uint64_t tests_ = 0;
  std::optional<std::pair<Settings, Settings>> expected_;  ///< rounds that were expected with the first look at them
};

/// How many runs like this one may start at once: no more than wanted, than cores, and than fit into four
/// fifths of the GPU's memory and of `available_bytes` of the host's; even. 1 for programs of several ranks.
[[nodiscard]] int most_together(const ProgramRun& baseline, int wanted, double available_bytes, int cpus);
/// Whether a gain of `effect` is possible after one run that took so many times as long as what is known, where
/// repeated runs differ by `spread` (standard deviation of the logarithm): within three of it, and 3 % at least.
[[nodiscard]] bool may_gain(double times_as_long, double spread, double effect);

/// Rounds of the sequential test below which nothing can be proven.
[[nodiscard]] std::int64_t fewest_rounds(double alpha);

/// A run in which knobs are switched in turns, as `run` but for that, and with time for it; `step_s`: of one step.
[[nodiscard]] RunOptions screening_run(RunOptions run, workers::ScreeningPlan plan, double step_s);

/// Standard deviation of the logarithms.
[[nodiscard]] double log_spread(std::span<const double> times);

}  // namespace warpmark::optimize
