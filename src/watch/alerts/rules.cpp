#include "watch/alerts/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/units.h"

namespace warpmark::watch {
namespace {

const std::vector<std::string> kVerdictWords = {"worse", "better", "different", "unreliable", "inconclusive"};

class RulesReader {
 public:
  explicit RulesReader(std::string_view file) : yaml_(file) {}

  Result<AlertRules> read(const YAML::Node& root) {
    if (!root.IsMap()) return yaml_.error(root, "rules must be a map with the key 'rules'", "see docs/watch.md");
    WM_TRY(yaml_.only_keys(
        root, {"schema", "interval", "group_wait", "group_interval", "repeat_interval", "group_by", "rules", "sinks"}));
    WM_TRY(yaml_.schema(root, kRulesSchema));
    WM_TRY(duration(root, "interval", rules_.interval_s));
    WM_TRY(duration_or_none(root, "group_wait", rules_.group_wait_s));
    WM_TRY(duration(root, "group_interval", rules_.group_interval_s));
    WM_TRY(duration(root, "repeat_interval", rules_.repeat_interval_s));
    if (rules_.interval_s < 1) return yaml_.error(root["interval"], "interval is too short", "the shortest is 1s");
    WM_TRY(yaml_.maybe(root, "group_by", rules_.group_by));
    WM_TRY(sinks(root["sinks"]));
    const auto list = root["rules"];
    if (!list || !list.IsSequence() || list.size() == 0) {
      return yaml_.error(list ? list : root, "rules must be a list with at least one rule",
                         "rules: [{name: GpuHot, live: DCGM_FI_DEV_GPU_TEMP, above: 85, for: 5m}]");
    }
    std::set<std::string> names;
    for (const auto& node : list) {
      WM_ASSIGN(auto rule, rule_of(node));
      if (!names.insert(rule.name).second) return yaml_.error(node, "rule '" + rule.name + "' is there twice");
      rules_.rules.push_back(std::move(rule));
    }
    return std::move(rules_);
  }

 private:
  Status duration(const YAML::Node& map, const char* key, double& into) const {
    return yaml_.maybe(map, key, into, &YamlReader::duration_s);
  }
  /// 0 is allowed.
  Status duration_or_none(const YAML::Node& map, const char* key, double& into) const {
    std::string text;
    WM_TRY(yaml_.maybe(map, key, text));
    if (!map[key]) return {};
    WM_ASSIGN(into, yaml_.located(map[key], key, parse_duration_s(text)));
    return {};
  }

  Status sinks(const YAML::Node& list) {
    if (!list) return {};
    if (!list.IsSequence()) return yaml_.error(list, "sinks must be a list", "sinks: [{name: ops, command: [./page]}]");
    std::set<std::string> names;
    for (const auto& node : list) {
      WM_ASSIGN(auto sink, read_sink(yaml_, node));
      if (!names.insert(sink.name).second) return yaml_.error(node, "sink '" + sink.name + "' is there twice");
      rules_.sinks.push_back(std::move(sink));
    }
    return {};
  }

  Result<AlertRule> rule_of(const YAML::Node& node) const {
    if (!node.IsMap()) return yaml_.error(node, "a rule must be a map such as {name: GpuHot, live: METRIC, above: 85}");
    WM_TRY(yaml_.only_keys(node, {"name",    "severity",  "summary", "live",  "history",         "check",  "labels",
                                  "branch",  "baseline",  "dirty",   "above", "below",           "change", "no_data",
                                  "verdict", "threshold", "forget",  "for",   "keep_firing_for", "to"}));
    AlertRule rule;
    rule.line = node.Mark().line + 1;
    if (!node["name"]) return yaml_.error(node, "a rule needs a name");
    WM_ASSIGN(rule.name, name_in(yaml_, node["name"], "the name of a rule"));
    if (rule.name.starts_with("warpmark-")) {
      return yaml_.error(node["name"], "names that begin with warpmark- are those of the watch itself");
    }
    WM_TRY(yaml_.maybe(node, "severity", rule.severity, &YamlReader::one_of, {"info", "warning", "critical"}));
    WM_TRY(yaml_.maybe(node, "summary", rule.summary));
    WM_TRY(source(node, rule));
    WM_TRY(condition(node, rule));
    WM_TRY(duration_or_none(node, "for", rule.for_s));
    WM_TRY(duration_or_none(node, "keep_firing_for", rule.keep_firing_s));
    WM_TRY(recipients(node, rule));
    return rule;
  }

  Status source(const YAML::Node& node, AlertRule& rule) const {
    int given = 0;
    for (const auto kind : {RuleSource::live, RuleSource::history, RuleSource::check}) {
      if (!node[name_of(kind)]) continue;
      ++given;
      rule.source = kind;
      WM_ASSIGN(rule.select, yaml_.scalar(node[name_of(kind)], name_of(kind)));
      if (rule.select.empty()) return yaml_.error(node, std::string(name_of(kind)) + " is empty", "'*' is everything");
    }
    if (given != 1) {
      return yaml_.error(node, "rule '" + rule.name + "' needs one of live, history and check",
                         "the source of the rule: live: METRIC, history: SERIES, or check: SERIES");
    }
    const auto only_for = [&](const char* key, RuleSource kind) -> Status {
      if (!node[key] || rule.source == kind) return {};
      return yaml_.error(node[key], std::string(key) + " goes with " + name_of(kind) + " only");
    };
    WM_TRY(only_for("labels", RuleSource::live));
    WM_TRY(only_for("branch", RuleSource::history));
    WM_TRY(only_for("dirty", RuleSource::history));
    WM_TRY(only_for("baseline", RuleSource::check));
    WM_TRY(yaml_.maybe(node, "labels", rule.labels));
    if (node["branch"]) {
      WM_ASSIGN(const auto branch, yaml_.scalar(node["branch"], "branch"));
      rule.branch = branch == "all" ? "" : branch;
    }
    WM_TRY(yaml_.maybe(node, "dirty", rule.dirty));
    WM_TRY(yaml_.maybe(node, "baseline", rule.baseline));
    return {};
  }

