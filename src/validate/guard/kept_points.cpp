#include "validate/guard/kept_points.h"

#include <algorithm>
#include <string_view>

#include "validate/guard/series.h"

namespace warpmark::validate {

Result<KeptPoints> KeptPoints::read(store::Store& store, std::size_t most) {
  KeptPoints kept;
  WM_ASSIGN(kept.table_, store.series());
  for (auto& one : kept.table_.series) {
    const auto& facts = one.facts;
    const auto label = case_label(facts.workload, facts.params, facts.device, facts.mode);
    const auto [place, is_new] = kept.series_.try_emplace({label, facts.metric}, std::move(one));
    if (is_new) continue;
    kept.shared_.insert(label);
    auto& points = place->second.points;
    points.insert(points.end(), one.points.begin(), one.points.end());
    std::ranges::stable_sort(points, {},
                             [](const auto& point) { return std::string_view(point.session->session_started); });
  }
  kept.table_.series.clear();
  for (const auto& [key, session] : kept.table_.sessions) kept.sessions_.emplace(session.session, &session);
  kept.keep_newest(most);
  return kept;
}

void KeptPoints::keep_newest(std::size_t most) {
  std::vector<std::string_view> starts;
  for (const auto& [name, one] : series_) {
    for (const auto& point : one.points) starts.emplace_back(point.session->session_started);
  }
  if (starts.size() <= most) return;
  const auto oldest = starts.end() - static_cast<std::ptrdiff_t>(most);
  std::nth_element(starts.begin(), oldest, starts.end());
  for (auto& [name, one] : series_) {
    std::erase_if(one.points, [&](const auto& point) { return point.session->session_started < *oldest; });
  }
  std::erase_if(series_, [](const auto& entry) { return entry.second.points.empty(); });
}

std::vector<store::RunPoint> KeptPoints::clean_points(const std::string& label, const std::string& branch,
                                                      const std::string& fingerprint) const {
  std::vector<store::RunPoint> points;
  for (auto at = series_.lower_bound({label, ""}); at != series_.end() && at->first.first == label; ++at) {
    const auto& [facts, of_metric] = at->second;
    for (auto point = of_metric.rbegin(); point != of_metric.rend(); ++point) {
      const auto& session = *point->session;
      if (session.dirty || session.branch != branch) continue;
      if (fingerprint.empty() || session.fingerprint == fingerprint) points.push_back(point_of(facts, *point));
    }
  }
  return points;
}

store::RunPoint point_of(const store::RunPoint& facts, const store::SeriesPoint& point) {
  store::RunPoint whole = *point.session;
  whole.started = whole.session_started;
  whole.workload = facts.workload;
  whole.params = facts.params;
  whole.device = facts.device;
  whole.mode = facts.mode;
  whole.metric = facts.metric;
  whole.unit = facts.unit;
  whole.better = facts.better;
  whole.index = point.index;
  whole.n = point.n;
  whole.median = point.median;
  whole.interval = point.interval;
  return whole;
}

}  // namespace warpmark::validate
