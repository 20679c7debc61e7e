#include "watch/dashboard/changes.h"

#include <algorithm>
#include <functional>

#include "base/clock.h"
#include "base/json.h"
#include "model/fields/fields.h"
#include "model/names.h"
#include "model/trend.h"
#include "validate/guard/series.h"
#include "validate/guard/trend.h"
#include "watch/dashboard/answers.h"

namespace warpmark::watch {
namespace {

constexpr std::int64_t kPointsOfCase = 100;

std::string key_of(const store::CaseEntry& entry) {
  return entry.workload + '\n' + entry.params + '\n' + entry.device + '\n' + name_of(entry.mode) + '\n' + entry.metric;
}

/// The newest change of each series of the case.
Result<std::vector<ChangeRow>> changes_of(store::Store& store, const store::CaseEntry& entry) {
  store::RunQuery wanted{.workload = entry.workload, .device = entry.device, .params = {}, .mode = entry.mode};
  wanted.case_params = entry.params;
  wanted.metric = entry.metric;
  wanted.limit = kPointsOfCase;
  WM_ASSIGN(const auto points, store.find(wanted));
  WM_ASSIGN(const auto trends,
            validate::trends_of_points(store, points, {.metrics = {}, .branch = {}, .last = kPointsOfCase}));
  std::vector<ChangeRow> all;
  for (const auto& trend : trends) {
    if (trend.changes.empty()) continue;
    const auto& change = trend.changes.back();
    const auto& at = trend.points[static_cast<std::size_t>(change.index)].point;
    all.push_back({.of = entry,
                   .label = trend.label,
                   .metric = trend.metric,
                   .unit = trend.unit,
                   .change = level_change(trend, change),
                   .session = at.session,
                   .started = at.started,
                   .commit = at.commit,
                   .ago = std::ssize(trend.points) - change.index});
  }
  return all;
}

}  // namespace

Result<Json> Changes::answer(store::Store& store, double budget_s) {
  WM_ASSIGN(const auto cases, store.cases());
  const std::lock_guard lock(mutex_);
  const auto until_ns = monotonic_ns() + static_cast<std::int64_t>(budget_s * 1e9);
  std::map<std::string, Known> kept;
  ChangesPage page{.cases = std::ssize(cases)};
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
    if (found->second.newest == entry.newest) ++page.seen;
    page.changes.insert(page.changes.end(), found->second.changes.begin(), found->second.changes.end());
  }
  known_ = std::move(kept);
  std::ranges::stable_sort(page.changes, std::greater(), &ChangeRow::started);
  return write(kChangesPage, page);
}

}  // namespace warpmark::watch
