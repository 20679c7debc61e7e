#include "validate/accept/criteria.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "base/yaml_keys.h"
#include "generated/criteria.h"

namespace warpmark::validate {
namespace {

/// Units of the metrics of our own workloads (docs/metrics/run.md). Others, of commands and of imported results, are
/// judged in their own unit.
constexpr std::pair<const char*, const char*> kUnits[] = {{"time", "s"},
                                                          {"flop_rate", "FLOP/s"},
                                                          {"bandwidth", "B/s"},
                                                          {"algorithm_bandwidth", "B/s"},
                                                          {"bus_bandwidth", "B/s"},
                                                          {"energy", "J"},
                                                          {"loss", "ratio"},
                                                          {"jitter", "s"},
                                                          {"samples_rate", "1/s"},
                                                          {"tokens_rate", "1/s"},
                                                          {"reads_rate", "1/s"},
                                                          {"lookups_rate", "1/s"},
                                                          {"item_rate", "1/s"},
                                                          {"mfu", "ratio"},
                                                          {"peak_share", "ratio"},
                                                          {"peak_time", "s"},
                                                          {"first_step", "s"},
                                                          {"batch_time", "s"},
                                                          {"copy_time", "s"},
                                                          {"samples_energy", "J"},
                                                          {"need_ratio", "ratio"},
                                                          {"hit_rate", "ratio"},
                                                          {"gpu_utilization", "ratio"}};

/// The number of "400 samples/s" or "400 1/s" for a rate of things that are counted, whatever either calls them.
std::optional<double> counted_rate(std::string_view text, std::string_view unit) {
  const auto is_counted = [](std::string_view rate) {
    if (!rate.ends_with("/s")) return false;
    const auto what = rate.substr(0, rate.size() - 2);
    return what == "1" || (what.size() > 1 && what != "FLOP" &&
                           std::ranges::all_of(what, [](char c) { return c >= 'a' && c <= 'z'; }));
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

constexpr YamlKey kCriterionKeys[] = {
    yaml_key<&Criterion::title>("title"),
    yaml_key<&Criterion::required>("required"),
    yaml_key<&Criterion::workload>("workload"),
    yaml_key<&Criterion::device>("device"),
    yaml_key<&Criterion::set>("set"),
    yaml_key<&Criterion::metric>("metric"),
    yaml_key<&Criterion::statistic>("statistic", yaml::words("median, p90, p95, p99")),
    yaml_key<&Criterion::fact>("fact"),
    yaml_key<&Criterion::comparator>("operator").needed("a criterion needs an operator", "one of: >=, <=, ==, between"),
    yaml_key<&Criterion::limits>("value").needed("a criterion needs a value", "such as value: 3 TB/s"),
    yaml_key<&Criterion::of>("of"),
};

struct CriteriaReader : YamlReader {
  using YamlReader::YamlReader;

  Status measured(const YamlNode& node, Criterion& row) const {
    if (row.of == LimitOf::peak) {
      if (!node["metric"] && !node["statistic"]) return {};
      return error(node, "a share of the peak is of the median time", "leave out metric and statistic");
    }
    if (row.metric.empty()) return error(node, "a workload needs a metric", "add metric: bandwidth, or of: peak");
    if (row.workload == "command") return {};
    std::vector<std::string> ids;
    for (const auto& [id, unit] : kUnits) {
      if (row.metric == id) return row.of == LimitOf::nothing ? limits_fit(node["metric"], row, unit) : Status();
      ids.emplace_back(id);
    }
    const auto meant = nearest(row.metric, ids);
    if (meant.empty()) return {};
    return error(node["metric"], "there is no metric '" + row.metric + "'", "did you mean '" + meant + "'?");
  }

  Status machine_fact(const YamlNode& node, Criterion& row) const {
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

  Status limits_fit(const YamlNode& at, const Criterion& row, std::string_view unit) const {
    double last = 0;
    for (const auto& limit : row.limits) {
      WM_ASSIGN(const double value, located(at, "value", limit_in(limit, unit)));
      if (&limit != &row.limits.front() && !(value > last))
        return error(at, "the second value must be above the first");
      last = value;
    }
    return {};
  }

  Status limit(const YamlNode& node, Criterion& row) const {
    const std::size_t wanted = row.comparator == Comparator::between ? 2 : 1;
    if (row.limits.size() != wanted) {
      return error(node["value"], wanted == 2 ? "between needs a list of two values" : "value must be a single value",
                   wanted == 2 ? "such as value: [1 ms, 2 ms]" : "");
    }
    return row.of == LimitOf::nothing ? Status() : limits_fit(node["value"], row, "ratio");
  }

  Status criterion(const YamlNode& node, Criterion& row) const {
    row.line = node.line();
    WM_TRY(fill(node, "a criterion must be a map such as {fact: ecc, operator: '==', value: on}", kCriterionKeys, row));
    WM_TRY(limit(node, row));
    if (!node["workload"] && !node["fact"]) return error(node, "a criterion needs a workload or a fact");
    WM_TRY(node["fact"] ? machine_fact(node, row) : measured(node, row));
    if (row.comparator == Comparator::equal && row.fact.empty()) {
      return error(node["operator"], "a measured value is never exactly equal", "use between");
    }
    if (row.title.empty()) row.title = row.fact.empty() ? row.workload + " " + row.metric : row.fact;
    return {};
  }
};

Status read_rows(const YamlReader& reader, const YamlNode& list, const YamlKey& key, std::vector<Criterion>& rows) {
  if (list.items().empty()) return reader.error(list, key.missing, key.hint);
  for (const auto& node : list.items()) {
    WM_TRY(CriteriaReader(reader.file()).criterion(node, rows.emplace_back()));
  }
  return {};
}

constexpr YamlKey kCriteriaKeys[] = {
    yaml_schema(kCriteriaSchema),
    yaml_key<&Criteria::name>("name"),
    yaml_key<&Criteria::summary>("summary"),
    yaml_key<&Criteria::datasheet>("datasheet"),
    yaml_key<&Criteria::budget_s>("budget", yaml::duration),
    yaml_key<&Criteria::rounds>("rounds", yaml::whole(1, 100)),
    yaml_key<&Criteria::half_width>("precision", yaml::ratio),
    yaml_key<&Criteria::rows, read_rows>("criteria")
        .needed("there must be a list of criteria", "add criteria: [{fact: ecc, operator: '==', value: on}]"),
};

std::string stem_of(std::string_view path) { return std::filesystem::path(path).stem().string(); }

}  // namespace

Result<Criteria> parse_criteria(std::string_view yaml, std::string_view file_name) {
  WM_ASSIGN(const auto root, read_yaml(yaml, file_name));
  Criteria criteria;
  WM_TRY(YamlReader(file_name).fill(root, "criteria must be a map with the key 'criteria'", kCriteriaKeys, criteria));
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
