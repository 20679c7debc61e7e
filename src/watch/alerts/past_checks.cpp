#include "watch/alerts/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/untrusted/input.h"
#include "model/names.h"
#include "validate/guard/check_history.h"
#include "validate/guard/series.h"
#include "validate/guard/sessions.h"
#include "watch/exporter/stored.h"

namespace warpmark::watch {
namespace {

validate::CheckRequest request_of(const AlertRule& rule, const validate::KeptPoints* kept) {
  return {.branch = rule.baseline,
          .metrics = rule.select == "*" ? "" : rule.select,
          .threshold = rule.threshold,
          .kept = kept};
}

bool waits_for(const AlertRule& rule, const std::string& verdict) {
  return std::ranges::find(rule.verdicts, verdict) != rule.verdicts.end();
}

/// Whether the rule waits for differences only, so that sessions without one need no check.
bool waits_for_differences(const AlertRule& rule) {
  return std::ranges::all_of(rule.verdicts, [](const auto& verdict) {
    return verdict == name_of(Verdict::worse) || verdict == name_of(Verdict::better) ||
           verdict == name_of(Verdict::different);
  });
}

std::string what_of(const MetricCheck& metric, const Check& check) {
  const std::string verdict = name_of(metric.verdict);
  std::string what = fmt::format("{} than {}", verdict, check.branch);
  if (metric.verdict == Verdict::inconclusive || metric.verdict == Verdict::unreliable) {
    what = verdict + (metric.reason.empty() ? "" : ": " + metric.reason);
  }
  if (metric.ratio) what += fmt::format(" ({:+.1f} %)", 100 * (*metric.ratio - 1));
  return what + fmt::format(", session {} of {}", check.sessions.front(), check.started);
}

}  // namespace

Labels series_labels(const std::string& label, const std::string& metric) {
  return {{"benchmark", valid_utf8(label)}, {"metric", valid_utf8(metric)}};
}

Status PastChecks::refresh(store::Store& store, const AlertRule& rule, const validate::KeptPoints& kept,
                           const std::vector<store::SessionSummary>& sessions, const HistoryWanted& wanted) {
  const bool differences = waits_for_differences(rule);
  std::set<std::string> fresh;
  std::map<std::string, double> started_s;
  for (const auto& session : sessions) {
    const double at_s = unix_seconds(session.started).value_or(0);
    if (!session.complete || at_s < wanted.since_s) continue;
    started_s[session.id] = at_s;
    if (!started_s_.contains(session.id)) fresh.insert(session.id);
  }
  started_s_ = std::move(started_s);
  std::erase_if(wanted_, [&](const auto& entry) { return !started_s_.contains(entry.first); });
  const auto changed = differences ? validate::changed_sessions(fresh, request_of(rule, &kept)) : fresh;
  entries_.clear();
  add_measured(rule, kept);
  for (const auto& session : sessions) {
    if (wanted.interrupted != nullptr && wanted.interrupted->load()) return environment_error("interrupted");
    if (!started_s_.contains(session.id)) continue;
    if (changed.contains(session.id)) {
      WM_ASSIGN(wanted_[session.id], check(store, rule, session.id, session.hostname, differences ? &kept : nullptr));
    }
    const auto passed = session.outcomes.find(Outcome::passed);
    const bool all_passed = session.outcomes.size() == (passed == session.outcomes.end() ? 0U : 1U);
    if (!all_passed) WM_TRY(add_failed(store, session));
    const auto found = wanted_.find(session.id);
    if (found == wanted_.end()) continue;
    for (const auto& [key, metric] : found->second) add(key, started_s_[session.id], &metric);
  }
  for (auto& [key, list] : entries_) std::ranges::stable_sort(list, {}, &Entry::started_s);
  return {};
}

/// A session without a baseline has no verdict; that is no fault.
Result<PastChecks::Verdicts> PastChecks::check(store::Store& store, const AlertRule& rule, const std::string& id,
                                               const std::string& host, const validate::KeptPoints* kept) {
  Verdicts found;
  WM_ASSIGN(const auto stored, store.load(id));
  const auto check = validate::check(request_of(rule, kept), store, {stored.session});
  if (!check.ok()) return found;
  for (const auto& metric : check->metrics) {
    if (!waits_for(rule, name_of(metric.verdict))) continue;
    Metric& one = found[{metric.label, metric.metric, host}];
    one.labels = series_labels(metric.label, metric.metric);
    one.labels.emplace_back("host", valid_utf8(host));
    if (metric.ratio) one.change = *metric.ratio - 1;
    one.what = what_of(metric, *check);
  }
  return found;
}

/// The newest of a moment stays.
void PastChecks::add(const Key& key, double started_s, const Metric* wanted) {
  entries_[key].push_back({started_s, wanted});
}

/// Every result has a verdict; which one matters only where the rule waits for it.
void PastChecks::add_measured(const AlertRule& rule, const validate::KeptPoints& kept) {
  const bool all = rule.select == "*";
  std::map<const store::RunPoint*, double> judged;
  for (const auto& [id, at_s] : started_s_) {
    if (const auto* session = kept.session(id); session != nullptr) judged[session] = at_s;
  }
  for (const auto& [name, series] : kept.series()) {
    if (!all && !validate::matches_series(rule.select, name.first, name.second)) continue;
    std::map<std::string_view, std::vector<Entry>*> by_host;
    for (const auto& point : series.points) {
      const auto at = judged.find(point.session);
      if (at == judged.end()) continue;
      auto*& entries = by_host[point.session->hostname];
      if (entries == nullptr) entries = &entries_[{name.first, name.second, point.session->hostname}];
      entries->push_back({at->second, nullptr});
    }
  }
}

/// A run that failed has no result: what was said of its metrics before holds no more.
Status PastChecks::add_failed(store::Store& store, const store::SessionSummary& session) {
  std::int64_t all = 0;
  for (const auto& [outcome, count] : session.outcomes) all += count;
  WM_ASSIGN(const auto runs, store.runs({.session = session.id, .limit = all}));
  for (const auto& run : runs) {
    if (run.outcome == Outcome::passed) continue;
    const auto label = validate::case_label(run.workload, run.params, run.device, run.mode);
    for (auto at = entries_.lower_bound({label, "", ""}); at != entries_.end() && std::get<0>(at->first) == label;
         ++at) {
      if (std::get<2>(at->first) == session.hostname) at->second.push_back({started_s_[session.id], nullptr});
    }
  }
  return {};
}

Evaluation PastChecks::evaluate(const AlertRule& rule, double at_s) const {
  Evaluation found{.rule = rule.name};
  for (const auto& [key, list] : entries_) {
    const auto after = std::ranges::upper_bound(list, at_s, {}, &Entry::started_s);
    if (after == list.begin()) continue;
    const Entry& newest = *std::prev(after);
    if (newest.wanted == nullptr || at_s - newest.started_s > rule.forget_s) continue;
    const Metric& metric = *newest.wanted;
    if (found.active.size() < kMostAlertsOfRule) {
      found.active.push_back({metric.labels, metric.change, metric.change ? "ratio" : "", metric.what});
    } else {
      ++found.left_out;
    }
  }
  return found;
}

std::vector<double> PastChecks::moments() const {
  std::vector<double> found;
  for (const auto& [id, at_s] : started_s_) found.push_back(at_s);
  return found;
}

}  // namespace warpmark::watch
