#include "watch/alerts/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "base/yaml_keys.h"

namespace warpmark::watch {
namespace {

const std::vector<std::string> kVerdictWords = {"worse", "better", "different", "unreliable", "inconclusive"};
constexpr RuleCondition kConditions[] = {RuleCondition::above, RuleCondition::below, RuleCondition::change,
                                         RuleCondition::no_data, RuleCondition::verdict};

constexpr YamlKey kRuleKeys[] = {
    yaml_key<&AlertRule::name, read_name>("name", {.text = "the name of a rule"}).needed("a rule needs a name"),
    yaml_key<&AlertRule::severity>("severity", yaml::words("info, warning, critical")),
    yaml_key<&AlertRule::summary>("summary"),
    yaml_key<&AlertRule::select>("live"),
    yaml_key<&AlertRule::select>("history"),
    yaml_key<&AlertRule::select>("check"),
    yaml_key<&AlertRule::labels>("labels"),
    yaml_key<&AlertRule::branch>("branch"),
    yaml_key<&AlertRule::baseline>("baseline"),
    yaml_key<&AlertRule::dirty>("dirty"),
    yaml_key<&AlertRule::limit>("above"),
    yaml_key<&AlertRule::limit>("below"),
    yaml_key<&AlertRule::change>("change"),
    yaml_key<&AlertRule::no_data_s>("no_data", yaml::duration),
    yaml_key<&AlertRule::verdicts>("verdict"),
    yaml_key<&AlertRule::threshold>("threshold", yaml::ratio),
    yaml_key<&AlertRule::forget_s>("forget", yaml::duration),
    yaml_key<&AlertRule::for_s>("for", yaml::duration_or_zero),
    yaml_key<&AlertRule::keep_firing_s>("keep_firing_for", yaml::duration_or_zero),
    yaml_key<&AlertRule::to>("to"),
};

struct RuleReader : YamlReader {
  RuleReader(const YamlReader& reader, const std::vector<Sink>& sinks) : YamlReader(reader) {
    for (const auto& sink : sinks) sinks_.push_back(sink.name);
  }

  Status read(const YamlNode& node, AlertRule& rule) const {
    rule.line = node.line();
    WM_TRY(fill(node, "a rule must be a map such as {name: GpuHot, live: METRIC, above: 85}", kRuleKeys, rule));
    if (rule.name.starts_with("warpmark-")) {
      return error(node["name"], "names that begin with warpmark- are those of the watch itself");
    }
    WM_TRY(source(node, rule));
    WM_TRY(condition(node, rule));
    return recipients(node, rule);
  }

  Status source(const YamlNode& node, AlertRule& rule) const {
    int given = 0;
    for (const auto kind : {RuleSource::live, RuleSource::history, RuleSource::check}) {
      if (!node[name_of(kind)]) continue;
      ++given;
      rule.source = kind;
      if (rule.select.empty()) return error(node, std::string(name_of(kind)) + " is empty", "'*' is everything");
    }
    if (given != 1) {
      return error(node, "rule '" + rule.name + "' needs one of live, history and check",
                   "the source of the rule: live: METRIC, history: SERIES, or check: SERIES");
    }
    const std::pair<const char*, RuleSource> only_for[] = {{"labels", RuleSource::live},
                                                           {"branch", RuleSource::history},
                                                           {"dirty", RuleSource::history},
                                                           {"baseline", RuleSource::check}};
    for (const auto& [key, kind] : only_for) {
      if (!node[key] || rule.source == kind) continue;
      return error(node[key], std::string(key) + " goes with " + name_of(kind) + " only");
    }
    if (rule.branch == "all") rule.branch = "";
    return {};
  }

  /// Which conditions a source has.
  static std::vector<std::string> conditions_of(RuleSource source) {
    if (source == RuleSource::live) return {"above", "below", "no_data"};
    if (source == RuleSource::check) return {"verdict"};
    return {"above", "below", "change", "no_data"};
  }

  Status condition(const YamlNode& node, AlertRule& rule) const {
    const auto allowed = conditions_of(rule.source);
    int given = 0;
    for (const auto kind : kConditions) {
      if (!node[name_of(kind)]) continue;
      ++given;
      rule.condition = kind;
    }
    if (given == 0 && rule.source == RuleSource::check) {
      rule.condition = RuleCondition::verdict;
      rule.verdicts = {"worse"};
      return amounts(node, rule);
    }
    if (given != 1) {
      return error(node, "rule '" + rule.name + "' needs one condition", "one of " + join(allowed, ", "));
    }
    if (std::ranges::find(allowed, name_of(rule.condition)) == allowed.end()) {
      return error(node[name_of(rule.condition)],
                   fmt::format("{} does not go with {}", name_of(rule.condition), name_of(rule.source)),
                   "conditions of it: " + join(allowed, ", "));
    }
    return amounts(node, rule);
  }

