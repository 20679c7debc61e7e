#include "accuracy/classification/classification.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/result.h"
#include "base/units.h"

namespace warpmark::accuracy {
namespace {

double ratio_or_zero(double part, double whole) { return whole > 0 ? part / whole : 0; }

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

Classes::Classes(std::vector<std::string> names) : names_(std::move(names)) {
  std::sort(names_.begin(), names_.end());
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
  std::vector<std::pair<double, std::string>> numbered;
  for (const auto& name : names_) {
    const auto value = parse_number(name);
    if (value.ok()) numbered.emplace_back(*value, name);
  }
  if (numbered.size() == names_.size()) {
    std::sort(numbered.begin(), numbered.end());
    for (std::size_t i = 0; i < names_.size(); ++i) names_[i] = numbered[i].second;
  }
  by_name_.resize(names_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::sort(by_name_.begin(), by_name_.end(), [&](auto a, auto b) { return names_[a] < names_[b]; });
}

bool Classes::has(std::string_view name) const {
  return std::binary_search(names_.begin(), names_.end(), name) ||
         std::find(names_.begin(), names_.end(), name) != names_.end();
}

std::uint32_t Classes::number_of(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](std::uint32_t number, std::string_view text) { return names_[number] < text; });
  WM_CHECK(found != by_name_.end() && names_[*found] == name);
  return *found;
}

double Confusion::total() const { return std::accumulate(counts_.begin(), counts_.end(), 0.0); }

double Confusion::correct() const {
  double sum = 0;
  for (std::size_t i = 0; i < classes_; ++i) sum += count(i, i);
  return sum;
}

double Confusion::truths(std::size_t of_class) const {
  double sum = 0;
  for (std::size_t i = 0; i < classes_; ++i) sum += count(of_class, i);
  return sum;
}

double Confusion::predictions(std::size_t of_class) const {
  double sum = 0;
  for (std::size_t i = 0; i < classes_; ++i) sum += count(i, of_class);
  return sum;
}

double accuracy_of(const Confusion& counts) { return ratio_or_zero(counts.correct(), counts.total()); }

double balanced_accuracy_of(const Confusion& counts) {
  double sum = 0, present = 0;
  for (std::size_t i = 0; i < counts.classes(); ++i) {
    const double truths = counts.truths(i);
    if (truths == 0) continue;
    sum += counts.count(i, i) / truths;
    present += 1;
  }
  return ratio_or_zero(sum, present);
}

double class_score(const Confusion& counts, ClassScore score, std::size_t of_class) {
  const double right = counts.count(of_class, of_class);
  if (score == ClassScore::precision) return ratio_or_zero(right, counts.predictions(of_class));
  if (score == ClassScore::recall) return ratio_or_zero(right, counts.truths(of_class));
  return ratio_or_zero(2 * right, counts.predictions(of_class) + counts.truths(of_class));
}

double average_score(const Confusion& counts, ClassScore score, Average average) {
  if (average == Average::micro) return accuracy_of(counts);  // with one class an example all three are the accuracy
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < counts.classes(); ++i) {
    const double truths = counts.truths(i);
    if (truths == 0 && counts.predictions(i) == 0) continue;
    const double weight = average == Average::weighted ? truths : 1;
    sum += weight * class_score(counts, score, i);
    weights += weight;
  }
  return ratio_or_zero(sum, weights);
}

double matthews_correlation(const Confusion& counts) {
  const double total = counts.total(), correct = counts.correct();
  double products = 0, predicted_squares = 0, true_squares = 0;
  for (std::size_t i = 0; i < counts.classes(); ++i) {
    const double truths = counts.truths(i), predictions = counts.predictions(i);
    products += truths * predictions;
    predicted_squares += predictions * predictions;
    true_squares += truths * truths;
  }
  const double denominator = (total * total - predicted_squares) * (total * total - true_squares);
  return denominator > 0 ? (correct * total - products) / std::sqrt(denominator) : 0;
}

double cohens_kappa(const Confusion& counts, KappaWeights weights) {
  const double total = counts.total();
  double observed = 0, expected = 0;
  for (std::size_t i = 0; i < counts.classes(); ++i) {
    for (std::size_t j = 0; j < counts.classes(); ++j) {
      const double distance = std::fabs(static_cast<double>(i) - static_cast<double>(j));
      const double weight = weights == KappaWeights::none     ? (i == j ? 0.0 : 1.0)
                            : weights == KappaWeights::linear ? distance
                                                              : distance * distance;
      observed += weight * counts.count(i, j);
      expected += weight * counts.truths(i) * counts.predictions(j) / std::max(total, 1.0);
    }
  }
  return expected > 0 ? 1 - observed / expected : 1;
}

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
