// Answers to questions: exact match and F1 after the normalization of SQuAD's official script (Rajpurkar et al., ACL
// 2018, evaluate-v2.0), and edit distances as word and character error rates.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace warpmark::accuracy {

/// Lower case, without ASCII punctuation and the articles a, an, the, single spaces.
[[nodiscard]] std::string squad_normalized(std::string_view answer);

struct AnswerScore {
  double exact = 0;  ///< 0 or 1
  double f1 = 0;
};

/// The best of the gold answers. Gold answers that are normalized to nothing are dropped; none left is an unanswerable
/// question, whose right answer is none.
[[nodiscard]] AnswerScore squad_score(std::span<const std::string> gold, std::string_view answer);
/// Against one gold answer, as it is.
[[nodiscard]] AnswerScore squad_pair(std::string_view gold, std::string_view answer);

struct EditCounts {
  std::int64_t edits = 0;
  std::int64_t reference_length = 0;
};

/// Fewest insertions, deletions and substitutions, of words and of characters. Of several references the one with the
/// lowest rate.
[[nodiscard]] EditCounts word_edits(std::span<const std::string> references, std::string_view hypothesis);
[[nodiscard]] EditCounts character_edits(std::span<const std::string> references, std::string_view hypothesis);

}  // namespace warpmark::accuracy
