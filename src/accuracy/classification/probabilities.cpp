#include "accuracy/classification/probabilities.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace warpmark::accuracy {
namespace {

template <typename IsPositive, typename CountOf>
double area_in_order(std::span<const double> scores, std::span<const std::uint32_t> order, IsPositive is_positive,
                     CountOf count_of) {
  double wins = 0, negatives_below = 0, positives = 0;
  for (std::size_t i = 0; i < order.size();) {
    double tied_positives = 0, tied_negatives = 0;
    const double score = scores[order[i]];
    for (; i < order.size() && scores[order[i]] == score; ++i) {
      (is_positive(order[i]) ? tied_positives : tied_negatives) += count_of(order[i]);
    }
    wins += tied_positives * (negatives_below + tied_negatives / 2);
    negatives_below += tied_negatives;
    positives += tied_positives;
  }
  return positives > 0 && negatives_below > 0 ? wins / (positives * negatives_below) : 0.5;
}

}  // namespace

double roc_area(std::span<const double> scores, std::span<const char> positive, std::span<const std::uint32_t> order,
                std::span<const std::uint32_t> counts) {
  return area_in_order(
      scores, order, [&](std::uint32_t i) { return positive[i] != 0; },
      [&](std::uint32_t i) { return static_cast<double>(counts[i]); });
}

double roc_area(std::span<const double> scores, const std::vector<bool>& positive) {
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] < scores[b]; });
  return area_in_order(
      scores, order, [&](std::uint32_t i) { return positive[i]; }, [](std::uint32_t) { return 1.0; });
}

double log_loss_of(std::span<const double> probabilities, std::size_t truth) {
  const double rounding = std::numeric_limits<double>::epsilon();
  const auto kept = [rounding](double p) { return std::clamp(p, rounding, 1 - rounding); };
  double sum = 0;
  for (const double p : probabilities) sum += kept(p);
  return -std::log(kept(probabilities[truth]) / sum);
}

double brier_of(std::span<const double> probabilities, std::size_t truth) {
  if (probabilities.size() == 2) {
    const double error = probabilities[1] - (truth == 1 ? 1.0 : 0.0);
    return error * error;
  }
  double sum = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const double error = probabilities[i] - (i == truth ? 1.0 : 0.0);
    sum += error * error;
  }
  return sum;
}

double calibration_error(std::span<const Confidence> predictions, int bins) {
  std::vector<double> confidence(static_cast<std::size_t>(bins), 0), right(static_cast<std::size_t>(bins), 0);
  for (const auto& prediction : predictions) {
    // Bins are open below and closed above, as in the paper.
    const double place = std::ceil(prediction.confidence * bins) - 1;
    const auto bin = static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(bins - 1)));
    confidence[bin] += prediction.confidence;
    right[bin] += prediction.right ? 1 : 0;
  }
  double sum = 0;
  for (std::size_t i = 0; i < confidence.size(); ++i) sum += std::fabs(right[i] - confidence[i]);
  return predictions.empty() ? 0 : sum / static_cast<double>(predictions.size());
}

}  // namespace warpmark::accuracy
