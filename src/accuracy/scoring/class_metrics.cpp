// Metrics of classes and of their probabilities.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "accuracy/classification/classification.h"
#include "accuracy/scoring/each_answer.h"
#include "accuracy/scoring/metric.h"
#include "accuracy/text/unicode.h"
#include "base/units.h"

namespace warpmark::accuracy {
namespace {

constexpr const char* kNoAnswer = "(no answer)";

struct Labels {
  Classes classes;
  std::vector<std::uint32_t> truth;      ///< by row
  std::vector<std::uint32_t> predicted;  ///< by row
};

Result<Labels> labels_of(const Examples& examples) {
  std::vector<std::string> truth, predicted, all;
  WM_TRY(try_each_answer(examples, [&](const Example& example, const Answer& answer) -> Status {
    if (example.references.empty()) return data_error("the reference has no label", "name its field with --ref-field");
    truth.emplace_back(stripped(example.references.front()));
    predicted.emplace_back(answer.problem.empty() ? std::string(stripped(answer.text)) : kNoAnswer);
    return {};
  }));
  all = truth;
  all.insert(all.end(), predicted.begin(), predicted.end());
  Labels labels{.classes = Classes(std::move(all)), .truth = {}, .predicted = {}};
  for (const auto& name : truth) labels.truth.push_back(labels.classes.number_of(name));
  for (const auto& name : predicted) labels.predicted.push_back(labels.classes.number_of(name));
  constexpr std::size_t kMostClasses = 2000;
  if (labels.classes.size() > kMostClasses) {
    return data_error(fmt::format("there are {} different labels", labels.classes.size()),
                      "are these texts? for those there are exact_match, f1 and others");
  }
  return labels;
}

/// The class that binary scores call positive.
Result<std::uint32_t> positive_class(const Classes& classes, const ScoreSettings& settings) {
  if (!settings.positive.empty()) {
    if (classes.has(settings.positive)) return classes.number_of(settings.positive);
    return data_error("no label is '" + settings.positive + "'", "labels: " + join(classes.names(), ", "));
  }
  if (classes.has("1")) return classes.number_of("1");
  if (classes.size() == 2 && !classes.has(kNoAnswer)) return 1U;
  return data_error(fmt::format("there are {} classes, and none is '1'", classes.size()),
                    "name the positive one with --positive, or take an average: f1_macro");
}

template <typename Value>
Measured confusion_metric(const Examples& examples, Labels labels, Value value) {
  Measured measured = measured_of(examples);
  measured.value = [labels = std::move(labels), value](Rows rows) {
    Confusion counts(labels.classes.size());
    for (const auto row : rows) counts.add(labels.truth[row], labels.predicted[row]);
    return value(counts);
  };
  return measured;
}

Result<Measured> measure_accuracy(const Examples& examples, const ScoreSettings&) {
  WM_ASSIGN(const auto labels, labels_of(examples));
  std::vector<double> each;
  for (std::size_t row = 0; row < labels.truth.size(); ++row) {
    each.push_back(labels.truth[row] == labels.predicted[row] ? 1 : 0);
  }
  auto measured = mean_metric(examples.size(), examples.systems.size(), std::move(each));
  measured.signature = "equal labels";
  return measured;
}

template <double (*kValue)(const Confusion&)>
Result<Measured> measure_confusion(const Examples& examples, const ScoreSettings&) {
  WM_ASSIGN(auto labels, labels_of(examples));
  auto measured = confusion_metric(examples, std::move(labels), kValue);
  measured.signature = "as:scikit-learn";
  return measured;
}

template <ClassScore kScore, Average kAverage>
Result<Measured> measure_average(const Examples& examples, const ScoreSettings&) {
  WM_ASSIGN(auto labels, labels_of(examples));
  auto measured = confusion_metric(examples, std::move(labels),
                                   [](const Confusion& counts) { return average_score(counts, kScore, kAverage); });
  measured.signature = "classes: all in truth or predictions|nothing predicted: 0|as:scikit-learn";
  return measured;
}

template <ClassScore kScore>
Result<Measured> measure_binary(const Examples& examples, const ScoreSettings& settings) {
  WM_ASSIGN(auto labels, labels_of(examples));
  if (labels.classes.size() == 1 && settings.positive.empty() && !labels.classes.has("1")) {
    return undefined_metric(examples.size(), examples.systems.size(),
                            "all labels are '" + labels.classes.names().front() + "'; --positive names a class");
  }
  WM_ASSIGN(const auto positive, positive_class(labels.classes, settings));
  const std::string name = labels.classes.names()[positive];
  auto measured = confusion_metric(examples, std::move(labels), [positive](const Confusion& counts) {
    return class_score(counts, kScore, positive);
  });
  measured.signature = "positive:" + name + "|as:scikit-learn";
  return measured;
}

/// Probabilities by row over the classes of the references.
struct Probabilities {
  Classes classes;
  std::vector<std::uint32_t> truth;
  std::vector<std::vector<double>> rows;
};

Result<double> number_field(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return parse_number(value.get<std::string>());
  return data_error("a probability is no number: " + dump_json(value, -1));
}

Result<std::vector<double>> probabilities_of(const Json& fields, const Classes& classes) {
  std::vector<double> result;
  for (const char* name : {"probabilities", "probs", "scores"}) {
    if (!fields.is_object() || !fields.contains(name)) continue;
    const Json& value = fields[name];
    if (value.is_array() && value.size() == classes.size()) {
      for (const auto& item : value) {
        WM_ASSIGN(const double p, number_field(item));
        result.push_back(p);
      }
    } else if (value.is_object()) {
      for (const auto& label : classes.names()) {
        if (!value.contains(label)) return data_error("'" + std::string(name) + "' lacks the class '" + label + "'");
        WM_ASSIGN(const double p, number_field(value[label]));
        result.push_back(p);
      }
    } else {
      return data_error(fmt::format("'{}' has no value for each of {} classes", name, classes.size()),
                        "classes: " + join(classes.names(), ", "));
    }
    return result;
  }
  for (const char* name : {"probability", "prob", "score"}) {
    if (!fields.is_object() || !fields.contains(name) || classes.size() != 2) continue;
    WM_ASSIGN(const double p, number_field(fields[name]));
    return std::vector<double>{1 - p, p};
  }
  return data_error("there are no probabilities",
                    "give each answer a field 'probabilities' (by class, or a list in the order of the classes), or, "
                    "for two classes, 'probability' of the second");
}

Result<Probabilities> all_probabilities(const Examples& examples, const ScoreSettings& settings) {
  std::vector<std::string> names;
  for (const auto& example : examples.examples) {
    if (!example.references.empty()) names.emplace_back(stripped(example.references.front()));
  }
  Probabilities result{.classes = Classes(std::move(names)), .truth = {}, .rows = {}};
  if (result.classes.size() < 2) return data_error("all references have one label", "two are needed");
  WM_TRY(try_each_answer(examples, [&](const Example& example, const Answer& answer) -> Status {
    if (example.references.empty()) return data_error("the reference has no label");
    result.truth.push_back(result.classes.number_of(stripped(example.references.front())));
    if (!answer.problem.empty()) {  // the right class gets nothing
      std::vector<double> wrong(result.classes.size(), 1 / (static_cast<double>(result.classes.size()) - 1));
      wrong[result.truth.back()] = 0;
      result.rows.push_back(std::move(wrong));
      return {};
    }
    WM_ASSIGN(auto row, probabilities_of(answer.fields, result.classes));
    result.rows.push_back(std::move(row));
    return {};
  }));
  if (!settings.positive.empty() && !result.classes.has(settings.positive)) {
    return data_error("no label is '" + settings.positive + "'", "labels: " + join(result.classes.names(), ", "));
  }
  return result;
}

Result<Measured> measure_auc(const Examples& examples, const ScoreSettings& settings) {
  WM_ASSIGN(const auto probabilities, all_probabilities(examples, settings));
  if (probabilities.classes.size() != 2) {
    return data_error(fmt::format("auc is of two classes, and there are {}", probabilities.classes.size()));
  }
  const std::uint32_t positive = settings.positive.empty() ? 1 : probabilities.classes.number_of(settings.positive);
  const std::size_t rows = probabilities.rows.size();
  std::vector<double> scores;
  auto is_positive = std::make_shared<std::vector<char>>();
  for (std::size_t row = 0; row < rows; ++row) {
    scores.push_back(probabilities.rows[row][positive]);
    is_positive->push_back(probabilities.truth[row] == positive ? 1 : 0);
  }
  Measured measured = measured_of(examples);
  std::vector<std::uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] < scores[b]; });
  // Sorted once; a sample only counts how often each row is in it.
  measured.value = [scores, order, is_positive](Rows chosen) {
    std::vector<std::uint32_t> counts(scores.size(), 0);
    for (const auto row : chosen) ++counts[row];
    return roc_area(scores, *is_positive, order, counts);
  };
  measured.signature = "positive:" + probabilities.classes.names()[positive] + "|ties:half";
  return measured;
}

