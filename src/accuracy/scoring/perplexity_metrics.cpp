// Perplexity of texts by the log-probabilities that a model gave them, as lm-evaluation-harness has it: sums over the
// corpus, per token, per word (split at white space) or per byte of UTF-8.
#include <cmath>

#include "accuracy/scoring/each_answer.h"
#include "accuracy/scoring/metric.h"
#include "accuracy/text/unicode.h"

namespace warpmark::accuracy {
namespace {

enum class Unit { token, word, byte };

/// The log-likelihood of an answer: 'log_likelihood', or the sum of 'token_logprobs', whose first may be null.
Result<double> log_likelihood(const Json& fields, double& tokens) {
  const Json* list = fields.is_object() && fields.contains("token_logprobs") ? &fields["token_logprobs"] : nullptr;
  double sum = 0;
  tokens = 0;
  if (list != nullptr && list->is_array()) {
    for (const auto& value : *list) {
      if (!value.is_number()) continue;
      sum += value.get<double>();
      tokens += 1;
    }
  }
  for (const char* name : {"log_likelihood", "loglikelihood"}) {
    if (fields.is_object() && fields.contains(name) && fields[name].is_number()) return fields[name].get<double>();
  }
  if (tokens > 0) return sum;
  return data_error("a record has neither 'token_logprobs' nor 'log_likelihood'");
}

double units_of(Unit unit, const std::string& text, double tokens) {
  if (unit == Unit::token) return tokens;
  return static_cast<double>(unit == Unit::word ? words_of(text).size() : text.size());
}

template <Unit kUnit, bool kBits>
Result<Measured> measure_perplexity(const Examples& examples, const ScoreSettings&) {
  std::vector<double> numbers;
  WM_TRY(try_each_answer(examples, [&](const Example&, const Answer& answer) -> Status {
    if (!answer.problem.empty()) return data_error(answer.problem, "each text needs its log-probabilities");
    double tokens = 0;
    WM_ASSIGN(const double sum, log_likelihood(answer.fields, tokens));
    const double units = units_of(kUnit, answer.text, tokens);
    if (!(units > 0)) {
      return data_error(kUnit == Unit::token ? "a record has no 'token_logprobs'" : "a record has no text",
                        "name the field of the text with --out-field");
    }
    numbers.push_back(sum);
    numbers.push_back(units);
    return {};
  }));
  auto measured = sum_metric(
      examples.size(), examples.systems.size(), std::move(numbers),
      [](std::span<const double> sums) {
        const double nats = -sums[0] / sums[1];
        return kBits ? nats / std::log(2.0) : std::exp(nats);
      },
      false);
  measured.signature = "of the corpus|as:lm-evaluation-harness";
  return measured;
}

}  // namespace

std::span<const ScoreMetric> perplexity_metrics() {
  static constexpr ScoreMetric kMetrics[] = {
      {"perplexity", "per token, of records with 'token_logprobs'", Better::lower, false,
       measure_perplexity<Unit::token, false>},
      {"word_perplexity", "per word of the text, of 'log_likelihood' or 'token_logprobs'", Better::lower, false,
       measure_perplexity<Unit::word, false>},
      {"byte_perplexity", "per byte of the text", Better::lower, false, measure_perplexity<Unit::byte, false>},
      {"bits_per_byte", "bits per byte of the text", Better::lower, false, measure_perplexity<Unit::byte, true>},
  };
  return kMetrics;
}

}  // namespace warpmark::accuracy
