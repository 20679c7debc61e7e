// Metrics of choices and of samples: MMLU and others like it, pass@k, the best of N.
#include <fmt/format.h>

#include <map>
#include <numeric>

#include "accuracy/choice/choice.h"
#include "accuracy/embeddings/similarity.h"
#include "accuracy/scoring/each_answer.h"
#include "accuracy/scoring/metric.h"
#include "accuracy/text/unicode.h"
#include "base/units.h"

namespace warpmark::accuracy {
namespace {

constexpr std::size_t kMostLetters = 26;

const Json* field_of(const Json& fields, std::initializer_list<const char*> names) {
  if (!fields.is_object()) return nullptr;
  for (const char* name : names) {
    if (fields.contains(name)) return &fields[name];
  }
  return nullptr;
}

std::vector<std::string> choice_texts(const Example& example) {
  std::vector<std::string> texts;
  const Json* list = field_of(example.fields, {"choices", "options", "endings"});
  if (list != nullptr && list->is_object() && list->contains("text")) list = &(*list)["text"];
  if (list != nullptr && list->is_array()) {
    for (const auto& item : *list) texts.push_back(field_text(item));
  }
  return texts;
}

/// A letter, a number from 0, or the text of the choice.
Result<std::size_t> gold_choice(const Example& example, std::size_t choices) {
  if (example.references.empty()) return data_error("the reference has no right choice");
  const std::string gold(stripped(example.references.front()));
  if (gold.size() == 1 && (gold[0] | 32) >= 'a' && (gold[0] | 32) <= 'z') {
    return static_cast<std::size_t>((gold[0] | 32) - 'a');
  }
  const auto number = parse_integer(gold);
  if (number.ok() && *number >= 0 && *number < static_cast<std::int64_t>(choices)) {
    return static_cast<std::size_t>(*number);
  }
  const auto texts = choice_texts(example);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i] == gold) return i;
  }
  return data_error("its right choice '" + gold + "' is neither a letter, a number from 0, nor one of its choices");
}

Result<std::vector<double>> log_likelihoods(const Answer& answer) {
  const Json* list = field_of(answer.fields, {"log_likelihoods", "loglikelihoods", "logprobs", "lls"});
  if (list == nullptr || !list->is_array() || list->empty()) {
    return data_error("it has no log-likelihoods of the choices",
                      "give each answer a list 'log_likelihoods', or score answers by letter with the metric mmlu");
  }
  std::vector<double> values;
  for (const auto& item : *list) {
    if (!item.is_number()) return data_error("a log-likelihood is no number: " + dump_json(item, -1));
    values.push_back(item.get<double>());
  }
  return values;
}

template <LengthNorm kNorm>
Result<Measured> measure_likely_choice(const Examples& examples, const ScoreSettings&) {
  const auto score = [&](const Example& example, const Answer& answer) -> Result<double> {
    WM_ASSIGN(const auto values, log_likelihoods(answer));
    const auto texts = choice_texts(example);
    if (kNorm != LengthNorm::none && texts.size() != values.size()) {
      return data_error(fmt::format("it has {} log-likelihoods, the reference {} choices", values.size(), texts.size()),
                        "the norm needs the texts of the choices in the reference, in a list 'choices'");
    }
    WM_ASSIGN(const auto gold, gold_choice(example, values.size()));
    return best_choice(values, texts, kNorm) == gold ? 1.0 : 0.0;
  };
  WM_ASSIGN(auto measured, try_mean_of_answers(examples, score));
  measured.signature = kNorm == LengthNorm::none         ? "by:log-likelihood|norm:none"
                       : kNorm == LengthNorm::characters ? "by:log-likelihood|norm:characters"
                                                         : "by:log-likelihood|norm:bytes";
  return measured;
}