template <double (*kLoss)(std::span<const double>, std::size_t)>
Result<Measured> measure_loss(const Examples& examples, const ScoreSettings& settings) {
  WM_ASSIGN(const auto probabilities, all_probabilities(examples, settings));
  std::vector<double> each;
  for (std::size_t row = 0; row < probabilities.rows.size(); ++row) {
    each.push_back(kLoss(probabilities.rows[row], probabilities.truth[row]));
  }
  auto measured = mean_metric(examples.size(), examples.systems.size(), std::move(each));
  measured.is_share = false;
  measured.signature = fmt::format("classes:{}", probabilities.classes.size());
  return measured;
}

Result<Measured> measure_calibration(const Examples& examples, const ScoreSettings& settings) {
  WM_ASSIGN(const auto probabilities, all_probabilities(examples, settings));
  std::vector<Confidence> predictions;
  for (std::size_t row = 0; row < probabilities.rows.size(); ++row) {
    const auto& values = probabilities.rows[row];
    const auto best = std::max_element(values.begin(), values.end());
    predictions.push_back({*best, static_cast<std::uint32_t>(best - values.begin()) == probabilities.truth[row]});
  }
  Measured measured = measured_of(examples);
  measured.value = [predictions, bins = settings.bins](Rows rows) {
    std::vector<Confidence> chosen;
    for (const auto row : rows) chosen.push_back(predictions[row]);
    return calibration_error(chosen, bins);
  };
  measured.signature = fmt::format("bins:{}|equal width|confidence of the predicted class", settings.bins);
  return measured;
}