  Status amounts(const YamlNode& node, AlertRule& rule) const {
    for (const char* key : {"threshold", "forget"}) {
      if (node[key] && rule.condition != RuleCondition::change && rule.condition != RuleCondition::verdict) {
        return error(node[key], std::string(key) + " goes with change and verdict only");
      }
    }
    const auto given = node[name_of(rule.condition)];
    if (rule.condition == RuleCondition::above || rule.condition == RuleCondition::below) return limit(given, rule);
    for (const auto& word : rule.verdicts) {
      if (std::ranges::find(kVerdictWords, word) == kVerdictWords.end()) {
        return error(given, "'" + word + "' is no verdict", "one of " + join(kVerdictWords, ", "));
      }
    }
    return {};
  }

  /// A number; of history also with a unit, which is compared with that of the series when there is one.
  Status limit(const YamlNode& node, AlertRule& rule) const {
    if (parse_number(rule.limit).ok()) return {};
    if (rule.source == RuleSource::live) {
      return error(node, fmt::format("'{}' is no number", rule.limit),
                   "live metrics carry their unit in their name, such as 0.95 or 8e9");
    }
    const auto digits = rule.limit.find_first_of("0123456789");
    if (digits == std::string::npos || rule.limit.find_first_not_of("+-.0123456789") < digits) {
      return error(node, fmt::format("'{}' is no quantity", rule.limit), "such as 2 s, 10 GB/s or 0.95");
    }
    return {};
  }

  Status recipients(const YamlNode& node, AlertRule& rule) const {
    if (!node["to"]) rule.to = sinks_;
    for (const auto& name : rule.to) {
      if (std::ranges::count(rule.to, name) > 1) {
        return error(node["to"], "sink '" + name + "' is there twice");
      }
      if (std::ranges::find(sinks_, name) != sinks_.end()) continue;
      const auto meant = nearest(name, sinks_);
      return error(node["to"], "there is no sink '" + name + "'",
                   !meant.empty()   ? "did you mean '" + meant + "'?"
                   : sinks_.empty() ? "add it under sinks"
                                    : "sinks: " + join(sinks_, ", "));
    }
    return {};
  }

  std::vector<std::string> sinks_;
};

Status read_sinks(const YamlReader& reader, const YamlNode& list, const YamlKey&, std::vector<Sink>& sinks) {
  if (!list.is_list()) return reader.error(list, "sinks must be a list", "sinks: [{name: ops, command: [./page]}]");
  std::set<std::string> names;
  for (const auto& node : list.items()) {
    Sink& sink = sinks.emplace_back();
    WM_TRY(read_sink(reader, node, sink));
    if (!names.insert(sink.name).second) return reader.error(node, "sink '" + sink.name + "' is there twice");
  }
  return {};
}

Status read_rules(const YamlReader& reader, const YamlNode& list, const YamlKey& key, AlertRules& into) {
  if (list.items().empty()) return reader.error(list, key.missing, key.hint);
  const RuleReader of_one(reader, into.sinks);
  std::set<std::string> names;
  for (const auto& node : list.items()) {
    AlertRule& rule = into.rules.emplace_back();
    WM_TRY(of_one.read(node, rule));
    if (!names.insert(rule.name).second) return reader.error(node, "rule '" + rule.name + "' is there twice");
  }
  return {};
}

constexpr YamlKey kRulesKeys[] = {
    yaml_schema(kRulesSchema),
    yaml_key<&AlertRules::interval_s>("interval", yaml::duration),
    yaml_key<&AlertRules::group_wait_s>("group_wait", yaml::duration_or_zero),
    yaml_key<&AlertRules::group_interval_s>("group_interval", yaml::duration),
    yaml_key<&AlertRules::repeat_interval_s>("repeat_interval", yaml::duration),
    yaml_key<&AlertRules::group_by>("group_by"),
    yaml_key<&AlertRules::sinks, read_sinks>("sinks"),
    yaml_key<read_rules>("rules").needed("rules must be a list with at least one rule",
                                         "rules: [{name: GpuHot, live: DCGM_FI_DEV_GPU_TEMP, above: 85, for: 5m}]"),
};

}  // namespace

Result<AlertRules> parse_alert_rules(std::string_view yaml, std::string_view file) {
  WM_ASSIGN(const auto root, read_yaml(yaml, file));
  const YamlReader reader(file);
  if (!root.is_map()) return reader.error(root, "rules must be a map with the key 'rules'", "see docs/watch.md");
  AlertRules rules;
  WM_TRY(reader.fill(root, "", kRulesKeys, rules));
  if (rules.interval_s < 1) return reader.error(root["interval"], "interval is too short", "the shortest is 1s");
  return rules;
}

}  // namespace warpmark::watch
