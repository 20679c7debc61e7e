#include "validate/accept/criteria.h"

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "base/yaml.h"
#include "generated/criteria.h"

namespace warpmark::validate {
namespace {

struct KnownMetric {
  const char* id;
  const char* unit;
};
/// Of our own workloads (docs/metrics/run.md). Others, of commands and of imported results, are judged in their own
/// unit.
constexpr std::array kMetrics{KnownMetric{"time", "s"},
                              KnownMetric{"flop_rate", "FLOP/s"},
                              KnownMetric{"bandwidth", "B/s"},
                              KnownMetric{"algorithm_bandwidth", "B/s"},
                              KnownMetric{"bus_bandwidth", "B/s"},
                              KnownMetric{"energy", "J"},
                              KnownMetric{"loss", "ratio"},
                              KnownMetric{"jitter", "s"},
                              KnownMetric{"samples_rate", "1/s"},
                              KnownMetric{"tokens_rate", "1/s"},
                              KnownMetric{"reads_rate", "1/s"},
                              KnownMetric{"lookups_rate", "1/s"},
                              KnownMetric{"item_rate", "1/s"},
                              KnownMetric{"mfu", "ratio"},
                              KnownMetric{"peak_share", "ratio"},
                              KnownMetric{"peak_time", "s"},
                              KnownMetric{"first_step", "s"},
                              KnownMetric{"batch_time", "s"},
                              KnownMetric{"copy_time", "s"},
                              KnownMetric{"samples_energy", "J"},
                              KnownMetric{"need_ratio", "ratio"},
                              KnownMetric{"hit_rate", "ratio"},
                              KnownMetric{"gpu_utilization", "ratio"}};

/// The number of "400 samples/s" or "400 1/s" for a rate of things that are counted, whatever either calls them.
std::optional<double> counted_rate(std::string_view text, std::string_view unit) {
  const auto is_counted = [](std::string_view rate) {
    if (!rate.ends_with("/s")) return false;
    const auto what = rate.substr(0, rate.size() - 2);
    return what == "1" || (what.size() > 1 && what != "FLOP" &&
                           std::all_of(what.begin(), what.end(), [](char c) { return c >= 'a' && c <= 'z'; }));
  };
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos || !is_counted(unit) || !is_counted(trim(text.substr(blank))))
    return std::nullopt;
  const auto number = parse_number(text.substr(0, blank));
  return number.ok() ? std::optional(*number) : std::nullopt;
}

Result<double> limit_in(const std::string& text, std::string_view unit) {
  if (unit == "ratio") return parse_ratio(text);
  if (const auto rate = counted_rate(text, unit)) return *rate;
  return parse_quantity(text, unit);
}

struct CriteriaReader : YamlReader {
  using YamlReader::YamlReader;

  Status text(const YAML::Node& map, const char* key, std::string& out) const {
    if (!map[key]) return {};
    WM_ASSIGN(out, scalar(map[key], key));
    return {};
  }

  Status measured(const YAML::Node& node, Criterion& row) const {
    WM_TRY(text(node, "workload", row.workload));
    WM_TRY(maybe(node, "set", row.set));
    WM_TRY(text(node, "metric", row.metric));
    WM_TRY(maybe(node, "statistic", row.statistic, &YamlReader::one_of, {"median", "p90", "p95", "p99"}));
    if (row.of == LimitOf::peak) {
      if (node["metric"] || node["statistic"]) {
        return error(node, "a share of the peak is of the median time", "leave out metric and statistic");
      }
      return {};
    }
    if (row.metric.empty()) return error(node, "a workload needs a metric", "add metric: bandwidth, or of: peak");
    return known_metric(node["metric"], row);
  }

  Status known_metric(const YAML::Node& node, const Criterion& row) const {
    if (row.workload == "command") return {};
    std::vector<std::string> ids;
    for (const auto& metric : kMetrics) {
      ids.emplace_back(metric.id);
      if (row.metric != metric.id) continue;
      return row.of == LimitOf::nothing ? limits_fit(node, row, metric.unit) : Status();
    }
    const auto meant = nearest(row.metric, ids);
    if (meant.empty()) return {};
    return error(node, "there is no metric '" + row.metric + "'", "did you mean '" + meant + "'?");
  }

