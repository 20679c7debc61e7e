// Which of a few equal things is not like the others? For each value the deleted t statistic: its distance from the
// mean of the others over their standard deviation, where others that stand out themselves are left out, so that two
// bad ones do not hide each other. What such trimming does to small samples has no formula, so the null distribution is
// simulated: the same procedure on as many independent normal values, with a fixed seed. Without trimming it is the
// test of Grubbs (Ann. Math. Stat. 21, 1950), one-sided.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace warpmark::stats {

/// Fewest values: with two nobody can say which is the odd one.
inline constexpr std::size_t kFewestForOddOneOut = 3;

struct OddOneOut {
  std::vector<double> t;  ///< of each value; large where it lies above the others
  std::vector<double> p;  ///< one-sided: of a value this far above the others where all are equal; never 0
  double stdev = 0;       ///< of the values that do not stand out, at least the floor
  double center = 0;      ///< their mean
  std::size_t kept = 0;   ///< how many they are
};

/// The test for one number of values. Making it takes some tenths of a second.
class OddOneOutTest {
 public:
  /// n at least 3.
  explicit OddOneOutTest(std::size_t n);

  /// `floor` is the least standard deviation that is believed, such as the uncertainty of the values themselves; n
  /// finite values.
  [[nodiscard]] OddOneOut judge(std::span<const double> values, double floor = 0) const;

  /// The distance above the center, in standard deviations, that has this p; nothing where p is below what the
  /// simulation resolves (one in a million).
  [[nodiscard]] std::optional<double> distance(double p) const;

 private:
  std::size_t n_;
  std::vector<double> null_;  ///< statistics of equal things, in ascending order
};

}  // namespace warpmark::stats
