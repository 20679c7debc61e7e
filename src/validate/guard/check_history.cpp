#include "validate/guard/check_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "model/auxiliary.h"
#include "model/names.h"
#include "model/run_query.h"
#include "validate/commands/command_experiment.h"
#include "validate/compare/environment_guard.h"
#include "validate/guard/regression.h"
#include "validate/guard/sessions.h"

namespace warpmark::validate {
namespace {

constexpr std::size_t kEnvironments = 20;  // newest sessions whose environment is looked at
constexpr std::int64_t kMetricsOfRun = 50;

class HistoryCheck {
 public:
  HistoryCheck(store::Store& store, const std::vector<Session>& sessions, const CheckRequest& request)
      : store_(store),
        sessions_(sessions),
        request_(request),
        foreign_(request.ancestors, request.branch,
                 sessions.back().commit.empty() || sessions.back().branch == request.branch) {}

  Result<Check> run() {
    describe();
    WM_TRY(known_machine());
    for (const auto& session : sessions_) {
      for (const Run& run : session.runs) {
        if (std::none_of(cases_.begin(), cases_.end(), [&](const Run* known) { return same_case(*known, run); })) {
          cases_.push_back(&run);
        }
      }
    }
    for (const Run* run : cases_) WM_TRY(add_case(*run));
    if (check_.metrics.empty()) {
      return usage_error("nothing to check: " + (request_.metrics.empty() ? "the session has no results"
                                                                          : "no metric matches " + request_.metrics),
                         "warpmark history show last");
    }
    WM_TRY(some_baseline_or_why_not());
    judge_check(check_.metrics,
                {.threshold = request_.threshold, .alpha = request_.alpha, .most_history = request_.history});
    WM_TRY(compare_environments());
    warn_of_foreign();
    if (!other_series_.empty()) report_series();
    WM_TRY(name_branches());
    advise();
    return std::move(check_);
  }

 private:
  [[nodiscard]] const Session& newest() const { return sessions_.back(); }

  void describe() {
    check_.branch = request_.branch;
    check_.threshold = request_.threshold;
    check_.alpha = request_.alpha;
    for (const auto& session : sessions_) check_.sessions.push_back(session.id);
    check_.started = newest().started;
    check_.commit = newest().commit;
    check_.commit_branch = newest().branch;
    check_.dirty = newest().dirty;
    check_.machine = newest().machine;
    check_.build = newest().build;
  }

  /// Known ancestors count whenever they were measured; what nobody can place counts if it is older.
  [[nodiscard]] bool is_checked(const store::RunPoint& point) const {
    const bool later = point.session_started > sessions_.front().started;
    return (later && !request_.ancestors.contains(point.commit)) ||
           std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& item) { return item.id == point.session; });
  }

  /// Verdicts against sessions that the checked commit does not descend from, or may not, are none.
  void warn_of_foreign() {
    check_.moved = foreign_.text();
    if (!foreign_.decides_nothing()) return;
    for (auto& metric : check_.metrics) {
      if (metric.verdict != Verdict::worse && metric.verdict != Verdict::better && metric.verdict != Verdict::same)
        continue;
      metric.verdict = Verdict::inconclusive;
      metric.reason = foreign_.reason();
    }
  }

  /// Points of the case on the branch, newest first; of any machine if `fingerprint` is empty.
  Result<std::vector<store::RunPoint>> points_of(const Run& run, const std::string& fingerprint) {
    WM_ASSIGN(auto points, stored_points(run, fingerprint));
    const std::string params = to_text(run.params);
    std::erase_if(points, [&](const auto& point) { return point.params != params || is_checked(point); });
    sort_by_commits(points, request_.ancestors);
    leave_own(points);
    foreign_.leave(points, history_needed(static_cast<std::int64_t>(sessions_.size())));
    return points;
  }

