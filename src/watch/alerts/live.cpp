#include "watch/alerts/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity.h"
#include "base/text.h"
#include "base/units.h"
#include "base/untrusted/safe_text.h"

namespace warpmark::watch {
namespace {

constexpr double kForgetSeries_s = 7 * 86400.0;

bool labels_fit(const Labels& wanted, const Labels& found) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& want) {
    const auto at = std::find_if(found.begin(), found.end(), [&](const auto& has) { return has.first == want.first; });
    return at != found.end() && glob_match(want.second, at->second);
  });
}

bool is_of_gpus(const std::string& name) { return name.starts_with("warpmark_gpu_") || name.starts_with("DCGM_"); }

Labels named(const Family& family, const Sample& sample) {
  Labels labels = {{"metric", family.name}};
  for (const auto& [name, value] : sample.labels) labels.emplace_back(name, valid_utf8(value));
  return labels;
}

void add_active(Evaluation& found, Active active) {
  if (found.active.size() < kMostAlertsOfRule) {
    found.active.push_back(std::move(active));
  } else {
    ++found.left_out;
  }
}

void look_for_silence(const AlertRule& rule, const std::vector<Labels>& there, double watch_s,
                      std::map<std::string, SeenSeries>& seen, Evaluation& found) {
  for (const auto& labels : there) {
    const auto key = key_of(rule.name, labels);
    if (seen.size() < kMostAlertsOfRule || seen.contains(key)) seen[key] = {labels, watch_s};
  }
  // What was never there is missing as the rule names it.
  if (seen.empty()) seen[key_of(rule.name, {{"metric", rule.select}})] = {{{"metric", rule.select}}, watch_s};
  if (!there.empty()) seen.erase(key_of(rule.name, {{"metric", rule.select}}));
  std::erase_if(seen, [&](const auto& one) { return watch_s - one.second.last_s > kForgetSeries_s + rule.no_data_s; });
  for (const auto& [key, series] : seen) {
    const double silent_s = watch_s - series.last_s;
    if (silent_s < rule.no_data_s) continue;
    add_active(found, {series.labels, silent_s, "s", "nothing for " + format_seconds(silent_s)});
  }
}

}  // namespace

Evaluation evaluate_live(const AlertRule& rule, const std::vector<Family>& families, double watch_s,
                         std::map<std::string, SeenSeries>& seen) {
  Evaluation found{.rule = rule.name};
  const auto limit = parse_number(rule.limit);
  std::vector<Labels> there;
  for (const auto& family : families) {
    if (!glob_match(rule.select, family.name)) continue;
    for (const auto& sample : family.samples) {
      if (!labels_fit(rule.labels, sample.labels)) continue;
      if (rule.condition == RuleCondition::no_data) {
        there.push_back(named(family, sample));
        continue;
      }
      if (!limit.ok() || std::isnan(sample.value)) continue;
      const bool active = rule.condition == RuleCondition::above ? sample.value > *limit : sample.value < *limit;
      if (!active) continue;
      Active one{.labels = named(family, sample), .value = {}, .unit = {}, .what = {}};
      if (std::isfinite(sample.value)) one.value = sample.value;
      one.what = compared_text(sample.value, rule.condition, rule.limit, "");
      add_active(found, std::move(one));
    }
  }
  if (rule.condition == RuleCondition::no_data) look_for_silence(rule, there, watch_s, seen, found);
  const auto fits = [&](const Family& family) { return glob_match(rule.select, family.name); };
  if (std::ranges::none_of(families, fits)) {
    std::vector<std::string> names;
    for (const auto& family : families) names.push_back(family.name);
    const auto meant = nearest(rule.select, names);
    const bool no_gpu = is_of_gpus(rule.select) && std::ranges::none_of(names, is_of_gpus);
    found.problem = "this machine has no metric " + rule.select;
    found.problem += no_gpu ? ": no GPU was found" : meant.empty() ? "" : "; did you mean " + meant + "?";
  }
  return found;
}

std::string compared_text(double value, RuleCondition condition, const std::string& limit, const std::string& unit) {
  const std::string shown = unit.empty() || unit == "1" ? fmt::format("{:.6g}", value)
                            : unit == "s"               ? format_seconds(value)
                                                        : format_si(value, unit);
  return fmt::format("value {} is {} the limit {}", shown, name_of(condition), limit);
}

}  // namespace warpmark::watch
