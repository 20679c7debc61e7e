// Scores of predicted probabilities: area under the ROC curve (ties count half: Hanley, McNeil, Radiology 143, 1982),
// log loss and Brier score as scikit-learn, expected calibration error over equal bins of confidence (Guo et al., ICML
// 2017).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace warpmark::accuracy {

/// Chance that a positive example is scored above a negative one. `counts`, by example, says how often it is in the
/// sample; `order` has the examples by rising score, `positive` is 0 or 1. Half where a class is missing.
[[nodiscard]] double roc_area(std::span<const double> scores, std::span<const char> positive,
                              std::span<const std::uint32_t> order, std::span<const std::uint32_t> counts);
/// Of all examples once.
[[nodiscard]] double roc_area(std::span<const double> scores, const std::vector<bool>& positive);

/// -ln of the probability of the true class, which is kept within a rounding error of 0 and 1.
[[nodiscard]] double log_loss_of(std::span<const double> probabilities, std::size_t truth);

/// Squared distance to the truth: with two classes of the second class alone, with more the sum over classes.
[[nodiscard]] double brier_of(std::span<const double> probabilities, std::size_t truth);

struct Confidence {
  double confidence = 0;  ///< of the class that is predicted
  bool right = false;
};
inline constexpr int kCalibrationBins = 15;
[[nodiscard]] double calibration_error(std::span<const Confidence> predictions, int bins = kCalibrationBins);

}  // namespace warpmark::accuracy
