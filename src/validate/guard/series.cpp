#include "validate/guard/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/text.h"
#include "device/machine.h"
#include "model/auxiliary.h"
#include "model/names.h"
#include "model/run_query.h"

namespace warpmark::validate {
namespace {

std::string names_of_devices(const Machine& machine) {
  std::string text;
  for (const auto& device : machine.devices) {
    if (device.backend == "cpu") continue;
    text += (text.empty() ? "" : ", ") + device.name;
  }
  return text.empty() ? "no GPU" : text;
}

int cpu_cores(const Machine& machine) {
  for (const auto& device : machine.devices) {
    if (device.backend == "cpu") return device.compute_units;
  }
  return 0;
}

std::string version_of(const Machine& machine, const std::string& name) {
  for (const auto& [key, version] : machine.software) {
    if (key == name) return version;
  }
  return "none";
}

void add_difference(std::string& text, const std::string& what, const std::string& now, const std::string& before) {
  if (now == before) return;
  text += fmt::format("{}{} {} instead of {}", text.empty() ? "" : "; ", what, now.empty() ? "unknown" : now,
                      before.empty() ? "unknown" : before);
}

using Points = std::span<const store::RunPoint* const>;
using Places = std::vector<std::size_t>;

/// Whether what `of(point)` names takes turns: more switches than there would be if one followed the other.
template <typename Of>
bool take_turns(Points points, const Places& places, Of of) {
  std::set<std::string_view> names;
  std::size_t switches = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    names.insert(of(points[places[i]]));
    if (i > 0 && of(points[places[i]]) != of(points[places[i - 1]])) ++switches;
  }
  return switches >= names.size();
}

template <typename Of>
std::vector<Places> split_by(Points points, const Places& places, Of of) {
  std::map<std::string_view, Places> found;
  for (const std::size_t place : places) found[of(points[place])].push_back(place);
  std::vector<Places> parts;
  for (auto& [name, part] : found) parts.push_back(std::move(part));
  return parts;
}

std::string_view machine_of(const store::RunPoint* point) { return point->fingerprint; }
std::string_view host_of(const store::RunPoint* point) { return point->hostname; }

/// Nodes that are built alike have one fingerprint. They are told apart by their names where each comes back:
/// containers have a new name for every session.
std::vector<Places> by_nodes_in_turns(Points points, const Places& places) {
  constexpr std::size_t kComesBack = 3;
  if (!take_turns(points, places, host_of)) return {places};
  auto nodes = split_by(points, places, host_of);
  const bool all_come_back = std::ranges::all_of(nodes, [](const auto& node) { return node.size() >= kComesBack; });
  return nodes.size() >= 2 && all_come_back ? nodes : std::vector<Places>{places};
}

/// The same case of the baseline; of several of one name the one in the same place. Two files of one result each are
/// compared whatever they call it.
const Run* baseline_run_of(const Session& baseline, const Session& now, const Run& run) {
  if (baseline.runs.size() == 1 && now.runs.size() == 1) return &baseline.runs.front();
  std::size_t place = 0;
  for (const Run& other : now.runs) {
    if (&other == &run) break;
    if (same_case(other, run)) ++place;
  }
  for (const Run& other : baseline.runs) {
    if (same_case(other, run) && place-- == 0) return &other;
  }
  return nullptr;
}

Verdict verdict_of(double ratio, Better better, double threshold) {
  const double change = ratio - 1;
  if (std::fabs(change) < threshold) return Verdict::same;
  switch (better) {
    case Better::lower: return change > 0 ? Verdict::worse : Verdict::better;
    case Better::higher: return change < 0 ? Verdict::worse : Verdict::better;
    case Better::neither: return Verdict::different;
  }
  return Verdict::different;
}

void judge_value(MetricCheck& metric, const Run& run, double threshold) {
  if (!is_measured(run.outcome)) {
    metric.reason = fmt::format("{}: {}", name_of(run.outcome), run.reason);
  } else if (metric.current.empty()) {
    metric.reason = "it was not measured now";
  } else if (!(*metric.level > 0 && *metric.value > 0)) {
    metric.reason = "a change in percent needs values above 0";
    if (*metric.level == *metric.value) metric.verdict = Verdict::same;
  } else {
    metric.ratio = *metric.value / *metric.level;
    metric.verdict = verdict_of(*metric.ratio, metric.better, threshold);
    if (metric.verdict == Verdict::different) {
      metric.reason = fmt::format("whether lower or higher is better is unknown: --better '{}=lower'", run.workload);
    }
  }
}

}  // namespace

