#include "accuracy/significance/comparison.h"

#include <algorithm>
#include <cmath>

#include "accuracy/scoring/scores.h"
#include "accuracy/text/unicode.h"
#include "base/json.h"
#include "model/fields/names.h"
#include "stats/distributions.h"
#include "stats/summary.h"
#include "stats/tests/compare.h"
#include "stats/tests/rank_and_t_tests.h"

namespace warpmark::accuracy {
namespace {

std::string name_of_example(const Examples& examples, std::size_t i) {
  const auto& id = examples.examples[i].id;
  return id.empty() ? std::to_string(i + 1) : id;
}

/// Few enough exchanges that a corpus of 50,000 takes seconds; never fewer than the resamples asked for.
std::int64_t randomizations_for(const Measured& measured, const ResampleOptions& options) {
  constexpr std::int64_t kMost = 10'000, kRowsInAll = 100'000'000;
  const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(measured.examples, 1));
  return std::max(options.resamples, std::min(kMost, kRowsInAll / rows));
}

void find_flips(const Examples& examples, const Measured& measured, std::size_t second, SystemComparison& comparison) {
  const auto a = each_of(measured, 0), b = each_of(measured, second);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 1 && b[i] == 0) comparison.broken.push_back(name_of_example(examples, i));
    if (a[i] == 0 && b[i] == 1) comparison.fixed.push_back(name_of_example(examples, i));
  }
}

void run_tests(const Measured& measured, std::size_t second, const Groups& groups, const CompareSystemsOptions& options,
               SystemComparison& comparison) {
  const double confidence = 1 - options.alpha;
  ResampleOptions resample = options.resample;
  resample.confidence = confidence;
  comparison.bootstrap = paired_bootstrap(measured, 0, second, groups, resample);
  resample.resamples = comparison.randomizations = randomizations_for(measured, resample);
  comparison.randomization_p = approximate_randomization(measured, 0, second, groups, resample);
  if (measured.is_mean) comparison.means = paired_means(measured, 0, second, groups, confidence);
  if (measured.is_share) {
    comparison.mcnemar = mcnemar(static_cast<std::int64_t>(comparison.broken.size()),
                                 static_cast<std::int64_t>(comparison.fixed.size()));
  } else if (measured.is_mean && groups.are_single()) {
    std::vector<double> differences;
    const auto a = each_of(measured, 0), b = each_of(measured, second);
    for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(b[i] - a[i]);
    comparison.wilcoxon_p = stats::wilcoxon_signed_rank(differences).p;
  }
}

/// Of the difference. Where no example shows one, its spread says nothing: then as many could still differ, by the
/// whole scale, as that many equal ones leave possible.
Interval interval_for(const Measured& measured, const Groups& groups, double confidence,
                      const SystemComparison& comparison) {
  if (measured.is_share && groups.are_single()) {
    return paired_share_interval(*comparison.mcnemar, comparison.n, confidence);
  }
  Interval interval = confidence < comparison.bootstrap.interval.confidence ? comparison.bootstrap.narrower
                                                                            : comparison.bootstrap.interval;
  if (comparison.means) {
    const auto& means = *comparison.means;
    const double half = means.standard_error * stats::t_quantile_of_tail((1 - confidence) / 2, means.degrees);
    interval = {means.estimate - half, means.estimate + half, confidence};
  }
  if (interval.low < interval.high) return interval;
  const double unseen = comparison.full * unseen_mean(static_cast<std::int64_t>(groups.count()), confidence);
  return {interval.low - unseen, interval.high + unseen, confidence};
}

