#include "workloads/suite.h"

#include "base/files.h"
#include "base/text.h"
#include "base/yaml_keys.h"
#include "generated/suites.h"

namespace warpmark::workloads {
namespace {

Status read_sweep(const YamlReader& reader, const YamlNode& map, const YamlKey&, Sweep& into) {
  if (!map.is_map()) return reader.error(map, "sweep must be a map of lists such as {m: [512, 1024]}");
  for (const auto& [key, list] : map.pairs()) {
    const auto name = "sweep." + key.text();
    if (list.items().empty()) return reader.error(list, name + " must be a list of values such as [512, 1024]");
    WM_ASSIGN(auto values, reader.texts(list, name));
    into.emplace_back(key.text(), std::move(values));
  }
  return {};
}

constexpr YamlKey kCaseKeys[] = {
    yaml_key<&SuiteEntry::workload>("workload").needed("a case needs a workload", "add workload: NAME (or a glob)"),
    yaml_key<&SuiteEntry::device>("device"),
    yaml_key<&SuiteEntry::set>("set"),
    yaml_key<&SuiteEntry::sweep, read_sweep>("sweep"),
};

Status read_cases(const YamlReader& reader, const YamlNode& list, const YamlKey&, Suite& suite) {
  if (list.items().empty()) {
    return reader.error(list, "a suite needs a list of cases", "add cases: [{workload: copy}]");
  }
  for (const auto& node : list.items()) {
    auto& entry = suite.entries.emplace_back();
    entry.line = node.line();
    WM_TRY(reader.fill(node, "a case must be a map such as {workload: gemm, set: {m: 1024}}", kCaseKeys, entry));
  }
  return {};
}

Status read_commands(const YamlReader& reader, const YamlNode& list, const YamlKey&, Suite& suite) {
  if (!list.is_list()) {
    return reader.error(list, "commands must be a list", "commands: [collective all_reduce -b 1M -e 256M]");
  }
  for (const auto& node : list.items()) {
    WM_ASSIGN(const auto text, reader.scalar(node, "a command"));
    WM_ASSIGN(auto words, reader.located(node, "commands", words_of_line(text)));
    if (!words.empty() && words.front() == "warpmark") words.erase(words.begin());
    if (words.empty()) return reader.error(node, "a command is empty", "such as: collective all_reduce -b 1M -e 256M");
    suite.commands.push_back({std::move(words), node.line()});
  }
  return {};
}

constexpr YamlKey kSuiteKeys[] = {
    yaml_schema(kSuiteSchema),
    yaml_key<&Suite::name>("name"),
    yaml_key<&Suite::summary>("summary"),
    yaml_key<&Suite::budget_s>("budget", yaml::duration_or_zero),
    yaml_key<&Suite::rounds>("rounds", yaml::whole(1, 100)),
    yaml_key<&Suite::half_width>("precision", yaml::ratio),
    yaml_key<read_cases>("cases"),
    yaml_key<read_commands>("commands"),
};

}  // namespace

Result<Suite> parse_suite(std::string_view yaml, std::string_view file_name) {
  WM_ASSIGN(const auto root, read_yaml(yaml, file_name));
  const YamlReader reader(file_name);
  Suite suite;
  WM_TRY(reader.fill(root, "a suite must be a map with the key 'cases'", kSuiteKeys, suite));
  if (root["cases"] || root["commands"]) return suite;
  return reader.error(root, "a suite needs a list of cases", "add cases: [{workload: copy}]");
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
