#include "evaluate/run_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "accuracy/choice/choice.h"
#include "accuracy/embeddings/similarity.h"
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
  return {};
}

struct Sampled {
  std::string output;
  std::string problem;
  bool passed = false;
  const Reply* reply = nullptr;
  Json fields = nullptr;  ///< what else the answer tells: log-likelihoods of choices
};

/// All requests of one question and what came of them.
struct Asked {
  std::span<const Item> items;
  std::vector<const Reply*> replies;
  std::string failure;  ///< of the first that was not answered
};

Result<std::vector<double>> weighed(const Task& task, const Asked& asked, std::size_t choices) {
  if (task.ask == Ask::letters && task.generation.chat) return letter_log_likelihoods(*asked.replies.front(), choices);
  std::vector<double> values;
  for (std::size_t part = 0; part < asked.items.size(); ++part) {
    WM_ASSIGN(const double value, log_likelihood_of(asked.items[part], *asked.replies[part]));
    values.push_back(value);
  }
  return values;
}

/// What the log-probabilities of the replies say; an error says what is wrong with these.
Status weigh(const Task& task, const Record& record, const Asked& asked, Sampled& sample) {
  if (task.ask == Ask::yes) {
    WM_ASSIGN(const auto spellings, spelling_logprobs(*asked.replies.front(), "yes"));
    sample.fields = Json{{"yes_logprobs", spellings}};
    sample.output = fmt::format("{}", accuracy::yes_mass(spellings));
    return {};
  }
  WM_ASSIGN(const auto shown, weighed(task, asked, choices_of(record).size()));
  std::vector<double> values = shown;
  const auto& order = asked.items.front().choice_order;
  for (std::size_t i = 0; i < order.size(); ++i) values[order[i]] = shown[i];
  const auto best = accuracy::best_choice(values, {}, accuracy::LengthNorm::none);
  sample.fields = Json{{"log_likelihoods", values}};
  sample.output = std::string(1, static_cast<char>('A' + static_cast<char>(best)));
  return {};
}

Result<Sampled> sampled(const Task& task, const Record& record, const Asked& asked,
                        const std::atomic<bool>* interrupted) {
  Sampled sample;
  sample.reply = asked.replies.front();
  if (!asked.failure.empty()) {
    sample.problem = asked.failure;
    return sample;
  }
  if (task.ask != Ask::text) {
    const Status weighing = weigh(task, record, asked, sample);
    if (!weighing.ok()) sample.problem = weighing.error().what;
    return sample;
  }
  const Item& item = asked.items.front();
  const Reply* reply = sample.reply;
  sample.problem = problem_of(*reply);
  if (!sample.problem.empty()) return sample;
  sample.output = extracted(task, reply->text, choices_of(record).size(), item.choice_order);
  if (task.execution.enabled) {
    WM_ASSIGN(sample.passed, python_reaches_its_end(task.execution.interpreter, program_of(record, sample.output),
                                                    {.deadline_s = task.execution.deadline_s}, interrupted));
  } else if (sample.output.empty()) {
    sample.problem = reply->finish_reason == "length" ? "was cut off at the limit of tokens" : "has nothing to extract";
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
  if (chosen.fields.is_object()) {
    answer.fields.update(chosen.fields);
  } else if (chosen.reply != nullptr) {
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
  if (example.subjects.size() == 1) json["subject"] = example.subjects.front();
  if (example.subjects.size() > 1) json["subject"] = example.subjects;
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

/// The requests of the question at `at`, which is moved behind them.
Asked asked_at(const std::vector<Item>& items, const RunnerResult& result, const FindReply& find_reply,
               std::size_t& at) {
  const std::size_t begin = at;
  Asked asked;
  do {
    asked.replies.push_back(find_reply(items[at].hash));
    if (asked.replies.back() == nullptr && asked.failure.empty()) {
      asked.failure = result.failures[at].empty() ? "was not asked" : result.failures[at];
    }
    ++at;
  } while (at < items.size() && items[at].part > 0);
  asked.items = std::span(items).subspan(begin, at - begin);
  return asked;
}

const Json* field_in(const Reply& reply, const char* name) {
  return reply.extra.is_object() && reply.extra.contains(name) ? &reply.extra[name] : nullptr;
}

Result<const Json*> top_in(const Reply& reply) {
  const Json* top = field_in(reply, "top_logprobs");
  if (top != nullptr && top->is_object() && !top->empty()) return top;
  return data_error("comes without log-probabilities of the first token");
}

}  // namespace

Result<TaskOutcome> outcome_of(const Task& task, const std::vector<Record>& data, const std::vector<Item>& items,
                               const RunnerResult& result, const FindReply& find_reply, const std::string& system,
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
      for (std::int64_t s = 0; s < task.generation.samples; ++s) {
        const Asked asked = asked_at(items, result, find_reply, at);
        for (const Reply* reply : asked.replies) {
          if (reply != nullptr) count_efficiency(task, *reply, outcome.efficiency);
        }
        WM_ASSIGN(auto sample, sampled(task, data[i], asked, interrupted));
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

Result<double> log_likelihood_of(const Item& item, const Reply& reply) {
  if (const Json* reported = field_in(reply, "log_likelihood"); reported != nullptr && reported->is_number()) {
    return reported->get<double>();
  }
  const Json* places = field_in(reply, "text_offset");
  if (places == nullptr || !places->is_array() || places->size() != reply.token_logprobs.size() || places->empty()) {
    return data_error("comes without log-probabilities of the prompt");
  }
  if (!reply.text.starts_with(item.request["prompt"].get<std::string>())) {
    return data_error("does not echo the prompt");
  }
  double sum = 0;
  std::int64_t covered = item.context_characters;
  for (std::size_t i = 0; i < reply.tokens.size(); ++i) {
    const auto begin = (*places)[i].get<std::int64_t>();
    const auto end = begin + static_cast<std::int64_t>(accuracy::code_points(reply.tokens[i]).size());
    if (end <= item.context_characters || begin >= item.whole_characters) continue;
    if (begin > covered) return data_error("comes without the log-probability of a part of the choice");
    covered = std::max(covered, end);
    sum += reply.token_logprobs[i];
  }
  if (covered < item.whole_characters) return data_error("comes without the log-probability of a part of the choice");
  return sum;
}

Result<std::vector<double>> letter_log_likelihoods(const Reply& reply, std::size_t choices) {
  WM_ASSIGN(const Json* top, top_in(reply));
  std::vector<double> mass(choices, 0);
  double least = 0;
  for (const auto& [token, logprob] : top->items()) {
    least = std::min(least, logprob.get<double>());
    const auto letter = accuracy::stripped(token);
    if (letter.size() != 1 || letter[0] < 'A') continue;
    const auto place = static_cast<std::size_t>(letter[0] - 'A');
    if (place < choices) mass[place] += std::exp(logprob.get<double>());
  }
  if (std::all_of(mass.begin(), mass.end(), [](double one) { return one == 0; })) {
    return data_error("lists no letter of a choice among the likeliest first tokens");
  }
  std::vector<double> values;
  for (const double one : mass) values.push_back(one == 0 ? least : std::log(one));
  return values;
}

Result<std::vector<double>> spelling_logprobs(const Reply& reply, std::string_view lower_case_word) {
  WM_ASSIGN(const Json* top, top_in(reply));
  std::vector<double> values;
  for (const auto& [token, logprob] : top->items()) {
    if (accuracy::lower_case(accuracy::stripped(token)) == lower_case_word) values.push_back(logprob.get<double>());
  }
  return values;
}

}  // namespace warpmark::evaluate