/// Which test decides depends on the metric and the groups alone.
double choose_test(const Measured& measured, const Groups& groups, double alpha, SystemComparison& comparison) {
  if (measured.is_share && groups.are_single()) {
    comparison.test = "McNemar, exact";
    comparison.p = comparison.mcnemar->p;
  } else if (comparison.means) {
    comparison.test = groups.are_single() ? "paired t" : "paired t, clustered";
    comparison.p = comparison.means->p;
  } else {
    comparison.test = "approximate randomization";
    comparison.p = comparison.randomization_p;
  }
  comparison.interval = interval_for(measured, groups, 1 - alpha, comparison);
  if (measured.is_share && groups.are_single()) {
    comparison.interval_method = "score (Tango)";
  } else if (comparison.means) {
    comparison.interval_method = groups.are_single() ? "t" : "t, clustered";
  } else {
    comparison.interval_method = "paired bootstrap";
  }
  comparison.bound = interval_for(measured, groups, 1 - 2 * alpha, comparison);
  return comparison.means ? comparison.means->standard_error : comparison.bootstrap.standard_error;
}

SystemVerdict verdict_of(const SystemComparison& comparison, const CompareSystemsOptions& options) {
  const double direction = comparison.better == Better::lower ? -1 : 1;
  const Interval& bound = comparison.bound;
  const double low = direction > 0 ? bound.low : -bound.high, high = direction > 0 ? bound.high : -bound.low;
  const bool real = comparison.adjusted_p <= options.alpha;
  if (options.equivalence) {
    const double margin = *options.equivalence;
    if (low > -margin && high < margin) return SystemVerdict::equivalent;
    if (high < -margin) return SystemVerdict::worse;
    return low > margin ? SystemVerdict::better : SystemVerdict::undecided;
  }
  if (options.margin) {
    if (high < -*options.margin) return SystemVerdict::worse;
    if (!(low > -*options.margin)) return SystemVerdict::undecided;
    return real && comparison.difference * direction > 0 ? SystemVerdict::better : SystemVerdict::not_worse;
  }
  if (!real) return SystemVerdict::no_difference;
  return comparison.difference * direction < 0 ? SystemVerdict::worse : SystemVerdict::better;
}

std::vector<SubjectDifference> differences_by_subject(const Examples& examples, const Measured& measured,
                                                      std::size_t second, const CompareSystemsOptions& options) {
  std::vector<SubjectDifference> result;
  const auto offset = static_cast<std::uint32_t>(second * measured.examples);
  for (const auto& [subject, members] : examples_by_subject(examples)) {
    const auto value_at = [&](const std::vector<std::uint32_t>& chosen, std::uint32_t plus) {
      std::vector<std::uint32_t> rows = chosen;
      for (auto& row : rows) row += plus;
      return measured.value(rows);
    };
    SubjectDifference part{.subject = subject,
                           .first = value_at(members, 0),
                           .second = value_at(members, offset),
                           .interval = {},
                           .n = static_cast<std::int64_t>(members.size())};
    std::vector<std::string> names;
    for (const auto i : members) names.push_back(examples.examples[i].group);
    const Groups groups(names);
    std::vector<double> resampled;
    std::vector<std::uint32_t> drawn, rows;
    for (std::int64_t r = 0; r < options.resample.resamples; ++r) {
      groups.draw(options.resample.seed, static_cast<std::uint64_t>(r), drawn);
      rows.clear();
      for (const auto i : drawn) rows.push_back(members[i]);
      resampled.push_back(value_at(rows, offset) - value_at(rows, 0));
    }
    part.interval = percentile_interval(resampled, groups.count(), 1 - options.alpha);
    result.push_back(std::move(part));
  }
  return result;
}

SystemComparison compare_two(const Examples& examples, const NamedMetric& metric, const Measured& measured,
                             std::size_t second, const Groups& groups, const CompareSystemsOptions& options) {
  SystemComparison comparison{.metric = metric.name,
                              .better = metric.metric->better,
                              .full = metric.metric->full,
                              .first = examples.systems[0],
                              .second = examples.systems[second]};
  comparison.first_value = value_of(measured, 0);
  comparison.second_value = value_of(measured, second);
  comparison.difference = comparison.second_value - comparison.first_value;
  comparison.n = static_cast<std::int64_t>(measured.examples);
  if (!groups.are_single()) comparison.groups = static_cast<std::int64_t>(groups.count());
  if (measured.is_share) find_flips(examples, measured, second, comparison);
  run_tests(measured, second, groups, options, comparison);
  const double standard_error = choose_test(measured, groups, options.alpha, comparison);
  comparison.examples_needed = examples_for_power(comparison.difference, standard_error, comparison.n, options.alpha);
  constexpr double kPower = 0.8;
  comparison.detectable =
      standard_error * (stats::normal_quantile(1 - options.alpha / 2) + stats::normal_quantile(kPower));
  comparison.margin = options.equivalence ? options.equivalence : options.margin;
  if (options.by_subject) comparison.by = differences_by_subject(examples, measured, second, options);
  return comparison;
}

