#include "validate/commands/command_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "base/yaml_keys.h"
#include "model/auxiliary.h"
#include "model/names.h"
#include "model/stages.h"
#include "validate/commands/command_spec_yaml.h"
#include "validate/commands/line_pattern.h"

namespace warpmark::validate {
namespace {

struct BuiltIn {
  const char* name;
  const char* unit;
  MetricSource source;
};
constexpr BuiltIn kBuiltIns[] = {
    {"time", "s", MetricSource::wall_time},          {"cpu_time", "s", MetricSource::cpu_time},
    {"peak_memory", "B", MetricSource::peak_memory}, {kGpuUtilization.data(), "ratio", MetricSource::gpu},
    {kGpuPeakMemory.data(), "B", MetricSource::gpu}, {kGpuEnergy.data(), "J", MetricSource::gpu},
    {kGpuPower.data(), "W", MetricSource::gpu},      {kGpuClock.data(), "Hz", MetricSource::gpu}};

/// Names and units stand in tables, on terminals and in the comments of others.
constexpr YamlKey kMetricKeys[] = {
    yaml_key<&MetricSpec::name>("name", yaml::one_line).needed("a metric needs a name"),
    yaml_key<&MetricSpec::unit>("unit", yaml::one_line),
    yaml_key<&MetricSpec::better>("better"),
    yaml_key<&MetricSpec::expression>("json"),
    yaml_key<&MetricSpec::expression>("regex"),
    yaml_key<&MetricSpec::file>("file"),
    yaml_key<&MetricSpec::percentile>("percentile"),
};
/// Of a stage whose time the command of all stages prints.
constexpr YamlKey kStageKeys[] = {
    yaml_key("name"),
    yaml_key<&MetricSpec::expression>("json"),
    yaml_key<&MetricSpec::expression>("regex"),
    yaml_key<&MetricSpec::file>("file"),
    yaml_key("items"),
    yaml_key("sla"),
};

Status read_sizes(const YamlReader& reader, const YamlNode& map, const YamlKey&, CommandSpec& spec) {
  if (map.pairs().empty()) return reader.error(map, "sizes must be a map such as {n: [10, 100, 1000]}");
  WM_TRY(reader.no_key_twice(map));
  for (const auto& [key, node] : map.pairs()) {
    WM_ASSIGN(auto values, node.is_map() ? std::vector<std::string>() : reader.texts(node, key.text()));
    // {small: 10, typical: 100, large: 1000} says the same with names.
    for (const auto& [name, named] : node.pairs()) {
      WM_ASSIGN(values.emplace_back(), reader.scalar(named, name.text()));
    }
    for (const auto& value : values) {
      const auto number = parse_number(value);
      if (number.ok() && *number > 0) continue;
      return reader.error(node, "a size is a number above 0, not '" + value + "'");
    }
    if (values.size() < 3) return reader.error(node, "the fixed cost needs three sizes");
    spec.sizes.emplace_back(key.text(), std::move(values));
  }
  return {};
}

constexpr YamlKey kProjectKeys[] = {
    yaml_schema(kProjectSchema),
    yaml_key("build"),
    yaml_key("run"),
    yaml_key("shell"),
    yaml_key<&CommandSpec::timeout_s>("timeout", yaml::duration),
    yaml_key<&CommandSpec::build_timeout_s>("build_timeout", yaml::duration),
    yaml_key<&CommandSpec::environment>("env", yaml::like("{OMP_NUM_THREADS: 2}")),
    yaml_key<&CommandSpec::reference>("reference", yaml::one_line),
    yaml_key("metrics"),
    yaml_key("accuracy"),
    yaml_key("items"),
    yaml_key("sla"),
    yaml_key("stages"),
    yaml_key<read_sizes>("sizes"),
};

struct CommandReader : YamlReader {
  using YamlReader::YamlReader;

  Status words(const YamlNode& node, const std::string& name, bool shell, std::vector<std::string>& into) const {
    if (node.is_list() && shell) return error(node, name + " must be one text where shell is true");
    WM_ASSIGN(into, texts(node, name));
    if (into.empty()) return error(node, name + " is empty");
    if (node.is_list()) return {};
    auto split = shell ? std::vector<std::string>{"/bin/sh", "-c", into.front()} : split_words(into.front());
    WM_ASSIGN(into, located(node, name, split));
    return {};
  }