std::vector<std::vector<std::size_t>> machines_in_turns(std::span<const store::RunPoint* const> points) {
  Places all(points.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (!take_turns(points, all, machine_of)) return by_nodes_in_turns(points, all);
  std::vector<Places> parts;
  for (const auto& machine : split_by(points, all, machine_of)) {
    for (auto& node : by_nodes_in_turns(points, machine)) parts.push_back(std::move(node));
  }
  return parts;
}

std::string label_of_machine(const std::string& label, const store::RunPoint& newest) {
  return label + " @" + newest.hostname + "-" + newest.fingerprint.substr(0, 4);
}

std::vector<Series> by_machines_in_turns(Series series) {
  std::vector<const store::RunPoint*> points;
  for (const auto& point : series.points) points.push_back(&point);
  const auto parts = machines_in_turns(points);
  std::vector<Series> all;
  for (const auto& places : parts) {
    Series& part = all.emplace_back(Series{series.label, series.metric, series.unit, series.better, {}});
    for (const std::size_t place : places) part.points.push_back(std::move(series.points[place]));
    if (parts.size() > 1) part.label = label_of_machine(series.label, part.points.back());
  }
  return all;
}

std::vector<Series> series_of(std::vector<store::RunPoint> points) {
  std::map<std::pair<std::string, std::string>, Series> found;
  std::unordered_map<std::string, Series*> by_case;  // a label takes longer to make than to look up
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    if (point->outcome != Outcome::passed) continue;
    const std::string key = point->workload + '\n' + point->params + '\n' + point->device + '\n' +
                            name_of(point->mode) + '\n' + point->metric;
    Series*& series = by_case[key];
    if (series == nullptr) {
      const std::string label = case_label(point->workload, point->params, point->device, point->mode);
      series = &found[{label, point->metric}];
      series->label = label;
      series->metric = point->metric;
    }
    series->unit = point->unit;
    series->better = point->better;
    series->points.push_back(std::move(*point));
  }
  std::vector<Series> all;
  all.reserve(found.size());
  for (auto& [key, series] : found) all.push_back(std::move(series));
  return all;
}

std::string case_label(const std::string& workload, const std::string& params, const std::string& device, Mode mode) {
  if (workload == "command" && device == "host") {
    for (const std::string_view prefix : {"command=", "name=", "matrix="}) {
      if (params.starts_with(prefix)) return params.substr(prefix.size());
    }
    return params.empty() ? workload : params;
  }
  const bool unknown = device.empty() || device == "unknown";  // of files of other tools
  return workload + (params.empty() ? "" : " " + params) + (mode == Mode::hot ? "" : std::string(" ") + name_of(mode)) +
         (device == "cpu" || unknown ? "" : " on " + device);
}

std::string case_label(const Run& run) { return case_label(run.workload, to_text(run.params), run.device, run.mode); }

bool matches_series(const std::string& glob, const std::string& label, const std::string& metric) {
  return glob.empty() || glob_match(glob, metric) || glob_match(glob, label + " " + metric);
}

HistoryPoint to_history_point(const store::RunPoint& point) {
  return {.session = point.session,
          .started = point.session_started,
          .commit = point.commit,
          .dirty = point.dirty,
          .n = point.n,
          .value = point.median};
}

HistoryPoint to_history_point(const Session& session, const Metric& metric) {
  return {.session = session.id,
          .started = session.started,
          .commit = session.commit,
          .dirty = session.dirty,
          .n = metric.summary.n,
          .value = metric.summary.median};
}

std::vector<std::string> unknown_facts(const Machine& machine) {
  if (machine.fingerprint == kUnknownMachine) return {"the results name none"};
  // Of results of other tools a person or the file has said where they come from; that is all there is.
  if (machine.fingerprint.starts_with("imported-")) return {};
  std::vector<std::string> unknown;
  if (machine.cpu.empty()) unknown.emplace_back("no CPU");
  if (machine.kernel.empty()) unknown.emplace_back("no kernel");
  if (cpu_cores(machine) == 0) unknown.emplace_back("no number of cores");
  const bool gpu = std::any_of(machine.devices.begin(), machine.devices.end(),
                               [](const auto& device) { return device.backend != "cpu"; });
  if (gpu && version_of(machine, device::kDriverSoftware) == "none") unknown.emplace_back("no driver of its GPU");
  return unknown;
}