  Status machine_fact(const YAML::Node& node, Criterion& row) const {
    WM_TRY(text(node, "fact", row.fact));
    for (const char* key : {"workload", "set", "metric", "statistic"}) {
      if (node[key]) return error(node[key], std::string("a fact has no ") + key);
    }
    const auto* kind = find_fact_kind(row.fact);
    if (kind == nullptr) {
      std::vector<std::string> ids{"doctor.governor"};
      for (const auto& known : fact_kinds()) ids.emplace_back(known.id);
      const auto meant = nearest(row.fact, ids);
      return error(node["fact"], "there is no fact '" + row.fact + "'",
                   (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "`warpmark list facts` shows all");
    }
    if (row.of == LimitOf::peak) return error(node["of"], "a fact has no peak");
    if (kind->type == FactType::state && row.comparator != Comparator::equal) {
      return error(node["operator"], row.fact + " is a word", "use operator: '=='");
    }
    if (kind->type == FactType::number && row.of == LimitOf::nothing) return limits_fit(node["value"], row, kind->unit);
    return {};
  }

  Status limits_fit(const YAML::Node& at, const Criterion& row, std::string_view unit) const {
    double last = 0;
    for (const auto& limit : row.limits) {
      WM_ASSIGN(const double value, located(at, "value", limit_in(limit, unit)));
      if (&limit != &row.limits.front() && !(value > last))
        return error(at, "the second value must be above the first");
      last = value;
    }
    return {};
  }

  Status limit(const YAML::Node& node, Criterion& row) const {
    if (!node["operator"]) return error(node, "a criterion needs an operator", "one of: >=, <=, ==, between");
    WM_ASSIGN(const auto word, one_of(node["operator"], "operator", {">=", "<=", "==", "between"}));
    row.comparator = *value_named<Comparator>(word);
    if (!node["value"]) return error(node, "a criterion needs a value", "such as value: 3 TB/s");
    WM_ASSIGN(row.limits, texts(node["value"], "value"));
    const std::size_t wanted = row.comparator == Comparator::between ? 2 : 1;
    if (row.limits.size() != wanted) {
      return error(node["value"], wanted == 2 ? "between needs a list of two values" : "value must be a single value",
                   wanted == 2 ? "such as value: [1 ms, 2 ms]" : "");
    }
    if (!node["of"]) return {};
    WM_ASSIGN(const auto of, one_of(node["of"], "of", {"peak", "datasheet"}));
    row.of = of == "peak" ? LimitOf::peak : LimitOf::datasheet;
    return limits_fit(node["value"], row, "ratio");
  }

  Result<Criterion> criterion(const YAML::Node& node) const {
    if (!node.IsMap()) {
      return error(node, "a criterion must be a map such as {fact: ecc, operator: '==', value: on}");
    }
    WM_TRY(only_keys(node, {"title", "required", "workload", "device", "set", "metric", "statistic", "fact", "operator",
                            "value", "of"}));
    Criterion row;
    row.line = node.Mark().line + 1;
    WM_TRY(maybe(node, "required", row.required));
    WM_TRY(text(node, "title", row.title));
    WM_TRY(text(node, "device", row.device));
    WM_TRY(limit(node, row));
    if (!node["workload"] && !node["fact"]) return error(node, "a criterion needs a workload or a fact");
    WM_TRY(node["fact"] ? machine_fact(node, row) : measured(node, row));
    if (row.comparator == Comparator::equal && row.fact.empty()) {
      return error(node["operator"], "a measured value is never exactly equal", "use between");
    }
    if (row.title.empty()) row.title = row.fact.empty() ? row.workload + " " + row.metric : row.fact;
    return row;
  }

  Result<Criteria> criteria(const YAML::Node& root) const {
    if (!root.IsMap()) return error(root, "criteria must be a map with the key 'criteria'");
    WM_TRY(only_keys(root, {"schema", "name", "summary", "datasheet", "budget", "rounds", "precision", "criteria"}));
    WM_TRY(schema(root, kCriteriaSchema));
    Criteria result;
    WM_TRY(text(root, "name", result.name));
    WM_TRY(text(root, "summary", result.summary));
    WM_TRY(text(root, "datasheet", result.datasheet));
    WM_TRY(maybe(root, "budget", result.budget_s, &YamlReader::duration_s));
    WM_TRY(maybe(root, "rounds", result.rounds, &YamlReader::count, 1, 100));
    WM_TRY(maybe(root, "precision", result.half_width, &YamlReader::ratio));
    const auto rows = root["criteria"];
    if (!rows || !rows.IsSequence() || rows.size() == 0) {
      return error(rows ? rows : root, "there must be a list of criteria",
                   "add criteria: [{fact: ecc, operator: '==', value: on}]");
    }
    for (const auto& node : rows) {
      WM_ASSIGN(auto row, criterion(node));
      result.rows.push_back(std::move(row));
    }
    return result;
  }
};

std::string stem_of(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  return std::string(name.substr(0, name.rfind('.')));
}

}  // namespace

Result<Criteria> parse_criteria(std::string_view yaml, std::string_view file_name) {
  WM_ASSIGN(auto criteria, read_yaml(yaml, file_name,
                                     [&](const YAML::Node& root) { return CriteriaReader(file_name).criteria(root); }));
  if (criteria.name.empty()) criteria.name = stem_of(file_name);
  return criteria;
}

std::vector<std::string> built_in_criteria_names() {
  std::vector<std::string> names;
  for (const auto& file : generated::kCriteria) names.push_back(stem_of(file.name));
  return names;
}

Result<CriteriaFile> load_criteria(const std::string& name_or_path) {
  const bool is_path =
      name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".yaml") || name_or_path.ends_with(".yml");
  if (is_path) {
    WM_ASSIGN(auto text, read_file(name_or_path, kLargestYamlBytes));
    return CriteriaFile{name_or_path, std::move(text)};
  }
  for (const auto& file : generated::kCriteria) {
    if (stem_of(file.name) == name_or_path) return CriteriaFile{std::string(file.name), std::string(file.text)};
  }
  const auto names = built_in_criteria_names();
  const auto meant = nearest(name_or_path, names);
  return usage_error("there are no criteria '" + name_or_path + "'",
                     (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "criteria: " + join(names, ", ") +
                         ", or a path to a .yaml file");
}

Result<std::vector<double>> limits_of(const Criterion& criterion, std::string_view unit) {
  std::vector<double> limits;
  for (const auto& text : criterion.limits) {
    const auto value = limit_in(text, unit);
    if (!value.ok()) {
      return data_error(fmt::format("line {}: {}", criterion.line, value.error().what), value.error().hint);
    }
    limits.push_back(*value);
  }
  return limits;
}

}  // namespace warpmark::validate
