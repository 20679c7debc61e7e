// A whole bisection: is there a difference at all, which commit to ask next, is it the culprit. The world comes in
// through the revisions (what builds and runs a commit), the log (what an interrupted bisection already knows) and the
// clock; docs/validate.md tells the method.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/experiment.h"
#include "model/bisection.h"
#include "validate/guard/bisect.h"

namespace warpmark::validate {

/// Builds and runs the commits of the range.
class Revisions {
 public:
  virtual ~Revisions() = default;
  /// Commit `index`, built at the first call; its runs have one metric. The experiment lives as long as this. Data or
  /// environment error where it cannot be built.
  virtual Result<measure::Experiment*> prepare(std::size_t index) = 0;
};

/// What was measured before, by steps: "range", "probe-<sha>", "confirm-<sha>-<sha>". A bisection is a function of its
/// request and what was measured, so repeating it with a log leads to where it was.
class BisectLog {
 public:
  virtual ~BisectLog() = default;
  /// Samples that are known of this step; later ones are appended to it.
  virtual Result<std::vector<AbSample>> begin(const std::string& step) = 0;
  virtual Status append(const AbSample& sample) = 0;
  /// Why the commit was skipped, if it was.
  virtual Result<std::optional<std::string>> skipped(const std::string& sha) = 0;
  virtual Status skip(const std::string& sha, const std::string& reason) = 0;
};

struct BisectRequest {
  std::vector<Commit> commits;  ///< at least 2: the good one, the candidates in order, the last of them the bad one
  double effect = 0.01;         ///< smallest relative difference that matters
  double alpha = 0.02;          ///< chance that one decision is wrong
  double confidence = 0.95;
  std::int64_t rounds = 200;  ///< most of one decision
  std::int64_t builds = 12;   ///< most, the good and the bad revision included
  std::int64_t warmup_runs = 1;
  std::uint64_t seed = 1;
  double budget_s = 0;        ///< 0 is without limit
  std::vector<double> prior;  ///< of the candidates; empty: all alike
  const std::atomic<bool>* interrupted = nullptr;
  std::function<double()> clock_s;                                           ///< the monotonic clock if empty
  std::function<void(const std::string& step, std::int64_t runs)> progress;  ///< after each run
};

/// `stopped_because` is "interrupted" after Ctrl-C. Errors: of the good or the bad revision, of the log, and of a range
/// whose ratio is undefined.
[[nodiscard]] Result<Bisection> run_bisect(const BisectRequest& request, Revisions& revisions, BisectLog& log);

/// Builds that `run_bisect` is given by default for so many candidates: the halvings, both ends, and 4 to spare.
[[nodiscard]] std::int64_t default_builds(std::size_t candidates);

}  // namespace warpmark::validate
