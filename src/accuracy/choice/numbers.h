// Numbers out of answers as lm-evaluation-harness takes them for GSM8K (Cobbe et al., 2021): strictly after "#### ", or
// flexibly the last number of the text; and pass@k without bias (Chen et al., "Evaluating Large Language Models Trained
// on Code", 2021).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warpmark::accuracy {

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