const Json* list_in(const Json& fields, const char* name) {
  return fields.is_object() && fields.contains(name) && fields[name].is_array() ? &fields[name] : nullptr;
}

template <typename Items>
std::size_t equal_beginning(const Items& a, const Items& b) {
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  return i;
}

void put_test_results(Json& json, const SystemComparison& comparison) {
  Json tests{{"paired_bootstrap", {{"p", comparison.bootstrap.p}, {"share_better", comparison.bootstrap.share_better}}},
             {"approximate_randomization", {{"p", comparison.randomization_p}, {"trials", comparison.randomizations}}}};
  if (comparison.mcnemar) {
    tests["mcnemar"] = {{"only_first", comparison.mcnemar->only_first},
                        {"only_second", comparison.mcnemar->only_second},
                        {"p", comparison.mcnemar->p},
                        {"mid_p", comparison.mcnemar->mid_p}};
  }
  if (comparison.means) {
    tests["paired_t"] = {{"p", comparison.means->p},
                         {"standard_error", comparison.means->standard_error},
                         {"degrees", comparison.means->degrees}};
  }
  if (comparison.wilcoxon_p) tests["wilcoxon"] = {{"p", *comparison.wilcoxon_p}};
  json["tests"] = std::move(tests);
}

Json comparison_json(const SystemComparison& comparison) {
  Json json{{"metric", comparison.metric},
            {"better", comparison.better == Better::lower ? "lower" : "higher"},
            {"first", comparison.first},
            {"second", comparison.second},
            {"first_value", comparison.first_value},
            {"second_value", comparison.second_value},
            {"difference", comparison.difference},
            {"ci_low", comparison.interval.low},
            {"ci_high", comparison.interval.high},
            {"confidence", comparison.interval.confidence},
            {"interval", comparison.interval_method},
            {"n", comparison.n}};
  if (comparison.groups > 0) json["groups"] = comparison.groups;
  if (comparison.first_value != 0) json["relative"] = comparison.difference / std::fabs(comparison.first_value);
  if (comparison.bootstrap.relative) {
    json["relative_low"] = comparison.bootstrap.relative->low;
    json["relative_high"] = comparison.bootstrap.relative->high;
  }
  json["test"] = comparison.test;
  json["p"] = comparison.p;
  json["adjusted_p"] = comparison.adjusted_p;
  put_test_results(json, comparison);
  if (comparison.examples_needed) json["examples_for_80_percent_power"] = *comparison.examples_needed;
  json["detectable"] = comparison.detectable;
  if (comparison.margin) json["margin"] = *comparison.margin;
  json["verdict"] = name_of(comparison.verdict);
  if (comparison.mcnemar) {
    json["broken"] = comparison.broken;
    json["fixed"] = comparison.fixed;
  }
  for (const auto& part : comparison.by) {
    json["by"].push_back({{"subject", part.subject},
                          {"first_value", part.first},
                          {"second_value", part.second},
                          {"ci_low", part.interval.low},
                          {"ci_high", part.interval.high},
                          {"n", part.n}});
  }
  return json;
}

}  // namespace

constexpr auto kSystemVerdictNames = in_order(SystemVerdict::undecided, "better", "worse", "no difference found",
                                              "not worse", "equivalent", "undecided");
const char* name_of(SystemVerdict verdict) { return name_in(kSystemVerdictNames, static_cast<std::int64_t>(verdict)); }

