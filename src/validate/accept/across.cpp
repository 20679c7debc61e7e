#include "validate/accept/acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "base/text.h"
#include "model/names.h"
#include "model/run_query.h"
#include "stats/summary.h"
#include "stats/tests/compare.h"
#include "stats/tests/odd_one_out.h"

namespace warpmark::validate {
namespace {

/// A run of one unit, with what makes it comparable.
struct Sighting {
  std::int64_t unit;
  const Run* run;
};

std::string stem_of(const std::string& file) {
  const auto name = file.substr(file.rfind('/') + 1);
  return name.substr(0, name.rfind('.'));
}

/// Host names where they tell the nodes apart, else the files' names.
std::vector<std::string> node_names(const std::vector<NodeResults>& nodes) {
  std::set<std::string> hosts;
  for (const auto& node : nodes) hosts.insert(node.session.machine.hostname);
  const bool distinct = hosts.size() == nodes.size() && !hosts.contains("");
  std::vector<std::string> names;
  for (const auto& node : nodes) names.push_back(distinct ? node.session.machine.hostname : stem_of(node.file));
  return names;
}

const DeviceInfo* device_of(const Session& session, const std::string& id) {
  for (const auto& device : session.machine.devices) {
    if (device.id == id) return &device;
  }
  return nullptr;
}

/// What may be compared with what: devices of one model; for commands, which may use all of it, machines of one make.
/// Empty where the machine does not know the device.
std::string compared_model_of(const Session& session, const std::string& id) {
  if (const auto* device = device_of(session, id)) return device->name;
  if (id != "host") return {};
  std::string model = session.machine.cpu;
  for (const auto& device : session.machine.devices) {
    if (device.backend != "cpu") model += (model.empty() ? "" : " + ") + device.name;
  }
  return model.empty() ? "a machine" : model;
}

std::string compared_case_of(const Run& run) {
  if (run.workload == "command") return to_text(run.params);
  return run.workload + " " + to_text(run.params) + " mode=" + name_of(run.mode);
}

std::string short_percent(double ratio) { return fmt::format("{:.3g} %", ratio * 100); }

class AcrossJudge {
 public:
  AcrossJudge(const std::vector<NodeResults>& nodes, const AcrossOptions& options)
      : nodes_(nodes), options_(options), names_(node_names(nodes)) {}

  Result<Across> judged() {
    result_.effect = options_.effect;
    result_.alpha = options_.alpha;
    std::set<std::string> sessions;
    for (const auto& node : nodes_) {
      if (!sessions.insert(node.session.id).second) {
        return usage_error("session " + node.session.id + " is given twice", "give one result of each node");
      }
    }
    gather();
    if (result_.units.empty()) {
      return usage_error("the results do not say on which devices they were measured",
                         "results of `warpmark run --json` do");
    }
    if (result_.units.size() < 2) {
      return usage_error("one device cannot be compared with others", "give the results of two or more nodes");
    }
    for (const auto& [key, sightings] : groups_) add_case(sightings);
    if (result_.metrics.empty()) return usage_error("the results have no workload in common");
    decide();
    for (auto& metric : result_.metrics) {
      for (auto& value : metric.values) note_state(value);
    }
    find_differences();
    return std::move(result_);
  }

 private:
  void gather() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const auto& session = nodes_[n].session;
      std::map<std::string, std::int64_t> units;
      for (const Run& run : session.runs) {
        const auto model = compared_model_of(session, run.device);
        if (model.empty() || run.outcome == Outcome::unsupported) continue;
        if (!units.contains(run.device)) {
          units[run.device] = static_cast<std::int64_t>(result_.units.size());
          result_.units.push_back({.node = names_[n], .device = run.device, .file = nodes_[n].file});
        }
        groups_[model + "\n" + compared_case_of(run)].push_back({units[run.device], &run});
        names_of_devices_[units[run.device]] = model;
      }
    }
  }

  /// What all units of the device's model did with one case. A case that a single unit has is no comparison.
  void add_case(const std::vector<Sighting>& sightings) {
    const auto measured = std::find_if(sightings.begin(), sightings.end(),
                                       [](const Sighting& sighting) { return !sighting.run->metrics.empty(); });
    if (sightings.size() < 2 || measured == sightings.end()) return;
    for (const Metric& metric : measured->run->metrics) {
      const bool counts = metric.better != Better::neither || measured->run->metrics.size() == 1;
      if (counts && speaks_for_itself(*measured->run, metric)) add_metric(sightings, *measured->run, metric);
    }
  }

