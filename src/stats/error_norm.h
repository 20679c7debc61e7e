// ||out - ref|| / ||ref||, the relative Frobenius norm in fp64: how far an output is from its reference as a whole, so
// that one element near zero does not decide.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace warpmark::stats {

/// Stands for "wrong beyond measure": above every tolerance, and unlike infinity it has a JSON form.
inline constexpr double kFailedError = 1e300;

/// Accumulates element by element. One thread each; merge() joins the parts of several.
class ErrorNorm {
 public:
  void add(double out, double reference) {
    const double difference = out - reference;
    difference_squares_ += difference * difference;
    reference_squares_ += reference * reference;
    ++count_;
  }

  void merge(const ErrorNorm& other) {
    difference_squares_ += other.difference_squares_;
    reference_squares_ += other.reference_squares_;
    count_ += other.count_;
  }

  [[nodiscard]] std::int64_t count() const { return count_; }

  /// The relative error. kFailedError where no honest number exists: a NaN or infinity in either, a difference from a
  /// reference that is all zero, or nothing compared at all. 0 if both are all zero.
  [[nodiscard]] double value() const {
    // A NaN or infinite element makes the sums NaN or infinite, so the loop above needs no branch.
    if (count_ == 0 || !std::isfinite(difference_squares_) || !std::isfinite(reference_squares_)) return kFailedError;
    if (difference_squares_ == 0) return 0;
    if (reference_squares_ == 0) return kFailedError;
    const double ratio = std::sqrt(difference_squares_ / reference_squares_);
    return ratio < kFailedError ? ratio : kFailedError;
  }

 private:
  double difference_squares_ = 0;
  double reference_squares_ = 0;
  std::int64_t count_ = 0;
};

/// ErrorNorm::value of whole arrays of equal size.
[[nodiscard]] double relative_error(std::span<const double> out, std::span<const double> reference);
[[nodiscard]] double relative_error(std::span<const float> out, std::span<const double> reference);
[[nodiscard]] double relative_error(std::span<const float> out, std::span<const float> reference);

}  // namespace warpmark::stats
