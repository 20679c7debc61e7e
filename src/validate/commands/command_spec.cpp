#include "validate/commands/command_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "base/yaml.h"
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

struct CommandReader : YamlReader {
  using YamlReader::YamlReader;

  Result<std::vector<std::string>> words(const YAML::Node& node, const std::string& name, bool shell) const {
    if (node.IsSequence()) {
      if (shell) return error(node, name + " must be one text where shell is true");
      std::vector<std::string> result;
      for (const auto& item : node) {
        WM_ASSIGN(auto word, scalar(item, name));
        result.push_back(std::move(word));
      }
      if (result.empty()) return error(node, name + " is empty");
      return result;
    }
    WM_ASSIGN(const auto text, scalar(node, name));
    if (shell) return std::vector<std::string>{"/bin/sh", "-c", text};
    auto result = split_words(text);
    if (!result.ok()) return error(node, name + ": " + result.error().what, result.error().hint);
    return result;
  }

  /// Names and units stand in tables, on terminals and in the comments of others.
  Status printable(const YAML::Node& node, const char* what, const std::string& text) const {
    const bool clean = std::none_of(text.begin(), text.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (clean) return {};
    return error(node, std::string(what) + " has control characters", "one line of plain text");
  }

  Result<MetricSpec> metric(const YAML::Node& node) const {
    if (!node.IsMap()) return error(node, "a metric must be a map such as {name: time} or {name: loss, regex: '...'}");
    WM_TRY(only_keys(node, {"name", "unit", "better", "regex", "json", "file", "percentile"}));
    MetricSpec spec;
    if (!node["name"]) return error(node, "a metric needs a name");
    WM_ASSIGN(spec.name, scalar(node["name"], "name"));
    if (spec.name.empty()) return error(node["name"], "a metric needs a name");
    WM_TRY(printable(node["name"], "the name of a metric", spec.name));
    if (node["regex"] && node["json"]) return error(node, spec.name + " has both regex and json", "give one");
    WM_TRY(maybe(node, "file", spec.file));
    WM_TRY(source(node, spec));
    if (node["percentile"]) {
      WM_ASSIGN(const double percent, number(node["percentile"], "percentile"));
      if (!(percent > 0 && percent < 100)) return error(node["percentile"], "percentile must be between 0 and 100");
      if (!node["regex"] && !node["json"]) return error(node["percentile"], "percentile needs regex or json");
      spec.percentile = percent / 100;
    }
    WM_TRY(maybe(node, "unit", spec.unit));
    WM_TRY(printable(node["unit"], "the unit of a metric", spec.unit));
    if (node["better"]) {
      WM_ASSIGN(const auto text, scalar(node["better"], "better"));
      const auto better = value_named<Better>(text);
      if (!better) return error(node["better"], "better is '" + text + "'", "lower, higher or neither");
      spec.better = *better;
    }
    return spec;
  }

  Status source(const YAML::Node& node, MetricSpec& spec) const {
    if (node["regex"]) {
      spec.source = MetricSource::regex;
      WM_ASSIGN(spec.expression, scalar(node["regex"], "regex"));
      WM_ASSIGN([[maybe_unused]] const auto pattern,
                located(node["regex"], "regex", LinePattern::compile(spec.expression)));
      return {};
    }
    if (node["json"]) {
      spec.source = MetricSource::json;
      WM_ASSIGN(spec.expression, scalar(node["json"], "json"));
      return {};
    }
    for (const auto& built_in : kBuiltIns) {
      if (spec.name != built_in.name) continue;
      spec.source = built_in.source;
      spec.unit = built_in.unit;
      if (spec.name == kGpuUtilization) spec.better = Better::higher;
      return {};
    }
    return error(node, "metric '" + spec.name + "' does not say where its value comes from",
                 "give regex or json; built in are: time, cpu_time, peak_memory; of GPUs: gpu_utilization, "
                 "gpu_peak_memory, gpu_energy, "
                 "gpu_power, gpu_clock");
  }

  Status environment(const YAML::Node& map, CommandSpec& spec) const {
    if (!map.IsMap()) return error(map, "env must be a map such as {OMP_NUM_THREADS: 2}");
    WM_TRY(no_key_twice(map));
    for (const auto& item : map) {
      const auto name = item.first.Scalar();
      WM_ASSIGN(auto value, scalar(item.second, "env." + name));
      if (name.empty() || name.find('=') != std::string::npos)
        return error(item.first, "'" + name + "' is no variable");
      spec.environment.emplace_back(name, std::move(value));
    }
    return {};
  }

  Result<CommandSpec> spec(const YAML::Node& root) const {
    if (!root.IsMap()) return error(root, "the file must be a map with the key 'run'");
    WM_TRY(only_keys(root, {"schema", "build", "run", "shell", "timeout", "build_timeout", "env", "reference",
                            "metrics", "accuracy", "items", "sla", "stages", "sizes"}));
    WM_TRY(schema(root, kProjectSchema));
    CommandSpec result;
    bool shell = false;
    WM_TRY(maybe(root, "shell", shell));
    if (!root["run"] && !root["stages"]) return error(root, "the project has no command to run", "add run: COMMAND");
    WM_TRY(maybe(root, "run", result.run, &CommandReader::words, shell));
    WM_TRY(maybe(root, "build", result.build, &CommandReader::words, shell));
    WM_TRY(maybe(root, "timeout", result.timeout_s, &YamlReader::duration_s));
    WM_TRY(maybe(root, "build_timeout", result.build_timeout_s, &YamlReader::duration_s));
    if (root["env"]) WM_TRY(environment(root["env"], result));
    if (root["reference"]) WM_TRY(reference(root["reference"], result));
    WM_TRY(metrics(root["metrics"], result));
    WM_TRY(amounts(root, "", result));
    if (root["stages"]) WM_TRY(stages(root["stages"], shell, result));
    if (root["sizes"]) WM_TRY(sizes(root["sizes"], result));
    if (root["accuracy"]) WM_TRY(accuracy(root["accuracy"], shell, result));
    return result;
  }

  /// How much a stage (or all) processes, and how long it may take.
  Status amounts(const YAML::Node& node, const std::string& stage, CommandSpec& spec) const {
    if (node["items"]) {
      WM_ASSIGN(std::string items, scalar(node["items"], "items"));
      if (items.find('{') == std::string::npos) {  // else the configuration fills it in
        WM_ASSIGN(const double count, number(node["items"], "items"));
        if (!(count > 0)) return error(node["items"], "items must be above 0");
        items = fmt::format("{}", count);
      }
      spec.stage_notes.emplace_back(std::string(kStageItems) + stage, std::move(items));
    }
    if (node["sla"]) {
      WM_ASSIGN(const double limit_s, duration_s(node["sla"], "sla"));
      if (!(limit_s > 0)) return error(node["sla"], "sla must be above 0");
      spec.stage_notes.emplace_back(std::string(kStageLimit) + stage, fmt::format("{}", limit_s));
    }
    return {};
  }

  Status stages(const YAML::Node& list, bool shell, CommandSpec& spec) const {
    if (!list.IsSequence() || list.size() == 0) return error(list, "stages must be a list with at least one stage");
    const bool commands = spec.run.empty();
    const bool timed =
        std::any_of(spec.metrics.begin(), spec.metrics.end(), [](const auto& item) { return item.name == "time"; });
    if (!timed) spec.metrics.push_back(timed_command({}).metrics.front());
    std::set<std::string> names;
    for (const auto& node : list) {
      if (!node.IsMap()) return error(node, "a stage must be a map such as {name: train, run: ./train}");
      if (!node["name"]) return error(node, "a stage needs a name");
      WM_ASSIGN(const auto name, scalar(node["name"], "name"));
      WM_TRY(printable(node["name"], "the name of a stage", name));
      if (name.empty() || name.find_first_of(" \t") != std::string::npos) {
        return error(node["name"], "the name of a stage is one word");
      }
      if (!names.insert(name).second) return error(node, "stage '" + name + "' is there twice");
      WM_TRY(commands ? stage_command(node, name, shell, spec) : reported_stage(node, name, spec));
      WM_TRY(amounts(node, name, spec));
    }
    return {};
  }

  Status stage_command(const YAML::Node& node, const std::string& name, bool shell, CommandSpec& spec) const {
    WM_TRY(only_keys(node, {"name", "run", "items", "sla"}));
    if (!node["run"]) {
      return error(node, "stage '" + name + "' has nothing to run",
                   "add run: COMMAND; or give run for all stages, and regex or json for the time of each");
    }
    WM_ASSIGN(const auto command, words(node["run"], "run", shell));
    if (!spec.run.empty()) spec.run.emplace_back("then");
    const std::size_t begin = spec.run.size();
    spec.run.insert(spec.run.end(), command.begin(), command.end());
    spec.stages.push_back({name, begin, spec.run.size()});
    return {};
  }

  /// Its time is told by the command that runs all of them, in seconds.
  Status reported_stage(const YAML::Node& node, const std::string& name, CommandSpec& spec) const {
    WM_TRY(only_keys(node, {"name", "regex", "json", "file", "items", "sla"}));
    if (!node["regex"] && !node["json"]) {
      return error(node, "stage '" + name + "' does not say where its time comes from",
                   "regex or json, as of a metric; or no run for all, and a run for each stage");
    }
    MetricSpec spec_of_time{.name = std::string(kStagePrefix) + name, .unit = "s"};
    WM_TRY(maybe(node, "file", spec_of_time.file));
    WM_TRY(source(node, spec_of_time));
    spec.metrics.push_back(std::move(spec_of_time));
    return {};
  }

  Status sizes(const YAML::Node& map, CommandSpec& spec) const {
    if (!map.IsMap() || map.size() == 0) return error(map, "sizes must be a map such as {n: [10, 100, 1000]}");
    WM_TRY(no_key_twice(map));
    for (const auto& item : map) {
      std::vector<std::string> values;
      // {small: 10, typical: 100, large: 1000} says the same with names.
      if (item.second.IsMap()) {
        for (const auto& named : item.second) {
          WM_ASSIGN(auto value, scalar(named.second, named.first.Scalar()));
          values.push_back(std::move(value));
        }
      } else {
        WM_ASSIGN(values, texts(item.second, item.first.Scalar()));
      }
      for (const auto& value : values) {
        const auto number = parse_number(value);
        if (!number.ok() || !(*number > 0))
          return error(item.second, "a size is a number above 0, not '" + value + "'");
      }
      if (values.size() < 3) return error(item.second, "the fixed cost needs three sizes");
      spec.sizes.emplace_back(item.first.Scalar(), std::move(values));
    }
    return {};
  }

  Status reference(const YAML::Node& node, CommandSpec& spec) const {
    WM_ASSIGN(spec.reference, scalar(node, "reference"));
    if (spec.reference.empty()) return error(node, "reference is empty", "name a revision, such as v1.0 or a commit");
    return printable(node, "the reference", spec.reference);
  }

  Status metrics(const YAML::Node& list, CommandSpec& spec) const {
    if (!list) {
      spec.metrics = timed_command({}).metrics;
      return {};
    }
    if (!list.IsSequence() || list.size() == 0) return error(list, "metrics must be a list with at least one metric");
    std::set<std::string> names;
    for (const auto& node : list) {
      WM_ASSIGN(auto item, metric(node));
      if (!names.insert(item.name).second) return error(node, "metric '" + item.name + "' is there twice");
      spec.metrics.push_back(std::move(item));
    }
    return {};
  }

  Status accuracy(const YAML::Node& list, bool shell, CommandSpec& spec) const {
    if (list.IsMap()) return one_gate(list, shell, spec);
    if (!list.IsSequence() || list.size() == 0) return error(list, "accuracy must be a list with at least one gate");
    for (const auto& node : list) WM_TRY(one_gate(node, shell, spec));
    return {};
  }

  Status one_gate(const YAML::Node& node, bool shell, CommandSpec& spec) const {
    if (!node.IsMap()) {
      return error(node, "a gate must be a map such as {metric: top1, margin: 1%} or {command: ./check}");
    }
    WM_TRY(only_keys(node, {"metric", "command", "margin"}));
    if (node["metric"].IsDefined() == node["command"].IsDefined()) {
      return error(node, "a gate needs a metric or a command", "{metric: top1, margin: 1%} or {command: ./check}");
    }
    if (node["command"]) {
      if (node["margin"]) return error(node["margin"], "a command has no margin: its exit status decides");
      AccuracyGate gate;
      WM_ASSIGN(gate.command, words(node["command"], "command", shell));
      spec.accuracy.push_back(std::move(gate));
      return {};
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
  const auto found = std::find(names.begin(), names.end(), metric);
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
  return read_yaml(yaml, file_name, [&](const YAML::Node& root) { return read_command_spec(file_name, root); });
}

Result<CommandSpec> read_command_spec(std::string_view file_name, const YAML::Node& node) {
  return CommandReader(file_name).spec(node);
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