  Result<std::vector<store::RunPoint>> stored_points(const Run& run, const std::string& fingerprint) {
    if (request_.kept != nullptr && !request_.kept->is_shared(case_label(run))) {
      return request_.kept->clean_points(case_label(run), request_.branch, fingerprint);
    }
    store::RunQuery query{.workload = run.workload,
                          .device = run.device,
                          .params = {},
                          .mode = run.mode,
                          .metric = "*",
                          .fingerprint = fingerprint,
                          .commit = {},
                          .branch = request_.branch,
                          .dirty = false,
                          .limit = (request_.history + 1) * kMetricsOfRun};
    for (const auto& [name, value] : run.params.items()) query.params.emplace_back(name, to_text(value));
    return store_.find(query);
  }

  /// A commit is not its own baseline: one that failed would pass by being measured again, as its first sessions begin
  /// a new level. It is one where it was measured as often as a baseline needs, or where all there is is too little.
  void leave_own(std::vector<store::RunPoint>& points) const {
    const std::string& commit = newest().commit;
    if (commit.empty() || newest().dirty) return;
    std::set<std::string> own, all;
    for (const auto& point : points) {
      all.insert(point.session);
      if (point.commit == commit) own.insert(point.session);
    }
    const auto needed = history_needed(static_cast<std::int64_t>(sessions_.size()));
    const auto enough = [&](const auto& sessions) { return static_cast<std::int64_t>(sessions.size()) >= needed; };
    if (enough(own) || !enough(all)) return;
    std::erase_if(points, [&](const auto& point) { return point.commit == commit; });
  }

  Status add_case(const Run& run) {
    WM_ASSIGN(const auto points, points_of(run, newest().machine.fingerprint));
    auto& measured = measured_.emplace_back();
    for (const auto& point : points) {
      const std::pair place{point.session, point.index};
      if (point.outcome != Outcome::passed || measured.size() == kEnvironments) continue;
      if (std::ranges::find(measured, place) == measured.end()) measured.push_back(place);
    }
    const auto baselines = series_of(points);
    const std::string label = case_label(run);
    std::set<std::string> here;
    for (const auto& session : sessions_) {
      for (const Run& other : session.runs) {
        if (!same_case(other, run)) continue;
        for (const auto& metric : other.metrics) here.insert(metric.id);
      }
    }
    std::vector<std::string> ids;  // in the order of the run
    for (const auto& metric : run.metrics) ids.push_back(metric.id);
    for (const auto& series : baselines) {
      if (here.contains(series.metric)) continue;
      if (run.metrics.empty()) {
        ids.push_back(series.metric);  // it could not be measured today
      } else if (matches_series(request_.metrics, label, series.metric) && !is_auxiliary(series.metric)) {
        check_.missing.push_back(label + " " + series.metric);
      }
    }
    if (request_.metrics.empty()) {
      // What is measured beside a command nobody asked to be guarded; --metrics does.
      std::erase_if(ids, [](const auto& id) { return is_auxiliary(id); });
      leave_ratios(ids);
    }
    for (const auto& id : ids) {
      if (matches_series(request_.metrics, label, id)) add_metric(run, label, id, baselines);
    }
    if (ids.empty() && request_.metrics.empty()) add_metric(run, label, "result", baselines);
    return {};
  }

  /// Of a metric that was measured beside a reference only the ratio is judged: the rest is the machine's noise.
  static void leave_ratios(std::vector<std::string>& ids) {
    std::set<std::string, std::less<>> covered;
    for (const auto& id : ids) covered.insert(std::string(metric_of_ratio(id)));
    std::erase_if(ids, [&](const auto& id) { return covered.contains(id); });
  }

  void add_metric(const Run& run, const std::string& label, const std::string& id,
                  const std::vector<Series>& baselines) {
    MetricCheck metric;
    metric.label = label;
    metric.metric = id;
    for (const auto& series : baselines) {
      if (series.metric != id) continue;
      metric.unit = series.unit;
      metric.better = series.better;
      for (const auto& point : series.points) metric.baseline.push_back(to_history_point(point));
    }
    for (const auto& session : sessions_) {
      for (const Run& other : session.runs) {
        if (same_case(other, run)) add_result(session, other, metric);
      }
    }
    check_.metrics.push_back(std::move(metric));
    runs_.push_back(&run);
  }