Result<std::vector<SystemComparison>> compare_systems(const Examples& examples, const std::vector<NamedMetric>& metrics,
                                                      const CompareSystemsOptions& options) {
  if (examples.systems.size() < 2) return usage_error("one system is nothing to compare", "name two files or more");
  const Groups groups = groups_of(examples);
  if (groups.count() < 2) return data_error("there is one example, or one group of them", "a comparison needs more");
  std::vector<SystemComparison> comparisons;
  for (const auto& metric : metrics) {
    WM_ASSIGN(const Measured measured, measure(metric, examples));
    if (!measured.names.empty()) {
      return usage_error(metric.name + " rates the players of one file", "warpmark eval score " + metric.name);
    }
    for (std::size_t s = 0; s < examples.systems.size(); ++s) {
      if (std::isnan(value_of(measured, s))) {
        return data_error(metric.name + " of " + examples.systems[s] + " is undefined: " + measured.undefined,
                          "leave it out: --metric names the metrics to compare");
      }
    }
    for (std::size_t second = 1; second < examples.systems.size(); ++second) {
      comparisons.push_back(compare_two(examples, metric, measured, second, groups, options));
    }
  }
  std::vector<double> p;
  for (const auto& comparison : comparisons) p.push_back(comparison.p);
  const auto adjusted = stats::holm(p, options.alpha).adjusted;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    comparisons[i].adjusted_p = adjusted[i];
    comparisons[i].verdict = verdict_of(comparisons[i], options);
  }
  return comparisons;
}

Divergence divergence_of(const Examples& examples, std::size_t first, std::size_t second) {
  Divergence result{.first = examples.systems[first], .second = examples.systems[second]};
  std::vector<double> places;
  double change_sum = 0, changes = 0, most = 0;
  result.in_tokens = true;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Answer &a = examples.answer(first, i), &b = examples.answer(second, i);
    result.in_tokens =
        result.in_tokens && list_in(a.fields, "tokens") != nullptr && list_in(b.fields, "tokens") != nullptr;
  }
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Answer &a = examples.answer(first, i), &b = examples.answer(second, i);
    if (!a.problem.empty() || !b.problem.empty()) continue;
    ++result.n;
    const std::size_t common = result.in_tokens
                                   ? equal_beginning(*list_in(a.fields, "tokens"), *list_in(b.fields, "tokens"))
                                   : equal_beginning(code_points(a.text), code_points(b.text));
    if (a.text == b.text) {
      ++result.equal;
    } else {
      places.push_back(static_cast<double>(common));
    }
    const Json *p = list_in(a.fields, "token_logprobs"), *q = list_in(b.fields, "token_logprobs");
    if (p == nullptr || q == nullptr || !result.in_tokens) continue;
    for (std::size_t t = 0; t < std::min({common, p->size(), q->size()}); ++t) {
      if (!(*p)[t].is_number() || !(*q)[t].is_number()) continue;
      const double change = std::fabs((*p)[t].get<double>() - (*q)[t].get<double>());
      change_sum += change;
      changes += 1;
      most = std::max(most, change);
    }
  }
  if (!places.empty()) result.first_difference = stats::median(places);
  if (changes > 0) {
    result.mean_logprob_change = change_sum / changes;
    result.most_logprob_change = most;
  }
  return result;
}

Json to_json(const std::vector<SystemComparison>& comparisons, const std::vector<Divergence>& divergences) {
  Json json{{"schema", kEvalCompareSchema}, {"comparisons", Json::array()}, {"divergence", Json::array()}};
  for (const auto& comparison : comparisons) json["comparisons"].push_back(comparison_json(comparison));
  for (const auto& one : divergences) {
    Json item{{"first", one.first}, {"second", one.second}, {"n", one.n}, {"equal", one.equal}};
    if (one.first_difference) {
      item["first_difference_median"] = *one.first_difference;
      item["unit"] = one.in_tokens ? "tokens" : "characters";
    }
    if (one.mean_logprob_change) {
      item["mean_logprob_change"] = *one.mean_logprob_change;
      item["most_logprob_change"] = *one.most_logprob_change;
    }
    json["divergence"].push_back(std::move(item));
  }
  return json;
}

}  // namespace warpmark::accuracy
