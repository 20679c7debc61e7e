// Is a program under settings still as good? Judged by what the user judges it by: a number that the program or a
// command prints at the end of a whole run, the answers that it writes, or a command that finds them right. Several
// seeds are pairs of the original and the candidate; worse by the margin must be ruled out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/comparison.h"
#include "optimize/apply/program_runs.h"
#include "optimize/knob.h"

namespace warpmark::optimize {

struct QualityVerdict {
  AccuracyOutcome outcome = AccuracyOutcome::accepted;
  std::string text;  ///< a sentence with the numbers
};

struct QualityOptions {
  std::string metric;  ///< "top1"; empty: none
  double margin = 0;
  bool relative = false;                         ///< the margin is a ratio of the original
  bool lower = false;                            ///< lower is better
  std::vector<std::string> command;              ///< prints the metric; empty: the program does
  std::vector<std::vector<std::string>> checks;  ///< must exit with 0
  std::string answers;                           ///< file of answers, which `judge_answers` compares; empty: none
  /// The original's answers and the candidate's.
  std::function<Result<QualityVerdict>(const std::string& base, const std::string& candidate)> judge_answers;
  std::int64_t rounds = 3;  ///< seeds
  double alpha = 0.05;
  std::uint64_t seed = 1;
  [[nodiscard]] bool asked() const { return !metric.empty() || !checks.empty() || !answers.empty(); }
};

class QualityGate {
 public:
  /// `run` says how the program is run otherwise; here it runs to its end.
  QualityGate(ProgramRuns& runs, const RunOptions& run, QualityOptions options);

  [[nodiscard]] bool asked() const { return options_.asked(); }
  /// Data error where the original itself has no such metric or fails.
  [[nodiscard]] Result<QualityVerdict> judge(const Settings& settings);

 private:
  Result<const ProgramRun*> original(std::int64_t round);
  RunOptions run_of(std::int64_t round) const;
  ProgramRuns& runs_;
  RunOptions run_;
  QualityOptions options_;
  std::map<std::int64_t, ProgramRun> originals_;
};

/// The last number that follows the name in what was printed: "top1: 0.76", "top1=0.76", "top1 0.76".
[[nodiscard]] Result<double> printed_number(std::string_view text, std::string_view name);

// Whether the kernels of recorded steps bear a knob out: a second proof that it was in force, beside what the hook
// reads back. Pure.

/// "in 12 of 40 kernels, as NAME", or "in none of 40 kernels"; nothing of a knob that does not show in names of
/// kernels, or where there are none. `kernels`: the different names.
[[nodiscard]] std::optional<std::string> kernels_seen(const Setting& setting, std::span<const std::string> kernels);

}  // namespace warpmark::optimize