/// For each answer the number of its group, from 0 in the order in which groups come.
Result<std::vector<std::uint32_t>> numbers_of_groups(const Examples& examples) {
  std::vector<std::uint32_t> group_of_row;
  std::map<std::string, std::uint32_t> groups;
  WM_TRY(try_each_answer(examples, [&](const Example& example, const Answer&) -> Status {
    if (example.group.empty()) return data_error("it has no group", "name the field with --group-field");
    group_of_row.push_back(groups.emplace(example.group, static_cast<std::uint32_t>(groups.size())).first->second);
    return {};
  }));
  return group_of_row;
}

/// The share of groups of which `holds(a, b)` is true of the first row and each further one.
template <typename Holds>
Result<Measured> share_of_groups(const Examples& examples, const char* signature, Holds holds) {
  WM_ASSIGN(const auto group_of_row, numbers_of_groups(examples));
  Measured measured = measured_of(examples, signature);
  measured.value = [group_of_row, holds = std::move(holds)](Rows rows) {
    std::map<std::uint32_t, std::pair<std::uint32_t, bool>> groups;  // its first row, and whether it holds of all
    for (const auto row : rows) {
      auto& [first, all] = groups.try_emplace(group_of_row[row], row, true).first->second;
      all = all && holds(first, row);
    }
    double sum = 0;
    for (const auto& [group, state] : groups) sum += state.second ? 1 : 0;
    return groups.empty() ? 0 : sum / static_cast<double>(groups.size());
  };
  return measured;
}

