#include "validate/guard/foreign_sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace warpmark::validate {
namespace {

std::string sessions(std::size_t count) { return fmt::format("{} session{}", count, count == 1 ? "" : "s"); }

}  // namespace

ForeignSessions::ForeignSessions(const CommitOrder& ancestors, std::string branch, bool same_branch)
    : ancestors_(ancestors),
      branch_(std::move(branch)),
      known_(ancestors.complete && !ancestors.age.empty()),
      by_time_(!known_ && same_branch) {}

void ForeignSessions::leave(std::vector<store::RunPoint>& points, std::int64_t needed) {
  if (by_time_) return;
  const auto is_foreign = [&](const auto& point) {
    return !point.commit.empty() && !ancestors_.contains(point.commit);
  };
  std::set<std::string> foreign, common;
  for (const auto& point : points) (is_foreign(point) ? foreign : common).insert(point.session);
  if (foreign.empty()) return;
  foreign_ = std::max(foreign_, foreign.size());
  if (static_cast<std::int64_t>(common.size()) < needed) {
    common_ = std::min(common_.value_or(common.size()), common.size());
    return;
  }
  std::erase_if(points, is_foreign);
}

std::string ForeignSessions::text() const {
  if (foreign_ == 0) return {};
  const bool shallow = !ancestors_.complete;
  std::string text =
      known_ ? fmt::format("{} has moved: {} {} newer than the merge base", branch_, sessions(foreign_),
                           foreign_ == 1 ? "is" : "are")
             : fmt::format("Unknown whether the checked commit descends from {} of {}: {}", sessions(foreign_), branch_,
                           shallow ? "this clone is shallow" : "no repository here has the commit");
  if (!common_) return text + "; they are no part of the baseline.";
  const char* remedy = known_    ? "rebase, or measure the merge base"
                       : shallow ? "git fetch --unshallow"
                                 : "check in a clone that has it";
  return text + fmt::format(". {} of {} {} too few to judge by: {}", sessions(*common_),
                            known_ ? "common history" : "known ancestors", *common_ == 1 ? "is" : "are", remedy);
}

std::string ForeignSessions::reason() const {
  if (known_) return branch_ + " has moved since this commit left it";
  return fmt::format("unknown from which sessions of {} this commit descends", branch_);
}

}  // namespace warpmark::validate
