// Scores from embeddings that somebody else's encoder made: cosine similarity, CLIPScore (Hessel et al., EMNLP 2021),
// BERTScore (Zhang et al., ICLR 2020) by greedy matching of token embeddings, preference models of the CLIP family
// (PickScore, HPSv2: a scale times the cosine), and the choice of the best of N.
#pragma once

#include <cstddef>
#include <span>

#include "accuracy/text/rouge.h"

namespace warpmark::accuracy {

/// 0 where one is all zero.
[[nodiscard]] double cosine(std::span<const double> a, std::span<const double> b);

/// 2.5 max(cosine, 0).
[[nodiscard]] double clip_score(std::span<const double> image, std::span<const double> text);

/// exp of the trained temperature, 100 for the published PickScore and HPSv2, times the cosine.
[[nodiscard]] double preference_score(std::span<const double> image, std::span<const double> text, double scale = 100);

/// Embeddings of tokens, one after another; `width` numbers each.
struct TokenEmbeddings {
  std::span<const double> numbers;
  std::size_t width = 0;
  [[nodiscard]] std::size_t size() const { return width == 0 ? 0 : numbers.size() / width; }
  [[nodiscard]] std::span<const double> at(std::size_t i) const { return numbers.subspan(i * width, width); }
};

/// Each token with the most similar one of the other side; weighted by `idf` where given (one weight a token). All 0 if
/// a side is empty.
[[nodiscard]] PrecisionRecall bert_score(const TokenEmbeddings& reference, const TokenEmbeddings& candidate,
                                         std::span<const double> reference_idf = {},
                                         std::span<const double> candidate_idf = {});

/// P("Yes") of a question about a picture: the log-likelihood of the answer's tokens, as a mean; of a chat model the
/// mass of the first token over the spellings of yes, given their log-probabilities.
[[nodiscard]] double yes_probability(std::span<const double> token_log_probabilities);
[[nodiscard]] double yes_mass(std::span<const double> log_probabilities_of_spellings);

/// Index of the largest; the first of several.
[[nodiscard]] std::size_t best_of(std::span<const double> scores);

}  // namespace warpmark::accuracy
