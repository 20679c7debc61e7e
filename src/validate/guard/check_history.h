// Sets results against what the store knows of a branch: finds the baselines, tells why there are none, and leaves the
// verdicts to validate/regression.h.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/check.h"
#include "store/store.h"
#include "validate/guard/series.h"

namespace warpmark::validate {

struct CheckOptions {
  std::string branch = "main";
  std::string metrics;  ///< glob, see matches_series; empty for all
  double threshold = 0.05;
  double alpha = 0.05;
  std::int64_t history = 100;        ///< sessions of the baseline at most
  CommitOrder ancestors;             ///< the checked commit and all that it descends from; empty: nothing is known
  const KeptPoints* kept = nullptr;  ///< what the store holds, where it was read before
};

/// `sessions` are the results to check, of one machine and commit. Baselines are results of the branch that passed,
/// without uncommitted changes, of commits that the checked one is known to descend from; of its own branch, where that
/// is not known, older than the sessions. Where too few of those are stored, the others are shown and decide nothing.
/// Environment error that says what differs if the branch has a history on other machines only; usage error if nothing
/// is there to check.
[[nodiscard]] Result<Check> check_against_history(store::Store& store, const std::vector<Session>& sessions,
                                                  const CheckOptions& options);

}  // namespace warpmark::validate