  Status metric(const YamlNode& node, MetricSpec& spec) const {
    const char* form = "a metric must be a map such as {name: time} or {name: loss, regex: '...'}";
    WM_TRY(fill(node, form, kMetricKeys, spec));
    if (spec.name.empty()) return error(node["name"], "a metric needs a name");
    if (node["regex"] && node["json"]) return error(node, spec.name + " has both regex and json", "give one");
    if (const auto percent = node["percentile"]) {
      if (!(spec.percentile > 0 && spec.percentile < 100))
        return error(percent, "percentile must be between 0 and 100");
      if (!node["regex"] && !node["json"]) return error(percent, "percentile needs regex or json");
      spec.percentile /= 100;
    }
    if (node["regex"] || node["json"]) return source(node, spec);
    for (const auto& built_in : kBuiltIns) {
      if (spec.name != built_in.name) continue;
      spec.source = built_in.source;
      if (!node["unit"]) spec.unit = built_in.unit;
      if (!node["better"] && spec.name == kGpuUtilization) spec.better = Better::higher;
      return {};
    }
    return error(node, "metric '" + spec.name + "' does not say where its value comes from",
                 "give regex or json; built in are: time, cpu_time, peak_memory; of GPUs: gpu_utilization, "
                 "gpu_peak_memory, gpu_energy, gpu_power, gpu_clock");
  }

  Status source(const YamlNode& node, MetricSpec& spec) const {
    spec.source = node["regex"] ? MetricSource::regex : MetricSource::json;
    if (node["regex"]) WM_TRY(located(node["regex"], "regex", LinePattern::compile(spec.expression)));
    return {};
  }

  Status project(const YamlNode& root, CommandSpec& spec) const {
    WM_TRY(fill(root, "the file must be a map with the key 'run'", kProjectKeys, spec));
    for (const auto& [name, value] : root["env"].pairs()) {
      if (!name.text().empty() && name.text().find('=') == std::string::npos) continue;
      return error(name, "'" + name.text() + "' is no variable");
    }
    if (root["reference"] && spec.reference.empty()) {
      return error(root["reference"], "reference is empty", "name a revision, such as v1.0 or a commit");
    }
    bool shell = false;
    if (root["shell"]) WM_TRY(value(root["shell"], {"shell"}, shell));
    if (!root["run"] && !root["stages"]) return error(root, "the project has no command to run", "add run: COMMAND");
    if (root["run"]) WM_TRY(words(root["run"], "run", shell, spec.run));
    if (root["build"]) WM_TRY(words(root["build"], "build", shell, spec.build));
    WM_TRY(metrics(root["metrics"], spec));
    WM_TRY(amounts(root, "", spec));
    if (root["stages"]) WM_TRY(stages(root["stages"], shell, spec));
    return root["accuracy"] ? accuracy(root["accuracy"], shell, spec) : Status();
  }

  /// How much a stage (or all) processes, and how long it may take.
  Status amounts(const YamlNode& node, const std::string& stage, CommandSpec& spec) const {
    if (const auto given = node["items"]) {
      WM_ASSIGN(std::string items, scalar(given, "items"));
      if (items.find('{') == std::string::npos) {  // else the configuration fills it in
        double count = 0;
        WM_TRY(value(given, {.key = "items", .form = yaml::positive}, count));
        items = fmt::format("{}", count);
      }
      spec.stage_notes.emplace_back(std::string(kStageItems) + stage, std::move(items));
    }
    if (!node["sla"]) return {};
    double limit_s = 0;
    WM_TRY(value(node["sla"], {.key = "sla", .form = yaml::duration}, limit_s));
    spec.stage_notes.emplace_back(std::string(kStageLimit) + stage, fmt::format("{}", limit_s));
    return {};
  }

  Status stages(const YamlNode& list, bool shell, CommandSpec& spec) const {
    if (list.items().empty()) return error(list, "stages must be a list with at least one stage");
    const bool commands = spec.run.empty();
    const bool timed = std::ranges::any_of(spec.metrics, [](const auto& item) { return item.name == "time"; });
    if (!timed) spec.metrics.push_back(timed_command({}).metrics.front());
    std::set<std::string> names;
    for (const auto& node : list.items()) {
      if (!node.is_map()) return error(node, "a stage must be a map such as {name: train, run: ./train}");
      if (!node["name"]) return error(node, "a stage needs a name");
      std::string name;
      WM_TRY(value(node["name"], {.key = "name", .form = yaml::one_line}, name));
      if (name.empty() || name.find_first_of(" \t") != std::string::npos) {
        return error(node["name"], "the name of a stage is one word");
      }
      if (!names.insert(name).second) return error(node, "stage '" + name + "' is there twice");
      WM_TRY(commands ? stage_command(node, name, shell, spec) : reported_stage(node, name, spec));
      WM_TRY(amounts(node, name, spec));
    }
    return {};
  }

  Status stage_command(const YamlNode& node, const std::string& name, bool shell, CommandSpec& spec) const {
    WM_TRY(only_keys(node, {"name", "run", "items", "sla"}));
    if (!node["run"]) {
      return error(node, "stage '" + name + "' has nothing to run",
                   "add run: COMMAND; or give run for all stages, and regex or json for the time of each");
    }
    std::vector<std::string> command;
    WM_TRY(words(node["run"], "run", shell, command));
    if (!spec.run.empty()) spec.run.emplace_back("then");
    const std::size_t begin = spec.run.size();
    spec.run.insert(spec.run.end(), command.begin(), command.end());
    spec.stages.push_back({name, begin, spec.run.size()});
    return {};
  }

