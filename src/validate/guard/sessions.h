// Sessions next to a history: those of other tools and machines, and those that changed.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/queries.h"
#include "validate/guard/check_history.h"
#include "validate/guard/series.h"

namespace warpmark::validate {

/// Those of `wanted` that check may call better, worse or different in some metric, judged by the kept
/// points alone: where it does, the session is among them. `request.kept` is needed.
[[nodiscard]] std::set<std::string> changed_sessions(const std::set<std::string>& wanted, const CheckRequest& request);

/// Oldest first. An error where they are not of one commit and one machine, as of check.
[[nodiscard]] Status sort_as_one(std::vector<Session>& sessions);

class ForeignSessions {
 public:
  /// `ancestors` outlives this. Where it knows too little, the sessions of `same_branch` count by their time.
  ForeignSessions(const CommitOrder& ancestors, std::string branch, bool same_branch);

  /// Removes the points of foreign sessions, unless fewer sessions than `needed` are left.
  void leave(std::vector<store::RunPoint>& points, std::int64_t needed);

  /// Whether too few sessions are left.
  [[nodiscard]] bool decides_nothing() const { return common_.has_value(); }
  /// How many there are and what to do; empty if there are none.
  [[nodiscard]] std::string text() const;
  /// Why a metric that is compared with foreign sessions has no verdict.
  [[nodiscard]] std::string reason() const;

 private:
  const CommitOrder& ancestors_;
  std::string branch_;
  bool known_;  ///< all ancestors are
  bool by_time_;
  std::size_t foreign_ = 0;
  std::optional<std::size_t> common_;  ///< sessions of ancestors, where they are too few
};

}  // namespace warpmark::validate
