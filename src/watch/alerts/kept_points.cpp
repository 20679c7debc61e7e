#include "watch/alerts/kept_points.h"

#include <algorithm>

#include "validate/guard/series.h"

namespace warpmark::watch {

Result<KeptPoints> KeptPoints::read(store::Store& store, std::size_t most) {
  KeptPoints kept;
  WM_ASSIGN(const auto cases, store.cases());
  for (const auto& one : cases) {  // a query for each, so that one case at a time is there in full
    store::RunQuery query{.workload = one.workload, .device = one.device, .mode = one.mode, .metric = "*"};
    query.case_params = one.params;
    query.limit = static_cast<std::int64_t>(most);
    WM_ASSIGN(const auto points, store.find(query));
    const auto label = validate::case_label(one.workload, one.params, one.device, one.mode);
    for (auto point = points.rbegin(); point != points.rend(); ++point) {
      if (point->outcome == Outcome::passed) kept.add(label, *point);
    }
    if (kept.count_ >= 2 * most) kept.keep_newest(most);
  }
  kept.keep_newest(most);
  return kept;
}

void KeptPoints::add(const std::string& label, const store::RunPoint& point) {
  sessions_.try_emplace(point.session, point);
  const auto [series, is_new] = series_.try_emplace({label, point.metric});
  if (is_new) series->second.facts = point;
  series->second.points.push_back(kept(point));
  ++count_;
}

void KeptPoints::keep_newest(std::size_t most) {
  if (count_ <= most) return;
  std::vector<std::string_view> starts;
  for (const auto& [name, one] : series_) {
    for (const auto& point : one.points) starts.push_back(point.session->session_started);
  }
  const auto oldest = starts.end() - static_cast<std::ptrdiff_t>(most);
  std::nth_element(starts.begin(), oldest, starts.end());
  count_ = 0;
  for (auto& [name, one] : series_) {
    std::erase_if(one.points, [&](const auto& point) { return point.session->session_started < *oldest; });
    count_ += one.points.size();
  }
}

KeptPoint KeptPoints::kept(const store::RunPoint& point) const {
  return {&sessions_.at(point.session), point.index, point.n, point.median, point.interval};
}

store::RunPoint whole(const store::RunPoint& facts, const KeptPoint& point) {
  store::RunPoint whole = facts;
  const store::RunPoint& session = *point.session;
  whole.session = session.session;
  whole.session_started = whole.started = session.session_started;
  whole.commit = session.commit;
  whole.branch = session.branch;
  whole.dirty = session.dirty;
  whole.hostname = session.hostname;
  whole.fingerprint = session.fingerprint;
  whole.index = point.index;
  whole.n = point.n;
  whole.median = point.median;
  whole.interval = point.interval;
  return whole;
}

}  // namespace warpmark::watch