  static void add_result(const Session& session, const Run& run, MetricCheck& metric) {
    if (run.outcome == Outcome::unreliable) {
      metric.verdict = Verdict::unreliable;
      metric.reason = run.reason;
    } else if (run.outcome != Outcome::passed) {
      metric.reason = fmt::format("{}: {}", name_of(run.outcome), run.reason);
      return;
    }
    for (const auto& found : run.metrics) {
      if (found.id != metric.metric || found.summary.n == 0) continue;
      metric.unit = found.unit;
      metric.better = found.better;
      metric.current.push_back(to_history_point(session, found));
    }
  }

  /// Two machines of which the same is unknown are not one machine.
  [[nodiscard]] Status known_machine() const {
    const Machine& machine = newest().machine;
    const auto unknown = unknown_facts(machine);
    if (unknown.empty()) return {};
    return environment_error(
        fmt::format("the machine of {} is unknown: {}", newest().id, join(unknown, ", ")),
        "only results of one machine can be compared; of imported ones `history import --machine NAME` says which");
  }

  /// Where the noise between sessions is what leaves a metric undecided, more of the same is the dearest way out.
  void advise() {
    if (foreign_.decides_nothing()) return;
    bool noisy = false, command = false, auxiliary = false, wall_time = false;
    for (std::size_t i = 0; i < check_.metrics.size(); ++i) {
      const MetricCheck& metric = check_.metrics[i];
      if (metric.verdict != Verdict::inconclusive || !(metric.noise.value_or(0) > 0)) continue;
      const auto subject = metric_of_ratio(metric.metric);
      noisy = true;
      command = command || runs_[i]->workload == "command";
      auxiliary = auxiliary || !subject.empty();
      wall_time = wall_time || (subject.empty() ? metric.metric : subject) == "time";
    }
    if (!noisy) {
      if (check_.advice.empty()) check_.advice = how_to_complete_history(check_, newest().command);
      return;
    }
    std::vector<std::string> ways;
    if (command && !auxiliary) {
      ways.emplace_back(
          "measure interleaved with a revision (--reference REV), which cancels what the machine does to both");
    }
    if (command && wall_time) {
      ways.emplace_back("judge CPU time (metrics: [{name: cpu_time}]), which leaves out waiting for a core");
    }
    const std::string more = command ? "measure more (--rounds, --sessions)" : "measure more sessions";
    ways.push_back(more + ", or let smaller changes pass (--threshold)");
    check_.advice = "To decide in spite of the noise: " + join(ways, "; or ") + ".";
  }

  [[nodiscard]] bool any_baseline() const {
    return std::any_of(check_.metrics.begin(), check_.metrics.end(),
                       [](const auto& item) { return !item.baseline.empty(); });
  }

  /// Whether the branch has a session of what is checked, of any commit and machine.
  Result<bool> knows_a_case() {
    for (const Run* run : cases_) {
      WM_ASSIGN(const auto points, stored_points(*run, ""));
      const auto is_of_run = [&](const auto& one) { return one.params == to_text(run->params) && !is_checked(one); };
      if (std::ranges::any_of(points, is_of_run)) return true;
    }
    return false;
  }

