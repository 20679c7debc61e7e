// Multiple choice as lm-evaluation-harness scores it: the choice with the largest log-likelihood, as it is, by its
// length in characters (acc_norm) or in bytes; and choices given as a letter in a text. Subjects and the four
// categories of MMLU (Hendrycks et al., ICLR 2021).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpmark::accuracy {

enum class LengthNorm { none, characters, bytes };

/// The first of several best. `texts` are needed for a norm, one for each value.
[[nodiscard]] std::size_t best_choice(std::span<const double> log_likelihoods, std::span<const std::string> texts,
                                      LengthNorm norm);

/// 0 for A: from "B", " b.", "(B) because", "The answer is B.", "**B**"; the last letter that is said to be the answer,
/// else one at the beginning, else the only one that stands alone. Nothing where none does or several do.
[[nodiscard]] std::optional<std::size_t> choice_letter(std::string_view answer, std::size_t choices);

/// "STEM", "humanities", "social sciences" or "other" for one of MMLU's 57 subjects, with underscores or spaces; empty
/// for others. Anatomy is STEM as in the harness; the paper's list has it under other.
[[nodiscard]] std::string_view mmlu_category(std::string_view subject);

}  // namespace warpmark::accuracy
