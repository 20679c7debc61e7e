// ROUGE (Lin, 2004) exactly as Google's rouge-score: N from 1 to 9, L over whole texts, Lsum over sentences that stand
// on lines of their own. Only a-z and 0-9 are letters of words; optional stemming by NLTK's Porter of words above three
// letters. Scores are 0 to 1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/text/ngrams.h"

namespace warpmark::accuracy {

struct PrecisionRecall {
  double precision = 0;
  double recall = 0;
  double f = 0;
};

/// F of equal weights; 0 where both are 0.
[[nodiscard]] PrecisionRecall precision_recall(double precision, double recall);

enum class RougeKind { n, l, lsum };

struct RougeOptions {
  RougeKind kind = RougeKind::n;
  std::size_t n = 1;  ///< of kind n, 1 to 9
  bool stem = false;
};

/// Keeps the numbers of words and their stems. One thread.
class Rouge {
 public:
  explicit Rouge(const RougeOptions& options) : options_(options) {}
  [[nodiscard]] PrecisionRecall score(std::string_view reference, std::string_view prediction);
  /// Of several references the one with the best F, as rouge-score's score_multi.
  [[nodiscard]] PrecisionRecall best_score(std::span<const std::string> references, std::string_view prediction);
  /// The words it compares: for tests.
  [[nodiscard]] std::vector<std::string> words(std::string_view text) const;

 private:
  using Items = std::vector<std::uint32_t>;
  [[nodiscard]] Items items(std::string_view text);
  [[nodiscard]] std::vector<Items> sentences(std::string_view text);
  [[nodiscard]] PrecisionRecall by_ngrams(const Items& reference, const Items& prediction) const;
  RougeOptions options_;
  Vocabulary words_;
  Vocabulary stems_;
  std::vector<std::uint32_t> stem_of_word_;  ///< by the number of a word; 0: not known yet
};

/// Length of the longest common subsequence.
[[nodiscard]] std::size_t common_subsequence(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

// The stemmer of rouge-score and METEOR: Porter's ("An algorithm for suffix stripping", Program 14, 1980) with the
// changes of NLTK's default mode, which differs from the paper in irregular forms, -ies, -ied, -y, -alli, -fulli and
// -logi.

/// Of a word in lower case.
[[nodiscard]] std::string porter_stem(std::string_view word);

}  // namespace warpmark::accuracy
