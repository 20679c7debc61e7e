// Multiple choice as lm-evaluation-harness scores it: the choice with the largest log-likelihood, as it is, by its
// length in characters (acc_norm) or in bytes; and choices given as a letter in a text. Subjects and the four
// categories of MMLU (Hendrycks et al., ICLR 2021). Numbers out of answers as it takes them for GSM8K (Cobbe et al.,
// 2021): strictly after "#### ", or flexibly the last number of the text; and pass@k without bias (Chen et al.,
// "Evaluating Large Language Models Trained on Code", 2021).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

/// Stands for an answer without a number: never right.
inline constexpr const char* kInvalidAnswer = "[invalid]";

[[nodiscard]] std::string gsm8k_strict(std::string_view answer);
[[nodiscard]] std::string gsm8k_flexible(std::string_view answer);
/// What both sides are compared as: without commas, dollar signs, all up to the last "#### ", and a final period; lower
/// case.
[[nodiscard]] std::string gsm8k_normalized(std::string_view answer);

/// The value of such a text: "1,234.50", "$5", "-7", "3/4", "25%" (0.25). Nothing where it is no number.
[[nodiscard]] std::optional<double> value_of_number(std::string_view text);

/// Chance that at least one of k samples is right, drawn from n of which c are right. k at most n.
[[nodiscard]] double pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k);

}  // namespace warpmark::accuracy
