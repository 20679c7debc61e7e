#include "stats/tests/sequential.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/result.h"
#include "stats/summary.h"

namespace warpmark::stats {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Spread below this share of the mean is rounding of the arithmetic.
constexpr double kSpreadRounding = 1e-13;

/// Twice the p of n differences that all have one sign: no smaller p is believed, whatever the variance. Doubled to
/// leave as much for what comes later.
double p_of_signs(std::int64_t n) {
  return std::ldexp(1.0, static_cast<int>(2 - std::clamp<std::int64_t>(n, 2, 1000)));
}

/// The largest |t| / sqrt(n) that the Bayes factor still allows at this n: half width over standard deviation.
double width_factor(std::int64_t n, const SequentialOptions& options) {
  if (n < 2 || p_of_signs(n) > options.alpha) return kInfinity;
  const auto count = static_cast<double>(n);
  const double r = 1 + count * options.effect_variance;
  // BF = r^(-1/2) ((1 + x) / (1 + x / r))^(n / 2) with x = t^2 / (n - 1); BF < 1 / alpha solved for x.
  const double k = std::exp((std::log(r) - 2 * std::log(options.alpha)) / count);
  if (k >= r) return kInfinity;
  const double x = (k - 1) / (1 - k / r);
  return std::sqrt(x * (count - 1) / count);
}

SequentialTest of_equal_differences(SequentialTest test, double alpha) {
  const double p = p_of_signs(test.n);
  if (p <= alpha) test.interval = Interval{test.mean, test.mean, 1 - alpha};
  if (test.mean != 0) {
    test.p = p;
    test.e_value = 1 / p;
  }
  return test;
}

constexpr double kShareOfT = 0.5;
// Stakes as shares of what one has, to either side. Small ones grow on small effects over many rounds.
constexpr std::array kStakes{0.03, 0.06, 0.12, 0.24, 0.45, 0.7, 0.95};
constexpr std::size_t kBets = 2 * kStakes.size();
// All pairwise means of more differences than this cost more than they tell beyond the median.
constexpr std::size_t kMostForPairs = 600;
// Products of this many factors between 0.05 and 1.95 stay within a double.
constexpr std::size_t kFactorsAtOnce = 128;
constexpr int kHalvings = 18;
constexpr int kMostSteps = 60;
constexpr double kStepInwards = 0.7;

/// What one has after betting on every sign with a score in [0, 1], for every stake.
class Bets {
 public:
  void add(double sign, double score) {
    if (sign == 0 || score == 0) return;
    for (std::size_t i = 0; i < kStakes.size(); ++i) {
      factors_[2 * i] *= 1 + kStakes[i] * score * sign;
      factors_[2 * i + 1] *= 1 - kStakes[i] * score * sign;
    }
    if (++pending_ == kFactorsAtOnce) settle();
  }
  /// The mean over all stakes.
  [[nodiscard]] double evidence() {
    settle();
    double sum = 0;
    for (const double log : logs_) sum += std::exp(std::min(log, 690.0)) / kBets;
    return sum;
  }

 private:
  void settle() {
    for (std::size_t i = 0; i < kBets; ++i) {
      logs_[i] += std::log(factors_[i]);
      factors_[i] = 1;
    }
    pending_ = 0;
  }
  static constexpr std::array<double, kBets> ones() {
    std::array<double, kBets> values{};
    for (double& value : values) value = 1;
    return values;
  }
  std::array<double, kBets> factors_ = ones();
  std::array<double, kBets> logs_{};
  std::size_t pending_ = 0;
};

/// Ranks of values among those before them and themselves, as shares in (0, 1); equal ones share their ranks.
class SequentialRanks {
 public:
  double share_of_next(double value) {
    const auto [low, high] = std::equal_range(sorted_.begin(), sorted_.end(), value);
    const double below = static_cast<double>(low - sorted_.begin()), equal = static_cast<double>(high - low);
    sorted_.insert(high, value);
    return (below + equal / 2 + 0.5) / static_cast<double>(sorted_.size());
  }

 private:
  std::vector<double> sorted_;
};

double t_evidence(const SequentialTest& of_zero, double shift, const SequentialOptions& options) {
  const auto n = static_cast<double>(of_zero.n);
  const double r = 1 + n * options.effect_variance;
  const double distance = of_zero.mean - shift;
  const double x = n * distance * distance / (of_zero.stdev * of_zero.stdev) / (n - 1);
  return std::exp(std::min(-std::log(r) / 2 + n / 2 * (std::log1p(x) - std::log1p(x / r)), 690.0));
}

double centre_of(std::span<const double> differences) {
  if (differences.size() > kMostForPairs) return median(differences);
  std::vector<double> means;
  means.reserve(differences.size() * (differences.size() + 1) / 2);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    for (std::size_t j = i; j < differences.size(); ++j) means.push_back((differences[i] + differences[j]) / 2);
  }
  return median(means);
}

class Evidence {
 public:
  Evidence(std::span<const double> differences, std::span<const double> disturbances, const SequentialTest& t,
           const SequentialOptions& options)
      : differences_(differences), disturbances_(disturbances), t_(t), options_(options) {}

  [[nodiscard]] double against(double shift) const {
    return kShareOfT * t_evidence(t_, shift, options_) +
           (1 - kShareOfT) * sign_evidence(differences_, disturbances_, shift);
  }

