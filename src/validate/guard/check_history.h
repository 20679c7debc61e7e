// Sets results against what the store knows of a branch: finds the baselines, tells why there are none, and leaves the
// verdicts to validate/regression.h.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/check.h"
#include "model/fields/options.h"
#include "store/store.h"
#include "validate/guard/series.h"

namespace warpmark::validate {

struct CheckRequest {
  std::string branch = "main";
  std::string metrics;  ///< glob, see matches_series; empty for all
  double threshold = 0.05;
  double alpha = 0.05;
  std::int64_t history = 100;        ///< sessions of the baseline at most
  CommitOrder ancestors;             ///< the checked commit and all that it descends from; empty: nothing is known
  const KeptPoints* kept = nullptr;  ///< what the store holds, where it was read before
};

inline constexpr OptionSpec kCheckOptions[] = {
    {"--baseline", "BRANCH|FILE", "branch whose history is the baseline, or a file of results",
     to<&CheckRequest::branch>},
    {"--threshold", "RATIO", "smallest change for the worse that counts", to<&CheckRequest::threshold>},
    {"--metrics", "GLOB", "only these: a pattern for a metric, or for \"benchmark metric\"", to<&CheckRequest::metrics>,
     "<metrics>"},
};
inline constexpr OptionSpec kCheckStatistics[] = {
    {"--alpha", "P", "chance of calling any unchanged metric worse or better", to<&CheckRequest::alpha>},
    {"--history", "N", "newest sessions of the baseline to use", to<&CheckRequest::history>.within({1, 10'000})},
};

/// `sessions` are the results to check. Baselines are results of the branch that passed, without uncommitted changes,
/// of commits that the checked one is known to descend from; of its own branch, where that is not known, older than the
/// sessions. Where too few of those are stored, the others are shown and decide nothing. Usage error if nothing is
/// there to check, for a session that is given twice and for sessions of several commits; environment error for
/// sessions of several machines, and, saying what differs, if the branch has a history on other machines only.
[[nodiscard]] Result<Check> check(const CheckRequest& request, store::Store& store, std::vector<Session> sessions);

}  // namespace warpmark::validate