/// 1 for right, by row.
Result<std::vector<double>> right_letters(const Examples& examples) {
  std::vector<double> each;
  WM_TRY(try_each_answer(examples, [&](const Example& example, const Answer& answer) -> Status {
    const auto texts = choice_texts(example);
    WM_ASSIGN(const auto gold, gold_choice(example, texts.empty() ? kMostLetters : texts.size()));
    if (!answer.problem.empty()) {
      each.push_back(0);
      return {};
    }
    if (field_of(answer.fields, {"log_likelihoods", "loglikelihoods"}) != nullptr) {
      WM_ASSIGN(const auto values, log_likelihoods(answer));
      each.push_back(best_choice(values, texts, LengthNorm::none) == gold ? 1 : 0);
      return {};
    }
    const auto chosen = choice_letter(answer.text, texts.empty() ? kMostLetters : texts.size());
    each.push_back(chosen && *chosen == gold ? 1 : 0);
    return {};
  }));
  return each;
}

Result<Measured> measure_mmlu(const Examples& examples, const ScoreSettings&) {
  WM_ASSIGN(auto each, right_letters(examples));
  auto measured = mean_metric(examples.size(), examples.systems.size(), std::move(each));
  measured.signature = "by:letter, log-likelihood where given|average:by size";
  return measured;
}

Result<Measured> measure_mmlu_macro(const Examples& examples, const ScoreSettings&) {
  WM_ASSIGN(auto each, right_letters(examples));
  std::map<std::string, std::uint32_t> numbers;
  std::vector<std::uint32_t> subject_of;
  for (const auto& example : examples.examples) {
    if (example.subjects.empty()) return data_error("examples have no subject", "name the field with --by");
    if (example.subjects.size() > 1) {
      return data_error("examples have several subjects each: " + join(example.subjects, ", "),
                        "name a field with one of them with --by");
    }
    const auto next = static_cast<std::uint32_t>(numbers.size());
    subject_of.push_back(numbers.emplace(example.subjects.front(), next).first->second);
  }
  Measured measured = measured_of(examples, "by:letter, log-likelihood where given|average:over subjects");
  measured.value = [each = std::move(each), subject_of, subjects = numbers.size()](Rows rows) {
    std::vector<double> right(subjects, 0), count(subjects, 0);
    for (const auto row : rows) {
      const auto subject = subject_of[row % subject_of.size()];
      right[subject] += each[row];
      count[subject] += 1;
    }
    double sum = 0, present = 0;
    for (std::size_t i = 0; i < subjects; ++i) {
      if (count[i] == 0) continue;  // a resample may lack a small subject
      sum += right[i] / count[i];
      present += 1;
    }
    return present > 0 ? sum / present : 0;
  };
  return measured;
}

Result<bool> is_passed(const Json& fields) {
  const Json* passed = field_of(fields, {"passed", "pass", "correct"});
  if (passed != nullptr && passed->is_boolean()) return passed->get<bool>();
  if (passed != nullptr && passed->is_number()) return passed->get<double>() != 0;
  const Json* result = field_of(fields, {"result"});
  if (result != nullptr && result->is_string()) return result->get<std::string>() == "passed";
  return data_error("a sample does not say whether it passed",
                    "a field 'passed' does; `warpmark eval run` executes samples in a sandbox");
}

struct Passes {
  std::int64_t samples = 0;
  std::int64_t passed = 0;
};

Result<Passes> passes_of(const Answer& answer) {
  Passes passes;
  const Json* n = field_of(answer.fields, {"n"});
  const Json* c = field_of(answer.fields, {"c"});
  if (n != nullptr && c != nullptr && n->is_number_integer() && c->is_number_integer()) {
    return Passes{n->get<std::int64_t>(), c->get<std::int64_t>()};
  }
  const Json* list = field_of(answer.fields, {"results", "passes"});
  if (list != nullptr && list->is_array()) {
    for (const auto& item : *list) {
      const bool ok = item.is_boolean() ? item.get<bool>() : item.is_number() && item.get<double>() != 0;
      ++passes.samples;
      passes.passed += ok;
    }
    return passes;
  }
  std::vector<Json> samples = answer.samples;
  if (samples.empty()) samples.push_back(answer.fields);
  for (const auto& sample : samples) {
    WM_ASSIGN(const bool ok, is_passed(sample));
    ++passes.samples;
    passes.passed += ok;
  }
  return passes;
}

