// What intervals and tests of scores promise, counted over seeded simulations of answers: how often a 95 % interval
// covers the true value, how often tests at 5 % call equal systems different, and how often a drop is found with the
// number of examples that was asked for.
//
//   build/release/bench/eval_simulation [SIMULATIONS]
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "accuracy/significance/intervals.h"
#include "stats/random.h"

namespace warpmark {
namespace {

using accuracy::Groups;
using accuracy::ResampleOptions;
using stats::Random;

constexpr std::int64_t kResamples = 1000;

double unit_draw(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// The share with its binomial standard error.
std::string share(int count, int of) {
  const double p = static_cast<double>(count) / of;
  return fmt::format("{:.1f} % (+-{:.1f})", 100 * p, 100 * std::sqrt(p * (1 - p) / of));
}

/// No simulation: the sum over all counts that are possible.
void print_exact() {
  for (const int n : {20, 100, 1000}) {
    for (const double p : {0.1, 0.5, 0.9}) {
      double covered = 0;
      for (int k = 0; k <= n; ++k) {
        const auto interval = accuracy::clopper_pearson(k, n, 0.95);
        if (p < interval.low || p > interval.high) continue;
        covered += std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) + k * std::log(p) +
                            (n - k) * std::log1p(-p));
      }
      fmt::print("| exact (Clopper and Pearson), share {:g}, n {} | {:.1f} % |\n", p, n, 100 * covered);
    }
  }
}

void print_bootstrap(int simulations) {
  for (const std::size_t n : {20U, 50U, 200U}) {
    Random random(5);
    int of_mean = 0, of_ratio = 0;
    for (int i = 0; i < simulations; ++i) {
      std::vector<double> each, sums;
      for (std::size_t k = 0; k < n; ++k) {
        each.push_back(-std::log(1 - unit_draw(random)) - std::log(1 - unit_draw(random)));  // skewed, mean 2
        const double length = 10 + 20 * unit_draw(random);
        sums.push_back(length * (0.2 + 0.2 * unit_draw(random)));  // edits: 0.3 of the length
        sums.push_back(length);
      }
      const ResampleOptions options{.resamples = kResamples, .seed = static_cast<std::uint64_t>(i)};
      const auto mean = accuracy::interval_of(accuracy::mean_metric(n, 1, each), 0, Groups(n), options);
      of_mean += mean.low <= 2 && 2 <= mean.high;
      const auto measured = accuracy::sum_metric(
          n, 1, sums, [](std::span<const double> s) { return s[0] / s[1]; }, false);
      const auto ratio = accuracy::interval_of(measured, 0, Groups(n), options);
      of_ratio += ratio.low <= 0.3 && 0.3 <= ratio.high;
    }
    fmt::print("| bootstrap, mean of a skewed score, n {} | {} |\n", n, share(of_mean, simulations));
    fmt::print("| bootstrap, ratio of sums (as WER, BLEU), n {} | {} |\n", n, share(of_ratio, simulations));
  }
}

void print_clustered(int simulations) {
  for (const std::size_t clusters : {20U, 60U}) {
    constexpr std::size_t kEach = 5;
    Random random(8);
    std::vector<std::string> names;
    for (std::size_t c = 0; c < clusters * kEach; ++c) names.push_back("g" + std::to_string(c / kEach));
    const Groups groups(names);
    int with_groups = 0, without = 0;
    for (int i = 0; i < simulations; ++i) {
      std::vector<double> each;
      for (std::size_t c = 0; c < clusters; ++c) {
        const double passage = unit_draw(random);  // the share of right answers that all questions of a passage have
        for (std::size_t k = 0; k < kEach; ++k) each.push_back(unit_draw(random) < passage ? 1 : 0);
      }
      const auto measured = accuracy::mean_metric(each.size(), 1, each);
      const ResampleOptions options{.resamples = kResamples, .seed = static_cast<std::uint64_t>(i)};
      const auto clustered = accuracy::interval_of(measured, 0, groups, options);
      with_groups += clustered.low <= 0.5 && 0.5 <= clustered.high;
      const auto single = accuracy::interval_of(measured, 0, Groups(each.size()), options);
      without += single.low <= 0.5 && 0.5 <= single.high;
    }
    fmt::print("| clustered bootstrap, {} passages of 5 questions | {} |\n", clusters, share(with_groups, simulations));
    fmt::print("| the same, the passages not told | {} |\n", share(without, simulations));
  }
}

/// Two systems on items of varying difficulty; the second loses a share of what is right. Rows of both.
std::vector<double> paired_answers(Random& random, std::size_t n, double loss) {
  std::vector<double> rows(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const double difficulty = unit_draw(random);
    rows[i] = difficulty < 0.7 || unit_draw(random) < 0.1 ? 1 : 0;
    const bool lost = unit_draw(random) < loss;
    rows[n + i] = !lost && (difficulty < 0.7 || unit_draw(random) < 0.1) ? 1 : 0;
  }
  return rows;
}

double mcnemar_p(const accuracy::Measured& measured) {
  const auto a = accuracy::each_of(measured, 0), b = accuracy::each_of(measured, 1);
  std::int64_t broken = 0, fixed = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    broken += a[k] > b[k];
    fixed += a[k] < b[k];
  }
  return accuracy::mcnemar(broken, fixed).p;
}

