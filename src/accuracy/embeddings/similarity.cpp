#include "accuracy/embeddings/similarity.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace warpmark::accuracy {
namespace {

/// Mean over `of` of the largest similarity to a token of `to`.
double greedy_match(const TokenEmbeddings& of, const TokenEmbeddings& to, std::span<const double> weights) {
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < to.size(); ++j) most = std::max(most, cosine(of.at(i), to.at(j)));
    const double weight = weights.empty() ? 1 : weights[i];
    sum += weight * most;
    total += weight;
  }
  return total > 0 ? sum / total : 0;
}

}  // namespace

double cosine(std::span<const double> a, std::span<const double> b) {
  double products = 0, a_squares = 0, b_squares = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    products += a[i] * b[i];
    a_squares += a[i] * a[i];
    b_squares += b[i] * b[i];
  }
  return a_squares > 0 && b_squares > 0 ? products / std::sqrt(a_squares) / std::sqrt(b_squares) : 0;
}

double clip_score(std::span<const double> image, std::span<const double> text) {
  constexpr double kWeight = 2.5;
  return kWeight * std::max(cosine(image, text), 0.0);
}

double preference_score(std::span<const double> image, std::span<const double> text, double scale) {
  return scale * cosine(image, text);
}

PrecisionRecall bert_score(const TokenEmbeddings& reference, const TokenEmbeddings& candidate,
                           std::span<const double> reference_idf, std::span<const double> candidate_idf) {
  if (reference.size() == 0 || candidate.size() == 0) return {};
  const double precision = greedy_match(candidate, reference, candidate_idf);
  const double recall = greedy_match(reference, candidate, reference_idf);
  return precision_recall(precision, recall);
}

double yes_probability(std::span<const double> token_log_probabilities) {
  double sum = 0;
  for (const double value : token_log_probabilities) sum += value;
  return token_log_probabilities.empty() ? 0 : std::exp(sum / static_cast<double>(token_log_probabilities.size()));
}

double yes_mass(std::span<const double> log_probabilities_of_spellings) {
  double mass = 0;
  for (const double value : log_probabilities_of_spellings) mass += std::exp(value);
  return std::min(mass, 1.0);
}

std::size_t best_of(std::span<const double> scores) {
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

}  // namespace warpmark::accuracy