  /// Where the branch has no result at all its name may be the mistake, else that of the benchmark.
  Status name_branches() {
    if (any_baseline()) return {};
    WM_ASSIGN(const auto sessions, store_.sessions({.hostname = {}, .fingerprint = {}, .commit = {}, .limit = 10'000}));
    std::map<std::string, std::int64_t> counts;
    bool others = false;  // of the branch, than those that are checked
    for (const auto& session : sessions) {
      if (!session.branch.empty()) ++counts[session.branch];
      others = others || (session.branch == request_.branch &&
                          std::ranges::find(check_.sessions, session.id) == check_.sessions.end());
    }
    WM_ASSIGN(const bool known, knows_a_case());
    if (counts.contains(request_.branch) && (!others || known)) return {};
    const std::string said =
        others ? request_.branch + " has no session of this benchmark: a changed command or name begins a new series"
               : no_such_branch(request_.branch, counts);
    bool reason = false;
    for (auto& metric : check_.metrics) {
      // What was not measured says why not.
      if (metric.verdict != Verdict::inconclusive || metric.current.empty()) continue;
      metric.reason = said;
      reason = true;
    }
    if (!reason) check_.advice = capitalized(said) + ".";
    return {};
  }

  /// A history on other machines is no history, and not to be passed over in silence.
  Status some_baseline_or_why_not() {
    if (any_baseline()) return {};
    for (const Run* run : cases_) {
      WM_ASSIGN(const auto others, points_of(*run, ""));
      if (others.empty()) continue;
      WM_ASSIGN(const auto before, store_.load(others.front().session));
      if (before.session.machine.fingerprint == newest().machine.fingerprint) {
        other_series_ = others.front().metric;
        return {};
      }
      const auto differences = machine_differences(newest().machine, before.session.machine);
      return environment_error(
          fmt::format("the history of {} is of another machine: {}", request_.branch,
                      differences.empty() ? "its fingerprint is " + before.session.machine.fingerprint : differences),
          "results of different machines or drivers say nothing about a program; measure " + request_.branch +
              " on this one");
    }
    return {};
  }

  /// This machine has a history of the case, but of other metrics, such as without the reference.
  void report_series() {
    for (auto& metric : check_.metrics) {
      if (metric.verdict != Verdict::inconclusive || metric.current.empty()) continue;
      metric.reason = metric_of_ratio(metric.metric).empty()
                          ? fmt::format("{} has no series of this metric, only {}", request_.branch, other_series_)
                          : fmt::format("{} was never measured with this reference", request_.branch);
    }
    check_.advice = "Measure " + request_.branch + " in the same way, or check what it has: --no-reference.";
  }

  Status compare_environments() {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const Run& run = *cases_[i];
      if (request_.kept != nullptr && !differs(run)) continue;
      std::vector<Environment> history;
      for (const auto& [session, index] : measured_[i]) {
        WM_ASSIGN(const auto before, store_.run(session, index));
        history.push_back(before.environment);
      }
      for (const auto& session : sessions_) {
        for (const Run& now : session.runs) {
          if (same_case(now, run)) distrust(run, environment_shift(history, now.environment));
        }
      }
    }
    return {};
  }

  [[nodiscard]] bool differs(const Run& run) const {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const Verdict verdict = check_.metrics[i].verdict;
      if (runs_[i] == &run && verdict != Verdict::same && verdict != Verdict::inconclusive) return true;
    }
    return false;
  }

  void distrust(const Run& run, const std::vector<Disturbance>& found) {
    for (const auto& item : found) {
      const bool known = std::any_of(check_.disturbances.begin(), check_.disturbances.end(),
                                     [&](const auto& other) { return other.cause == item.cause; });
      if (!known) check_.disturbances.push_back(item);
      for (std::size_t i = 0; i < runs_.size(); ++i) {
        if (runs_[i] != &run) continue;
        // The reference ran at the same clock in every round: a ratio has it in both of its terms.
        if (item.id == "clock" && !metric_of_ratio(check_.metrics[i].metric).empty()) continue;
        MetricCheck& metric = check_.metrics[i];
        metric.verdict = Verdict::unreliable;
        metric.reason = item.cause;
        metric.adjusted_p.reset();
        metric.more_runs.reset();
      }
    }
  }

  store::Store& store_;
  const std::vector<Session>& sessions_;
  const CheckRequest& request_;
  std::vector<const Run*> cases_;
  std::vector<std::vector<std::pair<std::string, std::int64_t>>> measured_;  ///< of each case: newest sessions, run
  std::vector<const Run*> runs_;                                             ///< of each metric, its case
  std::string other_series_;  ///< a metric of the case that this machine has, where none of the checked is
  ForeignSessions foreign_;
  Check check_;
};

}  // namespace

Result<Check> check(const CheckRequest& request, store::Store& store, std::vector<Session> sessions) {
  WM_CHECK(!sessions.empty());
  WM_TRY(sort_as_one(sessions));
  return HistoryCheck(store, sessions, request).run();
}

}  // namespace warpmark::validate
