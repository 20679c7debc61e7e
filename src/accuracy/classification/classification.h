// Scores of predicted classes and of their probabilities. From the confusion matrix, as scikit-learn defines them:
// averages run over all classes that occur in the truth or in the predictions, a share of nothing is 0. Cohen's kappa
// (Educ. Psychol. Meas. 20, 1960), Matthews' correlation for any number of classes (Gorodkin, Comput. Biol. Chem. 28,
// 2004). From probabilities: area under the ROC curve (ties count half: Hanley, McNeil, Radiology 143, 1982), log loss
// and Brier score as scikit-learn, expected calibration error over equal bins of confidence (Guo et al., ICML 2017).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpmark::accuracy {

/// Classes by number, in the order of their names; numbers in the order of their values if all names are numbers.
class Classes {
 public:
  /// Of all names that occur.
  explicit Classes(std::vector<std::string> names);
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  /// The name must be one of them.
  [[nodiscard]] std::uint32_t number_of(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::uint32_t> by_name_;  ///< numbers in the order of the names as texts
};

/// Counts by true class (rows) and predicted class.
class Confusion {
 public:
  explicit Confusion(std::size_t classes) : classes_(classes), counts_(classes * classes, 0) {}
  void add(std::uint32_t truth, std::uint32_t predicted) { counts_[truth * classes_ + predicted] += 1; }
  [[nodiscard]] std::size_t classes() const { return classes_; }
  [[nodiscard]] double count(std::size_t truth, std::size_t predicted) const {
    return counts_[truth * classes_ + predicted];
  }
  [[nodiscard]] double total() const;
  [[nodiscard]] double correct() const;
  [[nodiscard]] double truths(std::size_t of_class) const;
  [[nodiscard]] double predictions(std::size_t of_class) const;

 private:
  std::size_t classes_;
  std::vector<double> counts_;
};

enum class Average { micro, macro, weighted };
enum class ClassScore { precision, recall, f1 };

[[nodiscard]] double accuracy_of(const Confusion& counts);
/// Mean recall of the classes that occur in the truth.
[[nodiscard]] double balanced_accuracy_of(const Confusion& counts);
[[nodiscard]] double class_score(const Confusion& counts, ClassScore score, std::size_t of_class);
[[nodiscard]] double average_score(const Confusion& counts, ClassScore score, Average average);
[[nodiscard]] double matthews_correlation(const Confusion& counts);

enum class KappaWeights { none, linear, quadratic };
/// Of two raters with the same classes; weights by the distance of the classes' numbers. 1 where there is but one
/// class.
[[nodiscard]] double cohens_kappa(const Confusion& counts, KappaWeights weights);

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