  /// How far from `centre` to one side (-1 or 1) a shift is possible. Everything beyond `reach` is known to be out.
  [[nodiscard]] std::optional<double> border(double centre, double side, double reach) const {
    const double enough = 1 / options_.alpha;
    double out = reach, in = reach;
    // From outside inwards: what lies between two parts that are possible belongs to the interval.
    for (int step = 0; against(centre + side * in) >= enough; ++step) {
      if (step == kMostSteps) return std::nullopt;
      out = in;
      in *= kStepInwards;
    }
    for (int i = 0; i < kHalvings && out > in; ++i) {
      const double middle = (in + out) / 2;
      (against(centre + side * middle) >= enough ? out : in) = middle;
    }
    return out;
  }

 private:
  std::span<const double> differences_;
  std::span<const double> disturbances_;
  const SequentialTest& t_;
  const SequentialOptions& options_;
};

/// The shifts that are not rejected, around the centre; none where all are, since nothing about which the differences
/// were symmetric is left.
std::optional<Interval> confidence_sequence(const Evidence& evidence, double centre, const SequentialTest& t,
                                            const SequentialOptions& options) {
  SequentialOptions of_t = options;
  of_t.alpha = options.alpha * kShareOfT;
  const double half = sequential_half_width(t.n, t.stdev, of_t);
  if (!std::isfinite(half)) return t.interval;  // so few that the t test at its share says nothing yet
  const double reach = half + std::fabs(centre - t.mean);
  const auto below = evidence.border(centre, -1, reach), above = evidence.border(centre, 1, reach);
  if (!below || !above) return std::nullopt;
  return Interval{centre - *below, centre + *above, 1 - options.alpha};
}

}  // namespace

SequentialTest sequential_t(std::span<const double> differences, const SequentialOptions& options) {
  WM_CHECK(options.alpha > 0 && options.alpha < 1 && options.effect_variance > 0);
  SequentialTest test{.n = static_cast<std::int64_t>(differences.size())};
  if (test.n == 0) return test;
  const auto count = static_cast<double>(test.n);
  double largest = 0;
  for (const double difference : differences) {
    test.mean += difference / count;
    largest = std::max(largest, std::fabs(difference));
  }
  if (test.n < 2) return test;
  double squares = 0;
  for (const double difference : differences) squares += (difference - test.mean) * (difference - test.mean);
  test.stdev = std::sqrt(squares / (count - 1));
  if (test.stdev <= kSpreadRounding * largest) {
    test.stdev = 0;
    return of_equal_differences(test, options.alpha);
  }
  const double r = 1 + count * options.effect_variance;
  const double x = count * test.mean * test.mean / (test.stdev * test.stdev) / (count - 1);
  const double log_e = -std::log(r) / 2 + count / 2 * (std::log1p(x) - std::log1p(x / r));
  test.e_value = std::exp(std::min(log_e, 700.0));
  test.p = std::clamp(std::exp(-log_e), p_of_signs(test.n), 1.0);
  const double half = sequential_half_width(test.n, test.stdev, options);
  if (std::isfinite(half)) test.interval = Interval{test.mean - half, test.mean + half, 1 - options.alpha};
  return test;
}

double sequential_half_width(std::int64_t n, double stdev, const SequentialOptions& options) {
  return width_factor(n, options) * stdev;
}

double sign_evidence(std::span<const double> differences, std::span<const double> disturbances, double shift) {
  WM_CHECK(disturbances.empty() || disturbances.size() == differences.size());
  Bets of_ranks, of_signs, of_small, of_quiet;
  SequentialRanks sizes, noise;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const double difference = differences[i] - shift;
    const double sign = difference > 0 ? 1 : difference < 0 ? -1 : 0;
    const double rank = sizes.share_of_next(std::fabs(difference));
    of_ranks.add(sign, rank);
    of_signs.add(sign, 1);
    of_small.add(sign, 1 - rank);
    if (!disturbances.empty()) of_quiet.add(sign, 1 - noise.share_of_next(disturbances[i]));
  }
  const double sum = of_ranks.evidence() + of_signs.evidence() + of_small.evidence();
  return disturbances.empty() ? sum / 3 : (sum + of_quiet.evidence()) / 4;
}

SequentialPairedTest sequential_paired(std::span<const double> differences, std::span<const double> disturbances,
                                       const SequentialOptions& options) {
  const SequentialTest t = sequential_t(differences, options);
  SequentialPairedTest test{.n = t.n,
                            .centre = t.mean,
                            .stdev = t.stdev,
                            .e_value = t.e_value,
                            .p = t.p,
                            .interval = t.interval,
                            .worth_stdev = t.stdev};
  if (t.n < 2 || t.stdev == 0) return test;  // no spread: nothing that ranks would add
  test.centre = centre_of(differences);
  const Evidence evidence(differences, disturbances, t, options);
  test.e_value = evidence.against(0);
  const double least = std::ldexp(1.0, static_cast<int>(2 - std::clamp<std::int64_t>(t.n, 2, 1000)));
  test.p = std::clamp(1 / test.e_value, least, 1.0);
  if (!t.interval) return test;
  test.interval = confidence_sequence(evidence, test.centre, t, options);
  if (!test.interval) {  // the differences lie about no centre: what is left to tell is their mean
    test.centre = t.mean;
    test.interval = t.interval;
    test.p = std::max(test.p, t.p);
    return test;
  }
  // Shifts that are rejected may lie among others that are not. The interval has them all, and p says no more than it.
  if (test.p > options.alpha) {
    test.interval->low = std::min(test.interval->low, 0.0);
    test.interval->high = std::max(test.interval->high, 0.0);
  } else if (test.interval->low <= 0 && test.interval->high >= 0) {
    test.p = std::nextafter(options.alpha, 1.0);
  }
  const double unit = sequential_half_width(t.n, 1, options);
  test.worth_stdev = (test.interval->high - test.interval->low) / 2 / unit;
  return test;
}

}  // namespace warpmark::stats
