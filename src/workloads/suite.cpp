#include "workloads/suite.h"

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "base/yaml.h"
#include "generated/suites.h"

namespace warpmark::workloads {
namespace {

struct Reader : YamlReader {
  using YamlReader::YamlReader;

  Result<Sweep> sweep(const YAML::Node& map) const {
    if (!map.IsMap()) return error(map, "sweep must be a map of lists such as {m: [512, 1024]}");
    Sweep result;
    for (const auto& item : map) {
      const auto name = item.first.Scalar();
      if (!item.second.IsSequence() || item.second.size() == 0) {
        return error(item.second, "sweep." + name + " must be a list of values such as [512, 1024]");
      }
      std::vector<std::string> values;
      for (const auto& node : item.second) {
        WM_ASSIGN(auto value, scalar(node, "sweep." + name));
        values.push_back(std::move(value));
      }
      result.emplace_back(name, std::move(values));
    }
    return result;
  }

  Result<SuiteEntry> entry(const YAML::Node& node) const {
    if (!node.IsMap()) return error(node, "a case must be a map such as {workload: gemm, set: {m: 1024}}");
    WM_TRY(only_keys(node, {"workload", "device", "set", "sweep"}));
    SuiteEntry result;
    result.line = node.Mark().line + 1;
    if (!node["workload"]) return error(node, "a case needs a workload", "add workload: NAME (or a glob)");
    WM_ASSIGN(result.workload, scalar(node["workload"], "workload"));
    WM_TRY(maybe(node, "device", result.device));
    WM_TRY(maybe(node, "set", result.set));
    if (node["sweep"]) {
      WM_ASSIGN(result.sweep, sweep(node["sweep"]));
    }
    return result;
  }

  Result<SuiteCommand> command(const YAML::Node& node) const {
    WM_ASSIGN(const auto text, scalar(node, "a command"));
    WM_ASSIGN(auto words, located(node, "commands", words_of_line(text)));
    if (!words.empty() && words.front() == "warpmark") words.erase(words.begin());
    if (words.empty()) return error(node, "a command is empty", "such as: collective all_reduce -b 1M -e 256M");
    return SuiteCommand{std::move(words), node.Mark().line + 1};
  }

  Status header(const YAML::Node& root, Suite& suite) const {
    WM_TRY(schema(root, kSuiteSchema));
    WM_TRY(maybe(root, "name", suite.name));
    WM_TRY(maybe(root, "summary", suite.summary));
    if (const auto node = root["budget"]) {
      WM_ASSIGN(const auto text, scalar(node, "budget"));
      WM_ASSIGN(suite.budget_s, located(node, "budget", parse_duration_s(text)));
    }
    WM_TRY(maybe(root, "precision", suite.half_width, &YamlReader::ratio));
    WM_TRY(maybe(root, "rounds", suite.rounds, &YamlReader::count, 1, 100));
    return {};
  }

  Result<Suite> suite(const YAML::Node& root) const {
    if (!root.IsMap()) return error(root, "a suite must be a map with the key 'cases'");
    WM_TRY(only_keys(root, {"schema", "name", "summary", "budget", "rounds", "precision", "cases", "commands"}));
    Suite result;
    WM_TRY(header(root, result));
    const auto cases = root["cases"], commands = root["commands"];
    if ((cases || !commands) && (!cases.IsDefined() || !cases.IsSequence() || cases.size() == 0)) {
      return error(cases ? cases : root, "a suite needs a list of cases", "add cases: [{workload: copy}]");
    }
    if (commands && !commands.IsSequence()) {
      return error(commands, "commands must be a list", "commands: [collective all_reduce -b 1M -e 256M]");
    }
    for (const auto& node : cases) {
      WM_ASSIGN(auto item, entry(node));
      result.entries.push_back(std::move(item));
    }
    for (const auto& node : commands) {
      WM_ASSIGN(auto item, command(node));
      result.commands.push_back(std::move(item));
    }
    return result;
  }
};

}  // namespace

Result<Suite> parse_suite(std::string_view yaml, std::string_view file_name) {
  return read_yaml(yaml, file_name, [&](const YAML::Node& root) { return Reader(file_name).suite(root); });
}

std::vector<std::string> built_in_suite_names() {
  std::vector<std::string> names;
  for (const auto& file : generated::kSuites) names.emplace_back(file.name.substr(0, file.name.rfind('.')));
  return names;
}

Result<Suite> load_suite(const std::string& name_or_path) {
  const bool is_path =
      name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".yaml") || name_or_path.ends_with(".yml");
  if (is_path) {
    WM_ASSIGN(const auto text, read_file(name_or_path, kLargestYamlBytes));
    return parse_suite(text, name_or_path);
  }
  for (const auto& file : generated::kSuites) {
    if (file.name == name_or_path + ".yaml") return parse_suite(file.text, file.name);
  }
  const auto names = built_in_suite_names();
  const auto meant = nearest(name_or_path, names);
  return usage_error("there is no suite '" + name_or_path + "'",
                     (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "suites: " + join(names, ", ") +
                         ", or a path to a .yaml file");
}

}  // namespace warpmark::workloads
