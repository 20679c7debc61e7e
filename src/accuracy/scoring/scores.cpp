#include "accuracy/scoring/scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "accuracy/choice/choice.h"
#include "base/json.h"
#include "stats/summary.h"

namespace warpmark::accuracy {
namespace {

/// The same metric of some of the examples.
Measured part_of(const Measured& whole, const std::vector<std::uint32_t>& examples) {
  Measured part{.examples = examples.size(), .systems = whole.systems, .value = {}, .each = {}, .signature = {}};
  part.is_mean = whole.is_mean;
  part.is_share = whole.is_share;
  for (std::size_t s = 0; s < whole.systems && !whole.each.empty(); ++s) {
    for (const auto i : examples) part.each.push_back(whole.each[s * whole.examples + i]);
  }
  part.value = [value = whole.value, examples, all = whole.examples](Rows rows) {
    std::vector<std::uint32_t> mapped;
    for (const auto row : rows) {
      const auto system = row / examples.size();
      mapped.push_back(static_cast<std::uint32_t>(system * all + examples[row % examples.size()]));
    }
    return value(mapped);
  };
  return part;
}

/// Examples by subject in the order of their names; MMLU's subjects also by category.
std::vector<std::pair<std::string, std::vector<std::uint32_t>>> subjects_of(const Examples& examples) {
  const auto subjects = examples_by_subject(examples);
  std::map<std::string, std::vector<std::uint32_t>> categories;
  bool mmlu = true;
  for (const auto& [subject, members] : subjects) {
    const auto category = mmlu_category(subject);
    mmlu = mmlu && !category.empty();
    auto& all_of_category = categories["(" + std::string(category) + ")"];
    all_of_category.insert(all_of_category.end(), members.begin(), members.end());
  }
  for (auto& [name, members] : categories) std::sort(members.begin(), members.end());
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> all;
  if (mmlu) all.assign(categories.begin(), categories.end());
  all.insert(all.end(), subjects.begin(), subjects.end());
  return all;
}

std::vector<SubjectScore> scores_by_subject(const Measured& measured, std::size_t system, const Examples& examples,
                                            const ResampleOptions& options) {
  std::vector<SubjectScore> result;
  for (const auto& [subject, members] : subjects_of(examples)) {
    std::vector<std::string> groups;
    for (const auto i : members) groups.push_back(examples.examples[i].group);
    const Measured part = part_of(measured, members);
    result.push_back({subject, value_of(part, system), interval_of(part, system, Groups(groups), options),
                      static_cast<std::int64_t>(members.size())});
  }
  return result;
}

Json interval_fields(const ScoreInterval& interval, Json json) {
  if (!interval.method.empty()) {
    json["ci_low"] = interval.low;
    json["ci_high"] = interval.high;
  }
  return json;
}

void put_known(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

Json score_json(const Score& score) {
  Json json =
      interval_fields(score.interval, Json{{"system", score.system}, {"metric", score.metric}, {"value", score.value}});
  put_known(json, "undefined", score.undefined);
  put_known(json, "warning", score.warning);
  if (!score.interval.method.empty()) {
    json["confidence"] = score.confidence;
    json["interval"] = score.interval.method;
  }
  json["n"] = score.n;
  if (score.groups > 0) json["groups"] = score.groups;
  json["unanswered"] = score.unanswered;
  json["better"] = score.better == Better::lower ? "lower" : "higher";
  json["signature"] = score.signature;
  Json dataset = Json::object();
  put_known(dataset, "name", score.dataset.name);
  put_known(dataset, "version", score.dataset.version);
  put_known(dataset, "split", score.dataset.split);
  put_known(dataset, "sha256", score.dataset.sha256);
  json["dataset"] = std::move(dataset);
  put_known(json, "model", score.model.model);
  put_known(json, "model_version", score.model.version);
  if (score.resamples > 0) {
    json["resamples"] = score.resamples;
    json["seed"] = std::to_string(score.seed);
  }
  for (const auto& part : score.by) {
    json["by"].push_back(
        interval_fields(part.interval, Json{{"subject", part.subject}, {"value", part.value}, {"n", part.n}}));
  }
  return json;
}

}  // namespace

Groups groups_of(const Examples& examples) {
  std::vector<std::string> names;
  for (const auto& example : examples.examples) names.push_back(example.group);
  return Groups(names);
}

std::vector<std::string> problems_of(const Examples& examples, std::size_t system) {
  std::map<std::string, int> counts;
  for (const auto& answer : examples.answers[system]) {
    if (!answer.problem.empty()) ++counts[answer.problem];
  }
  std::vector<std::pair<int, std::string>> ordered;
  for (const auto& [problem, count] : counts) ordered.emplace_back(-count, problem);
  std::sort(ordered.begin(), ordered.end());
  std::vector<std::string> texts;
  for (const auto& [count, problem] : ordered) texts.push_back(fmt::format("{} ({})", problem, -count));
  return texts;
}

Result<std::vector<Score>> score_systems(const Examples& examples, const std::vector<NamedMetric>& metrics,
                                         const ScoreOptions& options) {
  std::vector<Score> scores;
  const Groups groups = groups_of(examples);
  for (const auto& metric : metrics) {
    WM_ASSIGN(const Measured measured, measure(metric, examples));
    const bool players = !measured.names.empty();
    const Groups of_metric = players ? Groups(measured.examples) : groups;
    for (std::size_t s = 0; s < measured.systems; ++s) {
      Score score{.system = players ? measured.names[s] : examples.systems[s], .metric = metric.name};
      score.value = value_of(measured, s);
      score.warning = measured.warning;
      if (std::isnan(score.value)) score.undefined = measured.undefined;
      score.interval = interval_of(measured, s, of_metric, options.resample);
      score.confidence = options.resample.confidence;
      score.n = static_cast<std::int64_t>(measured.examples);
      if (!of_metric.are_single()) score.groups = static_cast<std::int64_t>(of_metric.count());
      if (!players) {
        const auto& answers = examples.answers[s];
        score.unanswered =
            std::count_if(answers.begin(), answers.end(), [](const auto& a) { return !a.problem.empty(); });
      }
      score.signature = measured.signature;
      score.better = metric.metric->better;
      if (score.interval.method.find("bootstrap") != std::string::npos) {
        score.resamples = options.resample.resamples;
        score.seed = options.resample.seed;
      }
      score.dataset = options.dataset;
      score.model = options.model;
      if (options.by_subject && !players) score.by = scores_by_subject(measured, s, examples, options.resample);
      scores.push_back(std::move(score));
    }
  }
  return scores;
}

Json to_json(const std::vector<Score>& scores) {
  Json json{{"schema", kScoresSchema}, {"scores", Json::array()}};
  for (const auto& score : scores) json["scores"].push_back(score_json(score));
  return json;
}

Run run_of(const Score& score) {
  Run run;
  run.workload = "eval";
  run.params.set("metric", score.metric);
  run.params.set("system", score.model.model.empty() ? score.system : score.model.model);
  run.params.set("dataset", score.dataset.name);
  if (!score.dataset.split.empty()) run.params.set("split", score.dataset.split);
  run.device = "host";
  run.outcome = Outcome::passed;
  if (score.undefined.empty() && !std::isfinite(score.value)) {  // a perplexity where an answer's probability is 0
    run.outcome = Outcome::skipped;
    run.reason = score.metric + " is infinite";
  } else if (score.undefined.empty()) {
    run.metrics.push_back(stats::sampled_metric(score.metric, "1", score.better, {score.value}));
  } else {
    run.outcome = Outcome::skipped;
    run.reason = score.metric + " is undefined: " + score.undefined;
  }
  run.rounds = 1;
  run.converged = true;
  run.seed = score.seed;
  const auto note = [&](const char* key, const std::string& text) {
    if (!text.empty()) run.notes.emplace_back(key, text);
  };
  note("n", std::to_string(score.n));
  if (!score.interval.method.empty()) {
    note("interval", fmt::format("[{:.4g}, {:.4g}] ({:g} %, {})", score.interval.low, score.interval.high,
                                 100 * score.confidence, score.interval.method));
  }
  if (score.unanswered > 0) note("unanswered", std::to_string(score.unanswered));
  note("signature", score.signature);
  note("dataset_version", score.dataset.version);
  note("dataset_sha256", score.dataset.sha256);
  note("model_version", score.model.version);
  return run;
}

}  // namespace warpmark::accuracy