  /// Which conditions a source has.
  static std::vector<RuleCondition> conditions_of(RuleSource source) {
    if (source == RuleSource::live) return {RuleCondition::above, RuleCondition::below, RuleCondition::no_data};
    if (source == RuleSource::check) return {RuleCondition::verdict};
    return {RuleCondition::above, RuleCondition::below, RuleCondition::change, RuleCondition::no_data};
  }

  Status condition(const YAML::Node& node, AlertRule& rule) const {
    const auto allowed = conditions_of(rule.source);
    int given = 0;
    for (const auto kind : {RuleCondition::above, RuleCondition::below, RuleCondition::change, RuleCondition::no_data,
                            RuleCondition::verdict}) {
      if (!node[name_of(kind)]) continue;
      ++given;
      rule.condition = kind;
    }
    std::vector<std::string> words;
    for (const auto kind : allowed) words.emplace_back(name_of(kind));
    if (given == 0 && rule.source == RuleSource::check) {
      rule.condition = RuleCondition::verdict;
      rule.verdicts = {"worse"};
      return amounts(node, rule);
    }
    if (given != 1) {
      return yaml_.error(node, "rule '" + rule.name + "' needs one condition", "one of " + join(words, ", "));
    }
    if (std::find(allowed.begin(), allowed.end(), rule.condition) == allowed.end()) {
      return yaml_.error(node[name_of(rule.condition)],
                         fmt::format("{} does not go with {}", name_of(rule.condition), name_of(rule.source)),
                         "conditions of it: " + join(words, ", "));
    }
    return amounts(node, rule);
  }

  Status amounts(const YAML::Node& node, AlertRule& rule) const {
    for (const char* key : {"threshold", "forget"}) {
      if (node[key] && rule.condition != RuleCondition::change && rule.condition != RuleCondition::verdict) {
        return yaml_.error(node[key], std::string(key) + " goes with change and verdict only");
      }
    }
    WM_TRY(yaml_.maybe(node, "threshold", rule.threshold, &YamlReader::ratio));
    WM_TRY(duration(node, "forget", rule.forget_s));
    const auto given = node[name_of(rule.condition)];
    switch (rule.condition) {
      case RuleCondition::above:
      case RuleCondition::below: return limit(given, rule);
      case RuleCondition::change: {
        WM_ASSIGN(const auto word, yaml_.one_of(given, "change", {"worse", "better", "any"}));
        rule.change = word == "worse" ? ChangeKind::worse : word == "better" ? ChangeKind::better : ChangeKind::any;
        return {};
      }
      case RuleCondition::no_data: return duration(node, "no_data", rule.no_data_s);
      case RuleCondition::verdict: break;
    }
    if (!given) return {};
    WM_ASSIGN(rule.verdicts, yaml_.texts(given, "verdict"));
    for (const auto& word : rule.verdicts) {
      if (std::find(kVerdictWords.begin(), kVerdictWords.end(), word) == kVerdictWords.end()) {
        return yaml_.error(given, "'" + word + "' is no verdict", "one of " + join(kVerdictWords, ", "));
      }
    }
    return {};
  }

  /// A number; of history also with a unit, which is compared with that of the series when there is one.
  Status limit(const YAML::Node& node, AlertRule& rule) const {
    WM_ASSIGN(rule.limit, yaml_.scalar(node, name_of(rule.condition)));
    if (parse_number(rule.limit).ok()) return {};
    if (rule.source == RuleSource::live) {
      return yaml_.error(node, fmt::format("'{}' is no number", rule.limit),
                         "live metrics carry their unit in their name, such as 0.95 or 8e9");
    }
    const auto digits = rule.limit.find_first_of("0123456789");
    if (digits == std::string::npos || rule.limit.find_first_not_of("+-.0123456789") < digits) {
      return yaml_.error(node, fmt::format("'{}' is no quantity", rule.limit), "such as 2 s, 10 GB/s or 0.95");
    }
    return {};
  }

  Status recipients(const YAML::Node& node, AlertRule& rule) const {
    if (!node["to"]) {
      for (const auto& sink : rules_.sinks) rule.to.push_back(sink.name);
      return {};
    }
    WM_ASSIGN(rule.to, yaml_.texts(node["to"], "to"));
    std::vector<std::string> known;
    for (const auto& sink : rules_.sinks) known.push_back(sink.name);
    for (const auto& name : rule.to) {
      if (std::count(rule.to.begin(), rule.to.end(), name) > 1) {
        return yaml_.error(node["to"], "sink '" + name + "' is there twice");
      }
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const auto meant = nearest(name, known);
      return yaml_.error(node["to"], "there is no sink '" + name + "'",
                         !meant.empty()  ? "did you mean '" + meant + "'?"
                         : known.empty() ? "add it under sinks"
                                         : "sinks: " + join(known, ", "));
    }
    return {};
  }

  YamlReader yaml_;
  AlertRules rules_;
};

}  // namespace

Result<AlertRules> parse_alert_rules(std::string_view yaml, std::string_view file) {
  return read_yaml(yaml, file,
                   [&](const YAML::Node& root) -> Result<AlertRules> { return RulesReader(file).read(root); });
}

}  // namespace warpmark::watch
