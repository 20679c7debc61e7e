#include "workloads/suite.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "generated/suites.h"

namespace warpmark::workloads {
namespace {

struct Reader {
  std::string_view file;

  [[nodiscard]] Error error(const YAML::Node& at, const std::string& what, std::string hint = {}) const {
    const int line = std::max(0, at.Mark().line) + 1;  // yaml-cpp gives an empty file the line -1
    return data_error(fmt::format("{} line {}: {}", file, line, what), std::move(hint));
  }

  template <std::size_t N>
  Status only_keys(const YAML::Node& map, const std::array<std::string, N>& allowed) const {
    for (const auto& item : map) {
      const auto key = item.first.Scalar();
      if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
      const auto meant = nearest(key, allowed);
      return error(item.first, "unknown key '" + key + "'",
                   meant.empty() ? "allowed: " + join(allowed, ", ") : "did you mean '" + meant + "'?");
    }
    return {};
  }

  Result<std::string> scalar(const YAML::Node& node, const std::string& name) const {
    if (!node.IsScalar()) return error(node, name + " must be a single value");
    return node.Scalar();
  }

  template <typename T>
  Result<T> located(const YAML::Node& node, const std::string& name, const Result<T>& value) const {
    if (!value.ok()) return error(node, name + ": " + value.error().what, value.error().hint);
    return value;
  }

  Result<Overrides> overrides(const YAML::Node& map) const {
    if (!map.IsMap()) return error(map, "set must be a map such as {m: 1024, dtype: f32}");
    Overrides result;
    for (const auto& item : map) {
      WM_ASSIGN(auto value, scalar(item.second, "set." + item.first.Scalar()));
      result.emplace_back(item.first.Scalar(), std::move(value));
    }
    return result;
  }

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
    static const std::array<std::string, 4> kKeys{"workload", "device", "set", "sweep"};
    WM_TRY(only_keys(node, kKeys));
    SuiteEntry result;
    result.line = node.Mark().line + 1;
    if (!node["workload"]) return error(node, "a case needs a workload", "add workload: NAME (or a glob)");
    WM_ASSIGN(result.workload, scalar(node["workload"], "workload"));
    if (node["device"]) {
      WM_ASSIGN(result.device, scalar(node["device"], "device"));
    }
    if (node["set"]) {
      WM_ASSIGN(result.set, overrides(node["set"]));
    }
    if (node["sweep"]) {
      WM_ASSIGN(result.sweep, sweep(node["sweep"]));
    }
    return result;
  }

  Status header(const YAML::Node& root, Suite& suite) const {
    if (root["schema"]) {
      WM_ASSIGN(const auto schema, scalar(root["schema"], "schema"));
      if (schema != kSuiteSchema) {
        return error(root["schema"], "schema '" + schema + "' is not known", std::string("use ") + kSuiteSchema);
      }
    }
    if (root["name"]) {
      WM_ASSIGN(suite.name, scalar(root["name"], "name"));
    }
    if (root["summary"]) {
      WM_ASSIGN(suite.summary, scalar(root["summary"], "summary"));
    }
    if (const auto node = root["budget"]) {
      WM_ASSIGN(const auto text, scalar(node, "budget"));
      WM_ASSIGN(suite.budget_s, located(node, "budget", parse_duration_s(text)));
    }
    if (const auto node = root["precision"]) {
      WM_ASSIGN(const auto text, scalar(node, "precision"));
      WM_ASSIGN(suite.half_width, located(node, "precision", parse_ratio(text)));
      if (suite.half_width <= 0) return error(node, "precision must be above 0");
    }
    if (const auto node = root["rounds"]) {
      WM_ASSIGN(const auto text, scalar(node, "rounds"));
      WM_ASSIGN(const auto rounds, located(node, "rounds", parse_integer(text)));
      if (rounds < 1 || rounds > 100) return error(node, fmt::format("rounds is {}, must be 1 to 100", rounds));
      suite.rounds = static_cast<int>(rounds);
    }
    return {};
  }

  Result<Suite> suite(const YAML::Node& root) const {
    if (!root.IsMap()) return error(root, "a suite must be a map with the key 'cases'");
    static const std::array<std::string, 7> kKeys{"schema", "name",      "summary", "budget",
                                                  "rounds", "precision", "cases"};
    WM_TRY(only_keys(root, kKeys));
    Suite result;
    WM_TRY(header(root, result));
    const auto cases = root["cases"];
    if (!cases || !cases.IsSequence() || cases.size() == 0) {
      return error(cases ? cases : root, "a suite needs a list of cases", "add cases: [{workload: copy}]");
    }
    for (const auto& node : cases) {
      WM_ASSIGN(auto item, entry(node));
      result.entries.push_back(std::move(item));
    }
    return result;
  }
};

}  // namespace

Result<Suite> parse_suite(std::string_view yaml, std::string_view file_name) {
  try {
    return Reader{file_name}.suite(YAML::Load(std::string(yaml)));
  } catch (const YAML::Exception& exception) {
    return data_error(fmt::format("{} line {}: {}", file_name, exception.mark.line + 1, exception.msg),
                      "the file must be valid YAML");
  }
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
    constexpr std::int64_t kCapBytes = 1 << 20;
    WM_ASSIGN(const auto text, read_file(name_or_path, kCapBytes));
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
