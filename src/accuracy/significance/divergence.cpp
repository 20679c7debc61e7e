// How outputs differ: by their tokens and log-probabilities where records have them.
#include <algorithm>
#include <cmath>

#include "accuracy/significance/comparison.h"
#include "accuracy/text/unicode.h"
#include "base/json.h"
#include "stats/summary.h"

namespace warpmark::accuracy {
namespace {

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
