#include "watch/exporter/verdicts.h"

#include "model/comparison.h"
#include "model/names.h"
#include "validate/guard/check_history.h"
#include "validate/guard/series.h"

namespace warpmark::watch {
namespace {

constexpr std::size_t kMostJudgedSessions = 20;

}  // namespace

Labels result_labels(const store::RunPoint& point) {
  return {{"workload", point.workload},  {"params", point.params}, {"device", point.device},
          {"mode", name_of(point.mode)}, {"metric", point.metric}, {"unit", point.unit},
          {"host", point.hostname}};
}

std::vector<Family> StoredVerdicts::families(store::Store& store, const std::vector<store::RunPoint>& told) {
  std::set<std::string> wanted;
  std::string next;
  for (const auto& point : told) {  // newest first
    if (wanted.size() >= kMostJudgedSessions && !wanted.contains(point.session)) continue;
    if (wanted.insert(point.session).second && next.empty() && !sessions_.contains(point.session)) next = point.session;
  }
  std::erase_if(sessions_, [&](const auto& entry) { return !wanted.contains(entry.first); });
  if (!next.empty()) {
    if (auto judged = judge(store, next)) {
      sessions_[next] = std::move(*judged);
      ++judged_;
    }
  }
  Family verdicts{"warpmark_result_verdict",
                  "1 for the verdict of this result against the history of branch main.",
                  FamilyType::gauge,
                  {}};
  Family changes{"warpmark_result_change_ratio",
                 "How far this result lies from the level of that history, a ratio less 1.",
                 FamilyType::gauge,
                 {}};
  for (const auto& point : told) {
    const auto session = sessions_.find(point.session);
    if (session == sessions_.end()) continue;
    const auto label = validate::case_label(point.workload, point.params, point.device, point.mode);
    const auto judged = session->second.find({label, point.metric});
    if (judged == session->second.end()) continue;
    Labels labels = result_labels(point);
    if (judged->second.has_change) changes.samples.push_back({labels, judged->second.change});
    labels.emplace_back("verdict", judged->second.verdict);
    verdicts.samples.push_back({std::move(labels), 1});
  }
  return {std::move(verdicts), std::move(changes)};
}

/// Nothing while it measures still, as it is judged when it is whole; empty for one without a history.
std::optional<StoredVerdicts::BySeries> StoredVerdicts::judge(store::Store& store, const std::string& session) {
  BySeries found;
  const auto stored = store.load(session);
  if (!stored.ok() || !stored->session.complete) return std::nullopt;
  const auto check = validate::check_against_history(store, {stored->session}, {});
  if (!check.ok()) return found;
  for (const auto& metric : check->metrics) {
    found[{metric.label, metric.metric}] = {name_of(metric.verdict), metric.ratio ? *metric.ratio - 1 : 0,
                                            metric.ratio.has_value()};
  }
  return found;
}

}  // namespace warpmark::watch
