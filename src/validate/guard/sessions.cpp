#include "validate/guard/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "validate/guard/regression.h"

namespace warpmark::validate {
namespace {

using SeriesPoints = std::span<const store::SeriesPoint>;

/// The points of one machine that checks of a branch may be judged by, oldest first.
struct Past {
  std::vector<const store::SeriesPoint*> points;
  std::unordered_set<std::string_view> commits;
};

class Search {
 public:
  Search(const std::set<std::string>& wanted, const CheckRequest& request) : request_(request) {
    for (const auto& id : wanted) {
      // Sessions without a result that passed have no point.
      if (const auto* session = request.kept->session(id); session != nullptr) wanted_.insert(session);
    }
  }

  std::set<std::string> run() {
    for (const auto& [name, series] : request_.kept->series()) {
      if (matches_series(request_.metrics, name.first, name.second)) add(series);
    }
    std::set<std::string> found;
    for (const auto& [session, p] : changes_) {
      // Holm's first bound, as if everything else were certain.
      const double least = *std::min_element(p.begin(), p.end());
      if (least * static_cast<double>(p.size()) <= request_.alpha) found.insert(session->session);
    }
    return found;
  }

 private:
  /// Sessions that began together are part of one another's past.
  void add(const store::PointSeries& series) {
    pasts_.clear();
    const SeriesPoints all = series.points;
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
      while (end < all.size() && all[end].session->session_started == all[begin].session->session_started) {
        const auto& session = *all[end].session;
        if (!session.dirty && session.branch == request_.branch) {
          Past& past = pasts_[session.fingerprint];
          past.points.push_back(&all[end]);
          past.commits.insert(session.commit);
        }
        ++end;
      }
      judge(all.subspan(begin, end - begin));
    }
  }

  void judge(SeriesPoints together) {
    for (std::size_t i = 0; i < together.size(); ++i) {
      const auto* session = together[i].session;
      const bool seen = i > 0 && together[i - 1].session == session;
      if (seen || !wanted_.contains(session)) continue;
      std::vector<double> fresh;
      for (const auto& point : together) {
        if (point.session == session) fresh.push_back(point.median);
      }
      judge(*session, fresh);
    }
  }

  void judge(const store::RunPoint& session, const std::vector<double>& fresh) {
    const auto at = pasts_.find(session.fingerprint);
    if (at == pasts_.end()) return;
    const Past& past = at->second;
    std::vector<double> p;
    // Whether results of the commit itself count depends on how many there are: either way may be the check's.
    const bool own = !session.commit.empty() && past.commits.contains(session.commit);
    for (const bool with_own : {true, false}) {
      if (!with_own && !own) continue;
      if (const auto found = p_of_change(history_of(past, session, with_own), fresh, request_.threshold)) {
        p.push_back(*found);
      }
    }
    if (!p.empty()) changes_[&session].push_back(*std::min_element(p.begin(), p.end()));
  }

  [[nodiscard]] std::vector<double> history_of(const Past& past, const store::RunPoint& session, bool with_own) const {
    const bool of_branch = session.commit.empty() || session.branch == request_.branch;
    std::vector<double> history;
    history.reserve(static_cast<std::size_t>(request_.history));
    for (auto at = past.points.rbegin(); at != past.points.rend(); ++at) {
      if (std::ssize(history) == request_.history) break;
      const auto& before = *(*at)->session;
      if (&before == &session || (!with_own && before.commit == session.commit)) continue;
      if (!of_branch && !before.commit.empty()) continue;  // no ancestor that is known
      history.push_back((*at)->median);
    }
    std::ranges::reverse(history);
    return history;
  }

  const CheckRequest& request_;
  std::unordered_set<const store::RunPoint*> wanted_;
  std::unordered_map<std::string_view, Past> pasts_;
  std::map<const store::RunPoint*, std::vector<double>> changes_;  ///< of each session, the p of its steps
};

std::string sessions(std::size_t count) { return fmt::format("{} session{}", count, count == 1 ? "" : "s"); }

}  // namespace

std::set<std::string> changed_sessions(const std::set<std::string>& wanted, const CheckRequest& request) {
  return Search(wanted, request).run();
}

Status sort_as_one(std::vector<Session>& sessions) {
  std::stable_sort(sessions.begin(), sessions.end(),
                   [](const Session& a, const Session& b) { return a.started < b.started; });
  std::set<std::string> ids;
  for (const auto& session : sessions) {
    if (!ids.insert(session.id).second) {
      return usage_error("session " + session.id + " is given twice", "what is measured once counts once");
    }
    if (session.commit != sessions.front().commit || session.dirty != sessions.front().dirty) {
      return usage_error("the runs are not of one commit: " + sessions.front().id + " and " + session.id,
                         "check one commit at a time");
    }
    if (session.machine.fingerprint != sessions.front().machine.fingerprint) {
      return environment_error("the runs are not of one machine: " + sessions.front().id + " and " + session.id,
                               "check the results of one machine at a time");
    }
  }
  return {};
}

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