void print_false_alarms(int simulations) {
  for (const std::size_t n : {50U, 150U, 500U}) {
    Random random(21);
    int by_mcnemar = 0, by_t = 0, by_randomization = 0, by_bootstrap = 0;
    const Groups groups(n);
    for (int i = 0; i < simulations; ++i) {
      const auto measured = accuracy::mean_metric(n, 2, paired_answers(random, n, 0));
      const ResampleOptions options{.resamples = kResamples / 2, .seed = static_cast<std::uint64_t>(i)};
      const auto means = accuracy::paired_means(measured, 0, 1, groups, 0.95);
      by_mcnemar += mcnemar_p(measured) <= 0.05;
      by_t += means && means->p <= 0.05;
      by_randomization += accuracy::approximate_randomization(measured, 0, 1, groups, options) <= 0.05;
      by_bootstrap += accuracy::paired_bootstrap(measured, 0, 1, groups, options).p <= 0.05;
    }
    fmt::print("| {} | {} | {} | {} | {} |\n", n, share(by_mcnemar, simulations), share(by_t, simulations),
               share(by_randomization, simulations), share(by_bootstrap, simulations));
  }
}

void print_power(int simulations) {
  for (const double drop : {0.05, 0.02, 0.01}) {
    const double loss = drop / 0.73;  // of the 73 % that are right
    Random random(31);
    constexpr std::size_t kPilot = 20'000;
    const auto pilot = accuracy::mean_metric(kPilot, 2, paired_answers(random, kPilot, loss));
    const auto seen = accuracy::paired_means(pilot, 0, 1, Groups(kPilot), 0.95);
    const auto needed = accuracy::examples_for_power(drop, seen->standard_error, kPilot);
    const auto n = static_cast<std::size_t>(*needed);
    int by_t = 0, by_mcnemar = 0;
    for (int i = 0; i < simulations; ++i) {
      const auto measured = accuracy::mean_metric(n, 2, paired_answers(random, n, loss));
      by_t += accuracy::paired_means(measured, 0, 1, Groups(n), 0.95)->p <= 0.05;
      by_mcnemar += mcnemar_p(measured) <= 0.05;
    }
    fmt::print("| {:g} | {} | {} | {} |\n", drop, n, share(by_t, simulations), share(by_mcnemar, simulations));
  }
}

}  // namespace
}  // namespace warpmark

int main(int count, char** words) {
  const int simulations = count > 1 ? std::atoi(words[1]) : 2000;
  if (simulations < 100) {
    fmt::print(stderr, "the number of simulations must be at least 100\n");
    return 2;
  }
  fmt::print("| interval of 95 % | covers |\n|---|---|\n");
  warpmark::print_exact();
  warpmark::print_bootstrap(simulations);
  warpmark::print_clustered(simulations);
  fmt::print("\n| examples | McNemar | paired t | randomization | bootstrap |\n|---|---|---|---|---|\n");
  warpmark::print_false_alarms(simulations);
  fmt::print("\n| drop | examples asked for | paired t finds | McNemar finds |\n|---|---|---|---|\n");
  warpmark::print_power(simulations);
  return 0;
}