  /// Its time is printed by the command that runs all of them, in seconds.
  Status reported_stage(const YamlNode& node, const std::string& name, CommandSpec& spec) const {
    MetricSpec spec_of_time{.name = std::string(kStagePrefix) + name, .unit = "s"};
    WM_TRY(fill(node, "", kStageKeys, spec_of_time));
    if (!node["regex"] && !node["json"]) {
      return error(node, "stage '" + name + "' does not say where its time comes from",
                   "regex or json, as of a metric; or no run for all, and a run for each stage");
    }
    WM_TRY(source(node, spec_of_time));
    spec.metrics.push_back(std::move(spec_of_time));
    return {};
  }

  Status metrics(const YamlNode& list, CommandSpec& spec) const {
    if (!list) {
      spec.metrics = timed_command({}).metrics;
      return {};
    }
    if (list.items().empty()) return error(list, "metrics must be a list with at least one metric");
    std::set<std::string> names;
    for (const auto& node : list.items()) {
      MetricSpec& item = spec.metrics.emplace_back();
      WM_TRY(metric(node, item));
      if (!names.insert(item.name).second) return error(node, "metric '" + item.name + "' is there twice");
    }
    return {};
  }

  Status accuracy(const YamlNode& list, bool shell, CommandSpec& spec) const {
    const auto gates = list.is_map() ? std::vector<YamlNode>{list} : list.items();
    if (gates.empty()) return error(list, "accuracy must be a list with at least one gate");
    for (const auto& node : gates) WM_TRY(one_gate(node, shell, spec));
    return {};
  }

  Status one_gate(const YamlNode& node, bool shell, CommandSpec& spec) const {
    if (!node.is_map()) {
      return error(node, "a gate must be a map such as {metric: top1, margin: 1%} or {command: ./check}");
    }
    WM_TRY(only_keys(node, {"metric", "command", "margin"}));
    if (!node["metric"] == !node["command"]) {
      return error(node, "a gate needs a metric or a command", "{metric: top1, margin: 1%} or {command: ./check}");
    }
    if (node["command"]) {
      if (node["margin"]) return error(node["margin"], "a command has no margin: its exit status decides");
      return words(node["command"], "command", shell, spec.accuracy.emplace_back().command);
    }
    if (!node["margin"]) return error(node, "a gate on a metric needs a margin", "such as margin: 1%");
    WM_ASSIGN(const auto name, scalar(node["metric"], "metric"));
    WM_ASSIGN(const auto margin, scalar(node["margin"], "margin"));
    WM_ASSIGN(auto gate, located(node, "accuracy", metric_gate(name, margin, spec)));
    spec.accuracy.push_back(std::move(gate));
    return {};
  }
};

}  // namespace

Result<AccuracyGate> metric_gate(const std::string& metric, const std::string& margin, const CommandSpec& spec) {
  std::vector<std::string> names;
  for (const auto& item : spec.metrics) names.push_back(item.name);
  const auto found = std::ranges::find(names, metric);
  if (found == names.end()) {
    const auto meant = nearest(metric, names);
    return usage_error("there is no metric '" + metric + "'",
                       meant.empty() ? "metrics: " + join(names, ", ") : "did you mean '" + meant + "'?");
  }
  if (spec.metrics[static_cast<std::size_t>(found - names.begin())].better == Better::neither) {
    return usage_error("metric '" + metric + "' is better neither higher nor lower", "say better: higher or lower");
  }
  AccuracyGate gate{.metric = metric, .command = {}};
  gate.relative = margin.ends_with("%");
  WM_ASSIGN(gate.margin, gate.relative ? parse_ratio(margin) : parse_number(margin));
  if (!(gate.margin >= 0)) return usage_error("the margin of '" + metric + "' must not be negative");
  return gate;
}

Result<CommandSpec> parse_command_spec(std::string_view yaml, std::string_view file_name) {
  WM_ASSIGN(const auto root, read_yaml(yaml, file_name));
  CommandSpec spec;
  WM_TRY(CommandReader(file_name).project(root, spec));
  return spec;
}

Result<CommandSpec> read_command_spec(const YamlReader& reader, const YamlNode& node) {
  const CommandReader own(reader.file());
  CommandSpec spec = timed_command({});
  const bool alone = node.is_scalar() || node.is_list();
  if (!alone) spec.metrics.clear();
  WM_TRY(alone ? own.words(node, "run", false, spec.run) : own.project(node, spec));
  return spec;
}

Result<CommandSpec> load_command_spec(const std::string& path) {
  WM_ASSIGN(const auto text, read_file(path, kLargestYamlBytes));
  return parse_command_spec(text, path);
}

CommandSpec timed_command(std::vector<std::string> words) {
  CommandSpec spec;
  spec.run = std::move(words);
  spec.metrics.push_back({.name = "time", .unit = "s"});
  return spec;
}

}  // namespace warpmark::validate
