#include "watch/exporter/stored.h"

#include <time.h>

#include <algorithm>
#include <tuple>

#include "base/files.h"
#include "base/json.h"
#include "model/comparison.h"
#include "model/names.h"
#include "validate/guard/check_history.h"
#include "validate/guard/series.h"

namespace warpmark::watch {
namespace {

constexpr std::int64_t kMostPointsRead = 10'000;

struct StoredNow {
  std::vector<store::RunPoint> points;
  std::size_t left_out = 0;
  std::vector<Family> verdicts;
  std::vector<store::SessionSummary> sessions;
};

using SeriesKey = std::tuple<std::string, std::string, std::string, Mode, std::string, std::string>;

/// The first point of each series, of points that begin with the newest.
std::vector<store::RunPoint> newest_of_each(std::vector<store::RunPoint> points) {
  std::set<SeriesKey> seen;
  std::erase_if(points, [&](const auto& point) {
    return !seen.emplace(point.workload, point.params, point.device, point.mode, point.metric, point.hostname).second;
  });
  return points;
}

Result<StoredNow> read_stored(const std::function<Result<std::unique_ptr<store::Store>>()>& open,
                              StoredVerdicts* verdicts) {
  WM_ASSIGN(const auto store, open());
  StoredNow now;
  // More than are told, so that those left out can be counted.
  WM_ASSIGN(auto points, store->find({.limit = kMostPointsRead}));
  now.points = newest_of_each(std::move(points));
  if (now.points.size() > kMostStoredResults) {
    now.left_out = now.points.size() - kMostStoredResults;
    now.points.resize(kMostStoredResults);
  }
  if (verdicts != nullptr) now.verdicts = verdicts->families(*store, now.points);
  WM_ASSIGN(now.sessions, store->sessions({.limit = 1}));
  return now;
}

std::vector<Family> result_families(const std::vector<store::RunPoint>& points) {
  Family value{"warpmark_result", "Median of the newest result, in the unit of the label.", FamilyType::gauge, {}};
  Family low{"warpmark_result_low", "Lower end of the interval of that median.", FamilyType::gauge, {}};
  Family high{"warpmark_result_high", "Upper end of the interval of that median.", FamilyType::gauge, {}};
  Family passed{"warpmark_result_passed", "1 if it passed, 0 if it is unreliable.", FamilyType::gauge, {}};
  Family when{"warpmark_result_timestamp_seconds",
              "When it was measured, since 1970; time() less this is its age.",
              FamilyType::gauge,
              {}};
  for (const auto& point : points) {
    const Labels labels = result_labels(point);
    value.samples.push_back({labels, point.median});
    passed.samples.push_back({labels, point.outcome == Outcome::passed ? 1.0 : 0.0});
    if (point.interval) {
      low.samples.push_back({labels, point.interval->low});
      high.samples.push_back({labels, point.interval->high});
    }
    if (const auto seconds = unix_seconds(point.started)) when.samples.push_back({labels, *seconds});
  }
  return {std::move(value), std::move(low), std::move(high), std::move(passed), std::move(when)};
}

constexpr std::size_t kMostJudgedSessions = 20;

}  // namespace

std::optional<double> unix_seconds(const std::string& utc) {
  tm parts{};
  const char* end = strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<double>(timegm(&parts));
}

std::vector<Family> stored_families(const std::function<Result<std::unique_ptr<store::Store>>()>& open,
                                    StoredVerdicts* verdicts) {
  auto now = read_stored(open, verdicts);
  std::vector<Family> out = {
      {"warpmark_store_up", "1 if the store of results can be read.", FamilyType::gauge, {{{}, now.ok() ? 1.0 : 0.0}}}};
  if (!now.ok()) return out;
  out.push_back({"warpmark_results_left_out",
                 "Series of results that are left out, as there are more than the limit of a response.",
                 FamilyType::gauge,
                 {{{}, static_cast<double>(now->left_out)}}});
  for (auto& family : result_families(now->points)) out.push_back(std::move(family));
  for (auto& family : now->verdicts) out.push_back(std::move(family));
  Family complete{"warpmark_session_complete",
                  "Of the newest session: 0 while it measures, or if it was interrupted.",
                  FamilyType::gauge,
                  {}};
  Family runs{"warpmark_session_runs", "Results of the newest session so far, by outcome.", FamilyType::gauge, {}};
  Family rounds{
      "warpmark_session_rounds_pending", "Rounds of its cases that are not all measured yet.", FamilyType::gauge, {}};
  for (const auto& session : now->sessions) {
    const Labels labels = {{"session", session.id}, {"host", session.hostname}};
    complete.samples.push_back({labels, session.complete ? 1.0 : 0.0});
    rounds.samples.push_back({labels, static_cast<double>(session.unmerged_rounds)});
    for (const auto& [outcome, count] : session.outcomes) {
      Labels by_outcome = labels;
      by_outcome.emplace_back("outcome", name_of(outcome));
      runs.samples.push_back({by_outcome, static_cast<double>(count)});
    }
  }
  for (auto* family : {&complete, &runs, &rounds}) out.push_back(std::move(*family));
  return out;
}

std::vector<Family> running_families(const std::vector<store::RunningSession>& sessions) {
  Family running{
      "warpmark_run_in_progress", "1 while this session measures; the label has what.", FamilyType::gauge, {}};
  Family share{"warpmark_run_progress_ratio", "Share of its rounds that are measured.", FamilyType::gauge, {}};
  Family left{"warpmark_run_left_seconds", "Time until it is done, an estimate.", FamilyType::gauge, {}};
  for (const auto& session : sessions) {
    const Labels labels = {{"session", session.session}, {"host", session.hostname}};
    Labels with_phase = labels;
    with_phase.emplace_back("phase", session.phase);
    running.samples.push_back({std::move(with_phase), 1});
    if (session.of > 0) {
      share.samples.push_back({labels, static_cast<double>(session.done) / static_cast<double>(session.of)});
    }
    if (session.left_s > 0) left.samples.push_back({labels, session.left_s});
  }
  return {std::move(running), std::move(share), std::move(left)};
}

Labels result_labels(const store::RunPoint& point) {
  return {{"workload", point.workload},  {"params", point.params}, {"device", point.device},
          {"mode", name_of(point.mode)}, {"metric", point.metric}, {"unit", point.unit},
          {"host", point.hostname}};
}

std::vector<Family> StoredVerdicts::families(store::Store& store, const std::vector<store::RunPoint>& reported) {
  std::set<std::string> wanted;
  std::string next;
  for (const auto& point : reported) {  // newest first
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
  for (const auto& point : reported) {
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
  const auto check = validate::check({}, store, {stored->session});
  if (!check.ok()) return found;
  for (const auto& metric : check->metrics) {
    found[{metric.label, metric.metric}] = {name_of(metric.verdict), metric.ratio ? *metric.ratio - 1 : 0,
                                            metric.ratio.has_value()};
  }
  return found;
}

std::vector<Family> heartbeat_families(const std::filesystem::path& folder) {
  Family family{"warpmark_watch_timestamp_seconds",
                "When this warpmark watch wrote its state last, since 1970; it does so every 5 minutes.",
                FamilyType::gauge,
                {}};
  std::error_code code;
  for (const auto& file : std::filesystem::directory_iterator(folder, code)) {
    const auto& path = file.path();
    if (!path.filename().string().starts_with("watch-") || path.extension() != ".json") continue;
    constexpr std::int64_t kLargest = 16 << 20;
    const auto text = read_file(path, kLargest);
    const auto state = text.ok() ? parse_json(*text, path.string()) : Result<Json>(text.error());
    if (!state.ok() || !state->is_object() || state->value("ended", false)) continue;
    const auto wall = state->find("wall_s");
    if (wall == state->end() || !wall->is_number()) continue;
    family.samples.push_back({{{"watch", path.stem().string()}}, wall->get<double>()});
  }
  std::ranges::sort(family.samples, {}, &Sample::labels);
  return {std::move(family)};
}

}  // namespace warpmark::watch