  void add_metric(const std::vector<Sighting>& sightings, const Run& run, const Metric& judged) {
    AcrossMetric metric{.what = compared_case_of(run),
                        .device_name = names_of_devices_[sightings.front().unit],
                        .metric = judged.id,
                        .unit = judged.unit,
                        .better = judged.better};
    if (run.workload == "command" && run.metrics.size() > 1) metric.what += " " + judged.id;
    std::set<std::int64_t> seen;
    for (const auto& sighting : sightings) {
      if (seen.insert(sighting.unit).second) metric.values.push_back(value_of(sighting, judged.id));
    }
    for (const auto& [unit, name] : names_of_devices_) {
      if (name != metric.device_name || seen.contains(unit)) continue;
      metric.values.push_back({.unit = unit, .state = NodeState::missing, .reason = "its results do not have it"});
    }
    uncertainty_.push_back(typical_uncertainty(sightings, judged.id));
    result_.metrics.push_back(std::move(metric));
  }

  static NodeValue value_of(const Sighting& sighting, const std::string& id) {
    const Run& run = *sighting.run;
    NodeValue value{.unit = sighting.unit};
    if (const auto* metric = metric_of(run, id)) value.value = metric->summary.median;
    value.reason = run.reason;
    switch (run.outcome) {
      case Outcome::passed: value.reason.clear(); break;
      case Outcome::unreliable: value.state = NodeState::unreliable; break;
      case Outcome::failed: value.state = NodeState::failed; break;
      case Outcome::unsupported:
      case Outcome::skipped:
      case Outcome::error: value.state = NodeState::missing; break;
    }
    if (value.state == NodeState::normal && !(value.value && *value.value > 0)) {
      value.state = NodeState::missing;
      value.reason = "it has no value above 0";
    }
    return value;
  }

  /// Standard error of a value on logarithms, of the unit in the middle.
  static double typical_uncertainty(const std::vector<Sighting>& sightings, const std::string& id) {
    std::vector<double> errors;
    for (const auto& sighting : sightings) {
      const auto* metric = metric_of(*sighting.run, id);
      if (sighting.run->outcome != Outcome::passed || metric == nullptr) continue;
      const auto& summary = metric->summary;
      if (!summary.median_interval || !(summary.median_interval->low > 0)) continue;
      errors.push_back(std::log(summary.median_interval->high / summary.median_interval->low) / (2 * 1.96));
    }
    return errors.empty() ? 0 : stats::median(errors);
  }

  const stats::OddOneOutTest& test_of(std::size_t n) {
    auto& test = tests_[n];
    if (test == nullptr) test = std::make_unique<stats::OddOneOutTest>(n);
    return *test;
  }

  void decide() {
    std::vector<double> p;
    std::vector<NodeValue*> tested;
    for (std::size_t m = 0; m < result_.metrics.size(); ++m) {
      auto& metric = result_.metrics[m];
      std::vector<NodeValue*> values;
      for (auto& value : metric.values) {
        if (value.state == NodeState::normal) values.push_back(&value);
      }
      compare(metric, values, uncertainty_[m]);
      if (values.size() < stats::kFewestForOddOneOut) continue;
      for (auto* value : values) {
        tested.push_back(value);
        p.push_back(*value->p);
      }
    }
    const auto holm = stats::holm(p, options_.alpha);
    for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->adjusted_p = holm.adjusted[i];
    for (auto& metric : result_.metrics) {
      const auto n = static_cast<std::size_t>(std::count_if(metric.values.begin(), metric.values.end(),
                                                            [](const auto& value) { return value.p.has_value(); }));
      if (n >= stats::kFewestForOddOneOut) {
        const auto distance = test_of(n).distance(options_.alpha / static_cast<double>(p.size()));
        if (distance) metric.detectable = std::expm1(*distance * metric.spread);
      }
      for (auto& value : metric.values) judge(metric, value);
    }
  }

