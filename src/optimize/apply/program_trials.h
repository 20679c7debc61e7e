// Trials of the search on the real program: in its living process, and by pairs of fresh processes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "optimize/answers.h"
#include "optimize/apply/program_runs.h"
#include "optimize/apply/quality_gate.h"
#include "optimize/apply/recorded_run.h"
#include "optimize/search.h"

namespace warpmark::optimize {

struct TrialOptions {
  RunOptions run;  ///< but for the length of its window
  QualityOptions quality;
  double loss_margin = 0.02;
  bool in_process = true;         ///< settings that can be switched are tested in one process
  std::int64_t max_steps = 0;     ///< that a run makes after its warm-up; 0: not known
  std::int64_t window_steps = 0;  ///< of a fresh process, where the user asked for them; else ...
  double window_s = 0;            ///< ... about so long; 0: 2 s, and the bursts of loader workers
  double effect = 0.01;
  double alpha = 0.05;
  std::int64_t rounds = 12;  ///< most pairs of a test
};

class ProgramTrials final : public Trials {
 public:
  /// `probe` is the first run of the original.
  ProgramTrials(ProgramRuns& runs, TrialOptions options, const ProgramRun& probe, ProgramFacts facts);

  /// Times of a step of the original in its living process; one time of a whole run where there is none.
  [[nodiscard]] Result<std::vector<double>> base_times(const ProgramRun& probe);

  Result<WithinResult> within(const Settings& from, std::span<const Variant> variants, bool decide) override;
  [[nodiscard]] double within_s(const Settings& from, std::span<const Variant> variants) const override;
  Result<TrialResult> compare(const Settings& from, const Variant& to, bool state_checked, bool decide) override;
  Result<TrialResult> evaluate(const Settings& settings) override;
  Result<Recorded> record(const Settings& settings) override;
  [[nodiscard]] double left_s() const override { return runs_.left_s(); }
  [[nodiscard]] double spent_s() const override { return runs_.elapsed_s(); }
  [[nodiscard]] double test_s() const override;

  /// Findings of the recorded original.
  [[nodiscard]] const std::vector<OptimizationFinding>& findings() const { return findings_; }
  /// Evaluations' share of the original's time in the living process.
  [[nodiscard]] double share_left_out() const { return left_out_.share(); }
  /// Of the recorded original, with what recording cost.
  [[nodiscard]] std::optional<double> recorded_step_s() const { return recorded_step_s_; }

 private:
  struct Pairs;
  [[nodiscard]] RunOptions run_of(const Settings& settings) const;
  Status run_pair(Pairs& pairs, std::int64_t round);
  /// The same once more where one that ran before fails: the machine may have disturbed it.
  Result<ProgramRun> run_original(const Settings& from, const RunOptions& how);
  void judge(const ProgramRun& run, const Variant& to, bool state_checked, TrialResult& result) const;
  Status ask_blocks(const Settings& from, std::span<const Variant> variants, std::vector<bool>& skip,
                    WithinResult& result);
  Status ask_check(std::span<const Variant> variants, std::vector<bool>& skip, WithinResult& result);
  /// Whether the process was interrupted or the budget is over; then the result says so.
  bool is_stopped(WithinResult& result) const;
  [[nodiscard]] double step_s(const Settings& settings) const;
  /// By the steps of the tests alone.
  [[nodiscard]] double steps_s(const Settings& from, std::span<const Variant> variants) const;
  /// None where the process ended or the search was stopped. Stacks place findings in the program, and slow it down.
  Result<std::optional<StepRecording>> record_steps(const Settings& settings, std::int64_t steps, bool stacks);

  ProgramRuns& runs_;
  TrialOptions options_;
  QualityGate gate_;
  ProgramFacts facts_;                                  ///< of the original
  std::vector<workers::ProgramReport> originals_;       ///< runs of the original, the longest first
  std::vector<std::pair<std::string, double>> step_s_;  ///< of settings that were timed in the living process
  std::vector<OptimizationFinding> findings_;
  std::optional<double> recorded_step_s_;
  TimeLeftOut left_out_;
  /// Of tests in the living process: by their steps alone, and with evaluations in between, further rounds and
  /// libraries that choose by trials; without compiling.
  double expected_s_ = 0, took_s_ = 0;
  std::int64_t blocks_ = 0;  ///< commands so far; their order alternates
};

}  // namespace warpmark::optimize