std::string machine_differences(const Machine& now, const Machine& before) {
  std::string text;
  add_difference(text, "CPU", now.cpu, before.cpu);
  add_difference(text, "cores", std::to_string(cpu_cores(now)), std::to_string(cpu_cores(before)));
  add_difference(text, "GPU", names_of_devices(now), names_of_devices(before));
  add_difference(text, "kernel", now.kernel, before.kernel);
  std::vector<std::string> names;
  for (const auto* machine : {&now, &before}) {
    for (const auto& [name, version] : machine->software) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const auto& name : names) add_difference(text, name, version_of(now, name), version_of(before, name));
  return text;
}

void sort_by_commits(std::vector<store::RunPoint>& points, const CommitOrder& order) {
  struct Placed {
    std::int64_t age;
    std::size_t at;
  };
  std::vector<Placed> known;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto found = order.age.find(points[i].commit);
    if (found == order.age.end()) continue;
    known.push_back({found->second, i});
    places.push_back(i);
  }
  const auto younger = [](const Placed& a, const Placed& b) { return a.age < b.age; };
  if (std::is_sorted(known.begin(), known.end(), younger)) return;
  std::stable_sort(known.begin(), known.end(), younger);
  std::vector<store::RunPoint> sorted;
  sorted.reserve(known.size());
  for (const auto& one : known) sorted.push_back(std::move(points[one.at]));
  for (std::size_t i = 0; i < places.size(); ++i) points[places[i]] = std::move(sorted[i]);
}

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

Result<Check> check_point_values(const Session& baseline, const Session& now, const PointOptions& options) {
  Check check{.branch = options.name, .threshold = options.threshold, .tested = false};
  check.sessions = {now.id};
  check.started = now.started;
  check.commit = now.commit;
  check.commit_branch = now.branch;
  check.dirty = now.dirty;
  check.machine = now.machine;
  check.build = now.build;
  for (const Run& run : now.runs) {
    const Run* before = baseline_run_of(baseline, now, run);
    if (before == nullptr) continue;
    for (const Metric& metric : before->metrics) {
      if (metric.summary.n == 0 || !matches_series(options.metrics, case_label(run), metric.id)) continue;
      if (options.metrics.empty() && is_auxiliary(metric.id)) continue;
      MetricCheck judged{.label = case_label(run), .metric = metric.id, .unit = metric.unit, .better = metric.better};
      judged.baseline = {to_history_point(baseline, metric)};
      judged.level = metric.summary.median;
      judged.level_sessions = 1;
      if (const Metric* current = metric_of(run, metric.id); current != nullptr) {
        judged.current = {to_history_point(now, *current)};
        judged.value = current->summary.median;
      }
      judge_value(judged, run, options.threshold);
      check.metrics.push_back(std::move(judged));
    }
  }
  if (check.metrics.empty()) {
    return usage_error("the results and the baseline have no metric in common" +
                           (options.metrics.empty() ? std::string() : " that matches " + options.metrics),
                       "warpmark report FILE shows what a file holds");
  }
  // A gate that nothing could fail is none.
  if (std::ranges::all_of(check.metrics, [](const auto& metric) { return metric.better == Better::neither; })) {
    for (auto& metric : check.metrics) {
      if (metric.verdict == Verdict::different) metric.verdict = Verdict::inconclusive;
    }
  }
  for (const Run& run : baseline.runs) {
    const bool here = std::any_of(now.runs.begin(), now.runs.end(),
                                  [&](const Run& other) { return baseline_run_of(baseline, now, other) == &run; });
    if (!here) check.missing.push_back(case_label(run));
  }
  if (const auto what = machine_differences(now.machine, baseline.machine); !what.empty()) {
    check.disturbances.push_back({.id = "machine", .cause = "The machines differ: " + what});
  }
  return check;
}

}  // namespace warpmark::validate