/// MultiRC's EM: the share of questions (groups) whose answers are all classified right.
Result<Measured> measure_group_accuracy(const Examples& examples, const ScoreSettings&) {
  WM_ASSIGN(const auto labels, labels_of(examples));
  return share_of_groups(examples, "groups all right", [labels](std::uint32_t first, std::uint32_t row) {
    return labels.truth[first] == labels.predicted[first] && labels.truth[row] == labels.predicted[row];
  });
}

/// AX-g's gender parity: the share of pairs (groups) whose predictions are equal, right or not.
Result<Measured> measure_parity(const Examples& examples, const ScoreSettings&) {
  WM_ASSIGN(const auto labels, labels_of(examples));
  return share_of_groups(examples, "groups predicted alike",
                         [predicted = labels.predicted](std::uint32_t first, std::uint32_t row) {
                           return predicted[first] == predicted[row];
                         });
}

double kappa_plain(const Confusion& counts) { return cohens_kappa(counts, KappaWeights::none); }
double kappa_linear(const Confusion& counts) { return cohens_kappa(counts, KappaWeights::linear); }
double kappa_quadratic(const Confusion& counts) { return cohens_kappa(counts, KappaWeights::quadratic); }

}  // namespace

std::span<const ScoreMetric> class_metrics() {
  constexpr auto kHigher = Better::higher;
  static constexpr ScoreMetric kMetrics[] = {
      {"accuracy", "share of equal labels", kHigher, false, measure_accuracy},
      {"balanced_accuracy", "mean recall of the classes", kHigher, false, measure_confusion<balanced_accuracy_of>},
      {"precision", "of the positive class", kHigher, false, measure_binary<ClassScore::precision>},
      {"recall", "of the positive class", kHigher, false, measure_binary<ClassScore::recall>},
      {"f1_binary", "F1 of the positive class", kHigher, false, measure_binary<ClassScore::f1>},
      {"precision_micro", "over all decisions", kHigher, false, measure_average<ClassScore::precision, Average::micro>},
      {"precision_macro", "mean over classes", kHigher, false, measure_average<ClassScore::precision, Average::macro>},
      {"precision_weighted", "mean over classes by their size", kHigher, false,
       measure_average<ClassScore::precision, Average::weighted>},
      {"recall_micro", "over all decisions", kHigher, false, measure_average<ClassScore::recall, Average::micro>},
      {"recall_macro", "mean over classes", kHigher, false, measure_average<ClassScore::recall, Average::macro>},
      {"recall_weighted", "mean over classes by their size", kHigher, false,
       measure_average<ClassScore::recall, Average::weighted>},
      {"f1_micro", "over all decisions", kHigher, false, measure_average<ClassScore::f1, Average::micro>},
      {"f1_macro", "mean over classes", kHigher, false, measure_average<ClassScore::f1, Average::macro>},
      {"f1_weighted", "mean over classes by their size", kHigher, false,
       measure_average<ClassScore::f1, Average::weighted>},
      {"mcc", "Matthews' correlation, -1 to 1", kHigher, false, measure_confusion<matthews_correlation>},
      {"cohen_kappa", "agreement of labels beyond chance", kHigher, false, measure_confusion<kappa_plain>},
      {"cohen_kappa_linear", "the same, near classes count partly", kHigher, false, measure_confusion<kappa_linear>},
      {"cohen_kappa_quadratic", "the same, by squared distance", kHigher, false, measure_confusion<kappa_quadratic>},
      {"auc", "area under the ROC curve, of probabilities of two classes", kHigher, false, measure_auc},
      {"log_loss", "mean -ln of the true class's probability, nats", Better::lower, false, measure_loss<log_loss_of>},
      {"brier", "mean squared error of the probabilities", Better::lower, false, measure_loss<brier_of>},
      {"ece", "expected calibration error", Better::lower, false, measure_calibration},
      {"group_accuracy", "share of groups that are right as a whole (MultiRC's EM)", kHigher, false,
       measure_group_accuracy},
      {"group_parity", "share of groups that are predicted alike (AX-g's gender parity)", kHigher, false,
       measure_parity},
  };
  return kMetrics;
}

}  // namespace warpmark::accuracy
