#include "evaluate/outcome.h"

#include <algorithm>

#include "accuracy/text/unicode.h"
#include "evaluate/sandbox/sandbox.h"

namespace warpmark::evaluate {
namespace {

using accuracy::Answer;
using accuracy::Record;

/// Why a reply cannot count, whatever it says; empty if it can.
std::string problem_of(const Reply& reply) {
  if (!accuracy::is_utf8(reply.text)) return "is no UTF-8";
  if (accuracy::stripped(reply.text).empty()) return "is empty";
  if (reply.finish_reason == "length") return "was cut off at the limit of tokens";
  return {};
}

struct Sampled {
  std::string output;
  std::string problem;
  bool passed = false;
  const Reply* reply = nullptr;
};

Result<bool> passes(const Task& task, const Record& record, const std::string& completion,
                    const std::atomic<bool>* interrupted) {
  WM_ASSIGN(const auto outcome,
            run_in_sandbox({task.execution.interpreter, "/sandbox/program"}, program_of(record, completion),
                           {.deadline_s = task.execution.deadline_s}, interrupted));
  return !outcome.timed_out && outcome.exit_code == 0;
}

Result<Sampled> sampled(const Task& task, const Record& record, const Item& item, const Reply* reply,
                        const std::string& failure, const std::atomic<bool>* interrupted) {
  Sampled sample;
  sample.reply = reply;
  if (reply == nullptr) {
    sample.problem = failure.empty() ? "was not asked" : failure;
    return sample;
  }
  sample.problem = problem_of(*reply);
  if (!sample.problem.empty()) return sample;
  sample.output = extracted(task, reply->text, choices_of(record).size(), item.choice_order);
  if (task.execution.enabled) {
    WM_ASSIGN(sample.passed, passes(task, record, sample.output, interrupted));
  } else if (sample.output.empty()) {
    sample.problem = "has nothing to extract";
  }
  return sample;
}

/// The most frequent output; of several the first.
const Sampled& voted(const std::vector<Sampled>& samples) {
  const Sampled* best = &samples.front();
  std::size_t most = 0;
  for (const auto& candidate : samples) {
    if (!candidate.problem.empty()) continue;
    const auto votes = static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), [&](const auto& other) {
      return other.problem.empty() && other.output == candidate.output;
    }));
    if (votes > most) {
      most = votes;
      best = &candidate;
    }
  }
  return *best;
}

Answer answer_from(const Task& task, const std::vector<Sampled>& samples) {
  const Sampled& chosen = voted(samples);
  Answer answer{.text = chosen.output, .problem = chosen.problem, .fields = Json::object()};
  answer.fields["output"] = answer.text;
  if (!answer.problem.empty()) answer.fields["problem"] = answer.problem;
  if (chosen.reply != nullptr) {
    answer.fields["reply"] = accuracy::cleaned_utf8(chosen.reply->text);
    if (!chosen.reply->tokens.empty()) {
      answer.fields["tokens"] = chosen.reply->tokens;
      answer.fields["token_logprobs"] = chosen.reply->token_logprobs;
    }
    if (chosen.reply->extra.is_object()) {
      for (const char* name : {"log_likelihoods", "probabilities", "probability", "score"}) {
        if (chosen.reply->extra.contains(name)) answer.fields[name] = chosen.reply->extra[name];
      }
    }
  }
  if (task.execution.enabled) {  // pass@k counts every sample, one without an answer as failed
    Json results = Json::array();
    for (const auto& sample : samples) results.push_back(sample.passed);
    answer.fields["results"] = results;
    if (!answer.problem.empty() && samples.size() > 1) answer.problem.clear();
  } else if (samples.size() > 1) {
    Json outputs = Json::array();
    for (const auto& sample : samples) outputs.push_back(sample.output);
    answer.fields["outputs"] = outputs;
  }
  return answer;
}

std::string record_line(const accuracy::Example& example, const Answer& answer) {
  Json json{{"id", example.id}};
  json.update(answer.fields);
  json["references"] = example.references;
  if (!example.subject.empty()) json["subject"] = example.subject;
  if (!example.group.empty()) json["group"] = example.group;
  for (const char* name : {"choices", "options", "endings"}) {
    if (example.fields.is_object() && example.fields.contains(name)) json[name] = example.fields[name];
  }
  return dump_json(json, -1) + "\n";
}

void count_efficiency(const Task& task, const Reply& reply, Efficiency& efficiency) {
  constexpr double kMillion = 1e6;
  efficiency.latencies_s.push_back(reply.latency_s);
  efficiency.without_usage += reply.output_tokens ? 0U : 1U;
  efficiency.prompt_tokens += reply.prompt_tokens.value_or(0);
  efficiency.output_tokens += reply.output_tokens.value_or(0);
  efficiency.cost += (static_cast<double>(reply.prompt_tokens.value_or(0)) * task.cost.per_million_input +
                      static_cast<double>(reply.output_tokens.value_or(0)) * task.cost.per_million_output) /
                     kMillion;
}

}  // namespace

Result<TaskOutcome> outcome_of(const Task& task, const std::vector<Record>& data, const std::vector<Item>& items,
                               const RunnerResult& result, const Journal& journal, const std::string& system,
                               const std::atomic<bool>* interrupted) {
  TaskOutcome outcome;
  WM_ASSIGN(outcome.examples, accuracy::join_examples({data}, {}, task.fields));
  std::vector<std::string> variants{""};
  variants.insert(variants.end(), task.variants.begin(), task.variants.end());
  std::size_t at = 0;
  for (const auto& variant : variants) {
    outcome.examples.systems.push_back(variant.empty() ? system : system + ", " + variant);
    std::vector<Answer> answers;
    std::string records;
    for (std::size_t i = 0; i < data.size(); ++i) {
      std::vector<Sampled> samples;
      for (std::int64_t s = 0; s < task.generation.samples; ++s, ++at) {
        const Reply* reply = journal.find(items[at].hash);
        if (reply != nullptr) count_efficiency(task, *reply, outcome.efficiency);
        WM_ASSIGN(auto sample, sampled(task, data[i], items[at], reply, result.failures[at], interrupted));
        samples.push_back(std::move(sample));
      }
      answers.push_back(answer_from(task, samples));
      records += record_line(outcome.examples.examples[i], answers.back());
    }
    outcome.examples.answers.push_back(std::move(answers));
    outcome.records.push_back(std::move(records));
  }
  return outcome;
}

}  // namespace warpmark::evaluate
