#include "stats/tests/odd_one_out.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/result.h"
#include "stats/distributions.h"
#include "stats/random.h"
#include "stats/summary.h"

namespace warpmark::stats {
namespace {

constexpr std::size_t kSimulatedValues = 1'000'000;
constexpr std::uint64_t kSeed = 20'260'301;
// Beyond 3.5 robust standard deviations (Iglewicz, Hoaglin, How to Detect and Handle Outliers, 1993).
constexpr double kStandsOut = 3.5 * 1.4826;
constexpr std::size_t kFewestOthers = 2;

struct Parts {
  std::vector<bool> kept;
  double sum = 0;  ///< of the kept ones, less the median, for accuracy
  double squares = 0;
  double median = 0;
  std::size_t count = 0;
};

Parts trimmed(std::span<const double> values, std::vector<double>& work) {
  Parts parts;
  parts.median = median(values);
  work.clear();
  for (const double value : values) work.push_back(std::fabs(value - parts.median));
  const double limit = kStandsOut * median(work);
  for (const double value : values) {
    const double distance = value - parts.median;
    const bool keep = limit <= 0 || std::fabs(distance) <= limit;
    parts.kept.push_back(keep);
    if (!keep) continue;
    parts.sum += distance;
    parts.squares += distance * distance;
    ++parts.count;
  }
  return parts;
}

double stdev_of(double sum, double squares, std::size_t count, double floor) {
  if (count < 2) return floor;
  const auto n = static_cast<double>(count);
  return std::max(floor, std::sqrt(std::max(0.0, (squares - sum * sum / n) / (n - 1))));
}

void statistics(std::span<const double> values, double floor, std::vector<double>& work, std::vector<double>& t) {
  const Parts parts = trimmed(values, work);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double own = values[i] - parts.median;
    const bool inside = parts.kept[i];
    const std::size_t count = parts.count - (inside ? 1 : 0);
    if (count < kFewestOthers) {
      t.push_back(0);
      continue;
    }
    const double sum = parts.sum - (inside ? own : 0), squares = parts.squares - (inside ? own * own : 0);
    const double scale = stdev_of(sum, squares, count, floor) * std::sqrt(1 + 1 / static_cast<double>(count));
    const double distance = own - sum / static_cast<double>(count);
    t.push_back(scale > 0      ? distance / scale
                : distance > 0 ? std::numeric_limits<double>::infinity()
                : distance < 0 ? -std::numeric_limits<double>::infinity()
                               : 0);
  }
}

/// Statistics of equal things, in ascending order.
std::vector<double> null_distribution(std::size_t n) {
  std::vector<double> all, work, sample(n);
  const std::size_t sets = std::max<std::size_t>(1, kSimulatedValues / n);
  all.reserve(sets * n);
  for (std::size_t set = 0; set < sets; ++set) {
    const auto seed = derive_seed(kSeed, set);
    for (std::size_t i = 0; i < n; ++i) sample[i] = normal_quantile(random_unit(seed, i) * (1 - 0x1p-52) + 0x1p-54);
    statistics(sample, 0, work, all);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

OddOneOutTest::OddOneOutTest(std::size_t n) : n_(n) {
  WM_CHECK(n >= kFewestForOddOneOut);
  null_ = null_distribution(n);
}

OddOneOut OddOneOutTest::judge(std::span<const double> values, double floor) const {
  WM_CHECK(values.size() == n_);
  OddOneOut result;
  std::vector<double> work;
  statistics(values, floor, work, result.t);
  const Parts parts = trimmed(values, work);
  result.kept = parts.count;
  result.center = parts.median + (parts.count > 0 ? parts.sum / static_cast<double>(parts.count) : 0);
  result.stdev = stdev_of(parts.sum, parts.squares, parts.count, floor);
  for (const double t : result.t) {
    const auto above = null_.end() - std::lower_bound(null_.begin(), null_.end(), t);
    result.p.push_back((static_cast<double>(above) + 1) / (static_cast<double>(null_.size()) + 1));
  }
  return result;
}

std::optional<double> OddOneOutTest::distance(double p) const {
  const auto above = static_cast<std::size_t>(p * (static_cast<double>(null_.size()) + 1));
  if (above < 1 || above >= null_.size()) return std::nullopt;
  return null_[null_.size() - above] * std::sqrt(1 + 1 / static_cast<double>(n_ - 1));
}

}  // namespace warpmark::stats
