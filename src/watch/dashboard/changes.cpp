#include "watch/dashboard/changes.h"

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "model/names.h"
#include "model/trend.h"
#include "validate/guard/series.h"
#include "validate/guard/trend.h"

namespace warpmark::watch {
namespace {

constexpr std::int64_t kPointsOfCase = 100;

std::string key_of(const store::CaseEntry& entry) {
  return entry.workload + '\n' + entry.params + '\n' + entry.device + '\n' + name_of(entry.mode) + '\n' + entry.metric;
}

/// The newest change of each series of the case.
Result<Json> changes_of(store::Store& store, const store::CaseEntry& entry) {
  store::RunQuery wanted{.workload = entry.workload, .device = entry.device, .params = {}, .mode = entry.mode};
  wanted.case_params = entry.params;
  wanted.metric = entry.metric;
  wanted.limit = kPointsOfCase;
  WM_ASSIGN(const auto points, store.find(wanted));
  WM_ASSIGN(const auto trends,
            validate::trends_of_points(store, points, {.metrics = {}, .branch = {}, .last = kPointsOfCase}));
  Json all = Json::array();
  for (const auto& trend : trends) {
    if (trend.changes.empty()) continue;
    const auto& change = trend.changes.back();
    const auto& at = trend.points[static_cast<std::size_t>(change.index)].point;
    const auto& before = trend.points[static_cast<std::size_t>(std::max<std::int64_t>(change.index - 1, 0))].point;
    Json json{{"label", trend.label},
              {"workload", entry.workload},
              {"params", entry.params},
              {"device", entry.device},
              {"mode", name_of(entry.mode)},
              {"metric", trend.metric},
              {"unit", trend.unit},
              {"before", change.before},
              {"after", change.after},
              {"p", change.p},
              {"session", at.session},
              {"started", at.started},
              {"commit", at.commit},
              {"good_commit", before.commit},
              {"ago", static_cast<std::int64_t>(trend.points.size()) - change.index}};
    if (change.worse) json["worse"] = *change.worse;
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace

Result<Json> Changes::answer(store::Store& store, double budget_s) {
  WM_ASSIGN(const auto cases, store.cases());
  const std::lock_guard lock(mutex_);
  const auto until_ns = monotonic_ns() + static_cast<std::int64_t>(budget_s * 1e9);
  std::map<std::string, Known> kept;
  std::size_t seen = 0;
  Json all = Json::array();
  for (const auto& entry : cases) {
    const std::string key = key_of(entry);
    auto known = known_.extract(key);
    const bool fresh = !known.empty() && known.mapped().newest == entry.newest;
    if (!fresh && monotonic_ns() < until_ns) {
      WM_ASSIGN(auto changes, changes_of(store, entry));
      known = {};
      kept.insert_or_assign(key, Known{entry.newest, std::move(changes)});
    } else if (!known.empty()) {
      kept.insert(std::move(known));  // perhaps of before, until its turn comes
    }
    const auto found = kept.find(key);
    if (found == kept.end()) continue;
    if (found->second.newest == entry.newest) ++seen;
    for (const auto& change : found->second.changes) all.push_back(change);
  }
  known_ = std::move(kept);
  std::stable_sort(all.begin(), all.end(), [](const Json& a, const Json& b) { return a["started"] > b["started"]; });
  return Json{{"schema", "warpmark.changes/1"}, {"cases", cases.size()}, {"seen", seen}, {"changes", std::move(all)}};
}

}  // namespace warpmark::watch
