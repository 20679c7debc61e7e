// All metrics, and the names of several at once.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "accuracy/scoring/metric.h"
#include "base/text.h"
#include "base/units.h"

namespace warpmark::accuracy {
namespace {

constexpr const char* kPassAt = "pass@";

std::vector<const ScoreMetric*> pointers_to_metrics() {
  std::vector<const ScoreMetric*> all;
  for (const auto part : {text_metrics(), class_metrics(), choice_metrics(), rating_metrics(), embedding_metrics(),
                          perplexity_metrics()}) {
    for (const auto& metric : part) all.push_back(&metric);
  }
  return all;
}

const OfficialTask* official_task(const std::string& name) {
  for (const auto& task : official_tasks()) {
    if (task.id == name) return &task;
  }
  return nullptr;
}

/// Names of other tools: scikit-learn, Hugging Face's evaluate, lm-evaluation-harness, and how people write them.
constexpr std::pair<const char*, const char*> kOtherNames[] = {
    {"em", "exact_match"},
    {"exact", "exact_match"},
    {"f1_score", "f1"},
    {"squad_f1", "f1"},
    {"rouge", "rouge1"},
    {"rouge", "rouge2"},
    {"rouge", "rougeL"},
    {"rouge_1", "rouge1"},
    {"rouge_2", "rouge2"},
    {"rouge_l", "rougeL"},
    {"rouge_lsum", "rougeLsum"},
    {"sacrebleu", "bleu"},
    {"acc_score", "accuracy"},
    {"accuracy_score", "accuracy"},
    {"matthews_correlation", "mcc"},
    {"roc_auc", "auc"},
    {"auroc", "auc"},
    {"ppl", "perplexity"},
    {"pearsonr", "pearson"},
    {"spearmanr", "spearman"},
    {"cohens_kappa", "cohen_kappa"},
    {"word_error_rate", "wer"},
    {"character_error_rate", "cer"},
};

/// The ids that a name means, whatever its case and with - for _; the name itself if it means none.
std::vector<std::string> ids_meant(const std::string& name) {
  if (find_in(score_metrics(), name) != nullptr) return {name};
  std::string folded = ascii_lower(name);
  std::replace(folded.begin(), folded.end(), '-', '_');
  for (const auto* metric : score_metrics()) {
    if (ascii_lower(metric->id) == folded) return {metric->id};
  }
  std::vector<std::string> ids;
  for (const auto& [other, id] : kOtherNames) {
    if (folded == other) ids.emplace_back(id);
  }
  return ids.empty() ? std::vector<std::string>{name} : ids;
}

Error unknown_metric(const std::string& name) {
  auto known = ids_of(score_metrics());
  for (const auto& task : official_tasks()) known.emplace_back(task.id);
  const auto meant = nearest(name, known);
  return usage_error("there is no metric '" + name + "'",
                     meant.empty() ? "metrics: " + join(known, ", ") : "did you mean '" + meant + "'?");
}

}  // namespace

Catalog<ScoreMetric> score_metrics() {
  static const std::vector<const ScoreMetric*> all = pointers_to_metrics();
  return all;
}

const std::vector<OfficialTask>& official_tasks() {
  static const std::vector<OfficialTask> tasks{
      {"glue/cola", {"mcc"}},
      {"glue/sst2", {"accuracy"}},
      {"glue/mrpc", {"accuracy", "f1_binary"}},
      {"glue/stsb", {"pearson", "spearman"}},
      {"glue/qqp", {"accuracy", "f1_binary"}},
      {"glue/mnli", {"accuracy"}},
      {"glue/qnli", {"accuracy"}},
      {"glue/rte", {"accuracy"}},
      {"glue/wnli", {"accuracy"}},
      {"glue/ax", {"mcc"}},
      {"superglue/boolq", {"accuracy"}},
      {"superglue/cb", {"accuracy", "f1_macro"}},
      {"superglue/copa", {"accuracy"}},
      {"superglue/multirc", {"f1_binary", "group_accuracy"}},
      {"superglue/record", {"f1", "exact_match"}},
      {"superglue/rte", {"accuracy"}},
      {"superglue/wic", {"accuracy"}},
      {"superglue/wsc", {"accuracy"}},
      {"superglue/axb", {"mcc"}},
      {"superglue/axg", {"accuracy", "group_parity"}},
  };
  return tasks;
}

Result<std::vector<NamedMetric>> metrics_named(const std::vector<std::string>& names, const ScoreSettings& settings) {
  std::vector<NamedMetric> result;
  const auto add = [&](const std::string& id, const ScoreSettings& with) -> Status {
    const std::string looked_up = id.starts_with(kPassAt) ? "pass@k" : id;
    const ScoreMetric* metric = find_in(score_metrics(), looked_up);
    if (metric == nullptr) return unknown_metric(id);
    const bool there = std::any_of(result.begin(), result.end(), [&](const auto& one) { return one.name == id; });
    if (!there) result.push_back({id, metric, with});
    return {};
  };
  for (const auto& name : names) {
    if (const OfficialTask* task = official_task(name); task != nullptr) {
      for (const char* id : task->metrics) WM_TRY(add(id, settings));
    } else if (name.starts_with(kPassAt) && name != "pass@k") {
      ScoreSettings with = settings;
      const auto k = parse_integer(name.substr(std::string_view(kPassAt).size()));
      if (!k.ok() || *k < 1) return usage_error("'" + name + "' is no pass@k", "pass@1, pass@10, ...");
      with.k = *k;
      WM_TRY(add(name, with));
    } else if (name == "pass@k") {
      WM_TRY(add(fmt::format("pass@{}", settings.k), settings));
    } else {
      for (const auto& id : ids_meant(name)) WM_TRY(add(id, settings));
    }
  }
  return result;
}

Result<Measured> measure(const NamedMetric& metric, const Examples& examples) {
  for (std::size_t s = 0; s < examples.systems.size() && !metric.metric->takes_samples; ++s) {
    for (std::size_t i = 0; i < examples.size(); ++i) {
      if (examples.answer(s, i).samples.empty()) continue;
      return data_error(fmt::format("{} has {} answers to '{}', and {} takes one", examples.systems[s],
                                    examples.answer(s, i).samples.size(), examples.examples[i].id, metric.name),
                        "keep one answer an example, or take pass@k or best_of_n");
    }
  }
  return metric.metric->measure(examples, metric.settings);
}

}  // namespace warpmark::accuracy