Result<Measured> measure_pass_at_k(const Examples& examples, const ScoreSettings& settings) {
  const auto score = [&](const Example&, const Answer& answer) -> Result<double> {
    WM_ASSIGN(const auto passes, passes_of(answer));
    if (passes.samples < settings.k || passes.passed > passes.samples || passes.passed < 0) {
      return data_error(fmt::format("pass@{} needs as many samples, and there are {} of which {} passed", settings.k,
                                    passes.samples, passes.passed),
                        "every problem needs them, or problems with few would count as easier");
    }
    return pass_at_k(passes.samples, passes.passed, settings.k);
  };
  WM_ASSIGN(auto measured, try_mean_of_answers(examples, score));
  measured.signature = fmt::format("k:{}|estimator:unbiased", settings.k);
  return measured;
}

/// The sample that its score prefers is judged by its value: a rating, or right or wrong.
template <bool kGain>
Result<Measured> measure_best_of_n(const Examples& examples, const ScoreSettings&) {
  std::size_t fewest = SIZE_MAX, most = 0;
  const auto value_of_best = [&](const Example&, const Answer& answer) -> Result<double> {
    std::vector<Json> samples = answer.samples;
    if (samples.empty()) samples.push_back(answer.fields);
    std::vector<double> scores, values;
    for (const auto& sample : samples) {
      const Json* score = field_of(sample, {"score"});
      const Json* value = field_of(sample, {"value", "rating", "correct", "passed"});
      const bool is_value = value != nullptr && (value->is_number() || value->is_boolean());
      if (score == nullptr || !score->is_number() || !is_value) {
        return data_error("a sample has no number 'score' or no 'value'",
                          "'score' is what chooses among samples, 'value' what the chosen one is worth");
      }
      scores.push_back(score->get<double>());
      values.push_back(value->is_boolean() ? (value->get<bool>() ? 1.0 : 0.0) : value->get<double>());
    }
    fewest = std::min(fewest, samples.size());
    most = std::max(most, samples.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    return values[best_of(scores)] - (kGain ? mean : 0);
  };
  WM_ASSIGN(auto measured, try_mean_of_answers(examples, value_of_best));
  if (kGain) measured.is_share = false;
  measured.signature = fmt::format("samples:{}{}", fewest, fewest == most ? "" : fmt::format(" to {}", most));
  return measured;
}

}  // namespace

std::span<const ScoreMetric> choice_metrics() {
  constexpr auto kHigher = Better::higher;
  static constexpr ScoreMetric kMetrics[] = {
      {"mmlu", "share of right choices by letter, or log-likelihood where given", kHigher, false, measure_mmlu},
      {"mmlu_macro", "the same, mean over subjects", kHigher, false, measure_mmlu_macro},
      {"acc", "share of right choices by log-likelihood", kHigher, false, measure_likely_choice<LengthNorm::none>},
      {"acc_norm", "the same, by the choice's length in characters", kHigher, false,
       measure_likely_choice<LengthNorm::characters>},
      {"acc_bytes", "the same, by its length in bytes", kHigher, false, measure_likely_choice<LengthNorm::bytes>},
      {"pass@k", "chance that one of k samples passes, without bias", kHigher, true, measure_pass_at_k},
      {"best_of_n", "mean value of the sample with the best score", kHigher, true, measure_best_of_n<false>},
      {"best_of_n_gain", "what choosing by score gains over any sample", kHigher, true, measure_best_of_n<true>},
  };
  return kMetrics;
}

}  // namespace warpmark::accuracy
