// Metrics of embeddings and of scores that a model gave to pictures.
#include <fmt/format.h>

#include "accuracy/embeddings/similarity.h"
#include "accuracy/scoring/each_answer.h"
#include "accuracy/scoring/metric.h"
#include "base/units.h"

namespace warpmark::accuracy {
namespace {

/// Reads a list of lists of numbers of equal length.
Result<std::vector<double>> token_numbers(const Json& fields, std::size_t& width) {
  const char* name = "token_embeddings";
  if (!fields.is_object() || !fields.contains(name) || !fields[name].is_array()) {
    return data_error("it has no list 'token_embeddings'", "one list of numbers for each token, on both sides");
  }
  std::vector<double> numbers;
  for (const auto& token : fields[name]) {
    if (!token.is_array() || (width != 0 && token.size() != width)) {
      return data_error("its token embeddings are no lists of equal length");
    }
    width = token.size();
    for (const auto& value : token) {
      if (!value.is_number()) return data_error("a token embedding holds no number: " + dump_json(value, -1));
      numbers.push_back(value.get<double>());
    }
  }
  return numbers;
}

using CompareEmbeddings = double (*)(std::span<const double>, std::span<const double>, double scale);

Result<Measured> compared(const Examples& examples, CompareEmbeddings compare, double scale) {
  const auto score = [&](const Example& example, const Answer& answer) -> Result<double> {
    if (example.embedding.empty() || example.embedding.size() != answer.embedding.size()) {
      return data_error(fmt::format("embeddings of {} and {} numbers cannot be compared", example.embedding.size(),
                                    answer.embedding.size()),
                        "both sides need a field 'embedding', or a .npy file with a row an example, of one encoder");
    }
    return compare(answer.embedding, example.embedding, scale);
  };
  WM_ASSIGN(auto measured, try_mean_of_answers(examples, score));
  measured.is_share = false;
  return measured;
}

double clip_of(std::span<const double> a, std::span<const double> b, double) { return clip_score(a, b); }
double cosine_of(std::span<const double> a, std::span<const double> b, double) { return cosine(a, b); }

Result<Measured> measure_cosine(const Examples& examples, const ScoreSettings&) {
  WM_ASSIGN(auto measured, compared(examples, cosine_of, 1));
  measured.signature = "cosine of the given embeddings";
  return measured;
}

Result<Measured> measure_clip(const Examples& examples, const ScoreSettings&) {
  WM_ASSIGN(auto measured, compared(examples, clip_of, 1));
  measured.signature = "w:2.5|cosine of the given embeddings";
  return measured;
}

Result<Measured> measure_preference(const Examples& examples, const ScoreSettings& settings) {
  WM_ASSIGN(auto measured, compared(examples, preference_score, settings.scale));
  measured.signature = fmt::format("scale:{:g}|cosine of the given embeddings", settings.scale);
  return measured;
}

Result<Measured> measure_bert(const Examples& examples, const ScoreSettings&) {
  const auto score = [&](const Example& example, const Answer& answer) -> Result<double> {
    std::size_t width = 0;
    WM_ASSIGN(const auto theirs, token_numbers(example.fields, width));
    WM_ASSIGN(const auto ours, token_numbers(answer.fields, width));
    return bert_score({theirs, width}, {ours, width}).f;
  };
  WM_ASSIGN(auto measured, try_mean_of_answers(examples, score));
  measured.is_share = false;
  measured.signature = "f|idf:no|rescaled:no|the given token embeddings";
  return measured;
}

/// P("Yes"): a number 'score', the log-probabilities of the answer's tokens, or those of the spellings of yes.
Result<double> yes_score(const Answer& answer) {
  const auto numbers = [](const Json& list) -> Result<std::vector<double>> {
    std::vector<double> values;
    for (const auto& [key, value] : list.items()) {
      if (!value.is_number()) return data_error("a log-probability is no number: " + dump_json(value, -1));
      values.push_back(value.get<double>());
    }
    return values;
  };
  const Json& fields = answer.fields;
  if (fields.is_object() && fields.contains("yes_logprobs")) {
    WM_ASSIGN(const auto values, numbers(fields["yes_logprobs"]));
    return yes_mass(values);
  }
  if (fields.is_object() && fields.contains("answer_logprobs")) {
    WM_ASSIGN(const auto values, numbers(fields["answer_logprobs"]));
    return yes_probability(values);
  }
  const auto value = parse_number(answer.text);
  if (value.ok() && *value >= 0 && *value <= 1) return *value;
  return data_error("it has neither a score from 0 to 1, nor 'yes_logprobs', nor 'answer_logprobs'");
}

Result<Measured> measure_vqascore(const Examples& examples, const ScoreSettings&) {
  const auto score = [](const Example&, const Answer& answer) { return yes_score(answer); };
  WM_ASSIGN(auto measured, try_mean_of_answers(examples, score));
  measured.is_share = false;
  measured.signature = "P(yes) as given; the question is part of the task";
  return measured;
}

}  // namespace

std::span<const ScoreMetric> embedding_metrics() {
  constexpr auto kHigher = Better::higher;
  static constexpr ScoreMetric kMetrics[] = {
      {"cosine", "mean cosine of embeddings", kHigher, false, measure_cosine},
      {"clipscore", "CLIPScore: 2.5 max(cosine, 0)", kHigher, false, measure_clip},
      {"pickscore", "PickScore: --scale (100) times the cosine", kHigher, false, measure_preference},
      {"hpsv2", "HPSv2: --scale (100) times the cosine", kHigher, false, measure_preference},
      {"bertscore", "BERTScore F of token embeddings", kHigher, false, measure_bert},
      {"vqascore", "VQAScore: mean P(yes)", kHigher, false, measure_vqascore},
  };
  return kMetrics;
}

}  // namespace warpmark::accuracy
