#include "loadtest/quality.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "evaluate/run_task.h"
#include "evaluate/sandbox/sandbox.h"

namespace warpmark::loadtest {
namespace {

using serving::RequestRecord;

Status check_fits(const evaluate::Task& task, const std::vector<evaluate::Item>& items, const serving::Target& target) {
  if (task.ask != evaluate::Ask::text) {
    return usage_error("--eval: the task weighs tokens, which a stream does not report", "warpmark eval run does");
  }
  const bool pictures =
      std::any_of(items.begin(), items.end(), [](const auto& item) { return !item.pictures.empty(); });
  if (pictures) return usage_error("--eval: the task shows pictures", "warpmark eval run does");
  const std::string api = target.api->id;
  const bool chat = api == "chat" || api == "azure-chat" || api == "vertex-chat";
  if (task.generation.chat ? !chat : api != "completions") {
    return usage_error("--eval: the task's questions do not fit the endpoint " + api,
                       task.generation.chat ? "--endpoint chat" : "--endpoint completions");
  }
  return {};
}

evaluate::Reply reply_from(const RequestRecord& record) {
  evaluate::Reply reply;
  if (record.said != nullptr) reply.text = record.said->visible;
  reply.finish_reason = record.cut_off ? "length" : "stop";
  if (record.prompt_tokens >= 0) reply.prompt_tokens = record.prompt_tokens;
  if (record.output_tokens >= 0) reply.output_tokens = record.output_tokens;
  reply.latency_s = static_cast<double>(record.ended_ns - record.sent_ns) * 1e-9;
  return reply;
}

/// What came of a question, if it was asked.
struct Replied {
  bool asked = false;
  std::string failure;
};

/// A part of a task: the questions that were asked.
struct AskedPart {
  std::vector<accuracy::Record> data;
  std::vector<evaluate::Item> items;
  evaluate::RunnerResult result;
};

AskedPart asked_part(const LoadQuestions& questions, const std::vector<Replied>& replied) {
  AskedPart part;
  const auto& items = questions.items;
  for (std::size_t begin = 0; begin < items.size();) {
    std::size_t end = begin;
    bool all = true;
    for (; end < items.size() && items[end].example == items[begin].example; ++end) all = all && replied[end].asked;
    if (all) part.data.push_back(questions.inputs.data[items[begin].example]);
    for (std::size_t i = begin; all && i < end; ++i) {
      part.items.push_back(items[i]);
      part.result.failures.push_back(replied[i].failure);
    }
    begin = end;
  }
  return part;
}

}  // namespace

Result<std::shared_ptr<const LoadQuestions>> questions_of(const PreparedLoad& request, const Surroundings& around) {
  const serving::Target& target = request.target;
  auto questions = std::make_shared<LoadQuestions>();
  WM_ASSIGN(questions->inputs, evaluate::load_task(request.task));
  evaluate::Task& task = questions->inputs.task;
  task.variants.clear();  // other wordings are no other load
  if (task.execution.enabled) WM_TRY(evaluate::sandbox_works());
  const auto& inputs = questions->inputs;
  WM_ASSIGN(questions->items, evaluate::items_of(task, inputs.data, inputs.shots, target.model,
                                                 request.levels.seed.value_or(1), inputs.pictures));
  WM_TRY(check_fits(task, questions->items, target));
  WM_ASSIGN(questions->metrics, accuracy::metric_set(join(task.metrics, ","), {}, around.environment("WNSEARCHDIR")));
  if (request.levels.seed) questions->scoring.resample.seed = *request.levels.seed;
  questions->scoring.dataset = {task.name, task.version, task.data.split, inputs.sha256};
  questions->scoring.model.model = target.model;
  return std::shared_ptr<const LoadQuestions>(std::move(questions));
}

std::vector<serving::DatasetRow> rows_of(const LoadQuestions& questions, const serving::Target& target) {
  std::vector<serving::DatasetRow> rows;
  for (const auto& item : questions.items) {
    Json body = item.request;
    body["model"] = target.model;
    body["stream"] = target.stream;
    if (target.stream) body["stream_options"] = {{"include_usage", true}};
    body.merge_patch(target.more);
    rows.push_back({.body = dump_json(body, -1)});
  }
  return rows;
}

Status add_quality(const LoadQuestions& questions, const std::atomic<bool>& interrupted,
                   serving::ScenarioResult& result) {
  std::vector<Replied> replied(questions.items.size());
  std::map<std::string, evaluate::Reply> replies;
  for (const auto& record : result.records) {
    const auto turns = static_cast<std::size_t>(std::max<std::int64_t>(result.turns, 1));
    const std::size_t at = record.prepared / turns % questions.items.size();
    const bool goes_on = record.fault == serving::Fault::none && record.turn + 1 < result.turns;
    if (record.fault == serving::Fault::censored || replied[at].asked || goes_on) continue;
    replied[at].asked = true;
    if (record.fault == serving::Fault::none) {
      replies.emplace(questions.items[at].hash, reply_from(record));
    } else {
      replied[at].failure = "was not answered: " + std::string(name_of(record.fault));
    }
  }
  const AskedPart part = asked_part(questions, replied);
  result.quality = serving::QualityFacts{.task = questions.inputs.task.name,
                                         .asked = static_cast<std::int64_t>(part.data.size()),
                                         .of = static_cast<std::int64_t>(questions.inputs.data.size())};
  if (part.data.empty()) return {};
  const auto find = [&](const std::string& hash) -> const evaluate::Reply* {
    const auto found = replies.find(hash);
    return found == replies.end() ? nullptr : &found->second;
  };
  WM_ASSIGN(const auto outcome, evaluate::outcome_of(questions.inputs.task, part.data, part.items, part.result, find,
                                                     questions.scoring.model.model, &interrupted));
  WM_ASSIGN(const auto scores, accuracy::score_systems(outcome.examples, questions.metrics.metrics, questions.scoring));
  for (const auto& score : scores) {
    serving::LoadMetric metric{.id = "quality." + score.metric, .unit = "1", .better = score.better, .n = score.n};
    metric.mean = metric.min = metric.max = score.value;
    if (!score.interval.method.empty()) {  // else there were too few examples for one
      metric.mean_interval = Interval{score.interval.low, score.interval.high, score.confidence};
    }
    result.quality->unanswered = score.unanswered;
    result.metrics.push_back(std::move(metric));
  }
  return {};
}

}  // namespace warpmark::loadtest