  /// Fills what does not depend on other metrics.
  void compare(AcrossMetric& metric, const std::vector<NodeValue*>& values, double uncertainty) {
    std::vector<double> logs, raw;
    for (const auto* value : values) {
      raw.push_back(*value->value);
      logs.push_back(std::log(*value->value) * (metric.better == Better::higher ? -1 : 1));
    }
    if (raw.empty()) return;
    metric.median = stats::median(raw);
    for (std::size_t i = 0; i < values.size() && values.size() > 1; ++i) {
      auto others = logs;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      values[i]->slowdown = std::expm1(logs[i] - stats::median(others));
    }
    if (values.size() < stats::kFewestForOddOneOut) return;
    const auto odd = test_of(values.size()).judge(logs, uncertainty);
    metric.spread = odd.stdev;
    for (std::size_t i = 0; i < values.size(); ++i) values[i]->p = odd.p[i];
  }

  void judge(const AcrossMetric& metric, NodeValue& value) const {
    if (value.state != NodeState::normal || !value.slowdown) return;
    const bool matters = *value.slowdown >= options_.effect;
    if (!value.p) {
      if (std::fabs(*value.slowdown) < options_.effect) return;
      value.state = NodeState::undecided;
      value.reason = fmt::format("two values differ by {}, and with two it is unknown which is the outlier",
                                 short_percent(std::fabs(*value.slowdown)));
      return;
    }
    if (!matters) return;
    if (*value.adjusted_p <= options_.alpha) {
      value.state = NodeState::slow;
      return;
    }
    value.state = NodeState::undecided;
    value.reason = fmt::format("{} slower than the others, which differ by {} themselves",
                               short_percent(*value.slowdown), short_percent(metric.spread));
    value.reason += metric.detectable
                        ? fmt::format("; from {} on it would be certain", short_percent(*metric.detectable))
                        : std::string("; with so few nodes nothing would be certain");
  }

  void note_state(const NodeValue& value) {
    constexpr NodeState kOrder[] = {NodeState::normal,    NodeState::unreliable, NodeState::missing,
                                    NodeState::undecided, NodeState::slow,       NodeState::failed};
    auto& state = result_.units[static_cast<std::size_t>(value.unit)].state;
    const auto rank = [&](NodeState of) { return std::find(std::begin(kOrder), std::end(kOrder), of) - kOrder; };
    if (rank(value.state) > rank(state)) state = value.state;
  }

  /// Facts of the machines in which some differ from most.
  void find_differences() {
    std::map<std::string, std::map<std::string, std::string>> facts;  // fact -> node -> value
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const Machine& machine = nodes_[n].session.machine;
      const auto& name = names_[n];
      facts["processor"][name] = machine.cpu;
      facts["kernel"][name] = machine.kernel;
      facts["system"][name] = machine.os;
      facts["virtualization"][name] = machine.virtualization;
      facts["memory"][name] = fmt::format("{} GiB", (machine.memory_bytes + (1 << 29)) >> 30);
      facts["warpmark"][name] = nodes_[n].session.build.version + " " + nodes_[n].session.build.git_sha;
      for (const auto& [software, version] : machine.software) facts[software][name] = version;
      for (const auto& device : machine.devices) facts[device.id][name] = device.name;
    }
    for (const auto& [fact, values] : facts) {
      std::map<std::string, int> votes;
      for (const auto& name : names_) ++votes[values.contains(name) ? values.at(name) : "none"];
      const auto most = std::max_element(votes.begin(), votes.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      for (const auto& name : names_) {
        const std::string value = values.contains(name) ? values.at(name) : "none";
        if (value != most->first) result_.differences.push_back({name, fact, value, most->first});
      }
    }
  }

  const std::vector<NodeResults>& nodes_;
  const AcrossOptions& options_;
  std::vector<std::string> names_;
  std::map<std::string, std::vector<Sighting>> groups_;
  std::map<std::int64_t, std::string> names_of_devices_;
  std::vector<double> uncertainty_;  ///< of the metrics
  std::map<std::size_t, std::unique_ptr<stats::OddOneOutTest>> tests_;
  Across result_;
};

}  // namespace

Result<Across> judge_across(const std::vector<NodeResults>& nodes, const AcrossOptions& options) {
  return AcrossJudge(nodes, options).judged();
}

}  // namespace warpmark::validate
