// Tails and quantiles of the normal and Student's t distribution by Boost.Math, in double throughout.
#pragma once

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace warpmark::stats {

/// What is larger than any number is infinite: an interval at a tail of 1e-300 knows nothing, and nothing is thrown.
using DoublePolicy =
    boost::math::policies::policy<boost::math::policies::promote_double<false>,
                                  boost::math::policies::overflow_error<boost::math::policies::ignore_error>>;

/// P(Z <= z).
[[nodiscard]] inline double normal_cdf(double z) {
  return boost::math::cdf(boost::math::normal_distribution<double, DoublePolicy>(), z);
}

/// P(Z > z), exact also far out.
[[nodiscard]] inline double normal_tail(double z) {
  return boost::math::cdf(boost::math::complement(boost::math::normal_distribution<double, DoublePolicy>(), z));
}

/// z with P(Z <= z) = p, p in (0, 1).
[[nodiscard]] inline double normal_quantile(double p) {
  return boost::math::quantile(boost::math::normal_distribution<double, DoublePolicy>(), p);
}

/// P(T > t).
[[nodiscard]] inline double t_tail(double t, double degrees) {
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  return boost::math::cdf(
      boost::math::complement(boost::math::students_t_distribution<double, DoublePolicy>(degrees), t));
}

/// t with P(T > t) = tail, tail in (0, 1).
[[nodiscard]] inline double t_quantile_of_tail(double tail, double degrees) {
  return boost::math::quantile(
      boost::math::complement(boost::math::students_t_distribution<double, DoublePolicy>(degrees), tail));
}

}  // namespace warpmark::stats
