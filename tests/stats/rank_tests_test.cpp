// Goldens from SciPy 1.10: mannwhitneyu, wilcoxon; with ties from permutation_test over all assignments.
#include "stats/tests/rank_and_t_tests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace warpmark::stats {
namespace {

constexpr std::array kSleepFirst{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
constexpr std::array kSleepSecond{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
// Hollander, Wolfe: depression scale factors, example 3.1; also the example of R's wilcox.test.
constexpr std::array kDepressionBefore{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
constexpr std::array kDepressionAfter{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};

std::vector<double> differences(std::span<const double> a, std::span<const double> b) {
  std::vector<double> result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] - b[i]);
  return result;
}

TEST(MannWhitney, by_the_normal_approximation_agrees_with_scipy) {
  const RankTest test = mann_whitney(kSleepFirst, kSleepSecond, RankMethod::normal);
  EXPECT_EQ(test.statistic, 25.5);
  EXPECT_NEAR(test.p, 0.06932757543362658, 1e-9);
  EXPECT_FALSE(test.exact);
}

TEST(MannWhitney, is_exact_for_few_values) {
  const std::array first{1.1, 2.3, 0.4, 5.6, 3.3, 2.2};
  const std::array second{4.1, 6.3, 2.4, 7.7, 8.8, 3.9, 5.1};
  const RankTest test = mann_whitney(first, second);
  EXPECT_EQ(test.statistic, 5);
  EXPECT_TRUE(test.exact);
  EXPECT_NEAR(test.p, 0.022144522144522144, 1e-12);
}

TEST(MannWhitney, is_exact_with_ties_too) {
  const auto first = std::span(kSleepFirst).first(6), second = std::span(kSleepSecond).first(6);
  EXPECT_NEAR(mann_whitney(first, second).p, 2 * 0.050865800865800864, 1e-12);
}

TEST(MannWhitney, of_equal_values_has_p_1) {
  const std::array same{1.0, 1.0, 1.0};
  EXPECT_EQ(mann_whitney(same, same).p, 1);
  EXPECT_EQ(mann_whitney(same, same, RankMethod::normal).p, 1);
}

TEST(MannWhitney, agrees_between_its_two_methods_for_many_values) {
  std::vector<double> first, second;
  for (int i = 0; i < 25; ++i) first.push_back(i * 7 % 25 + 0.1), second.push_back(i * 11 % 25 + 3.3);
  const double exact = mann_whitney(first, second).p;
  EXPECT_NEAR(mann_whitney(first, second, RankMethod::normal).p, exact, 0.01);
}

TEST(Wilcoxon, agrees_with_scipy) {
  const auto paired = differences(kDepressionBefore, kDepressionAfter);
  EXPECT_NEAR(wilcoxon_signed_rank(paired).p, 0.0390625, 1e-12);
  EXPECT_TRUE(wilcoxon_signed_rank(paired).exact);
  EXPECT_NEAR(wilcoxon_signed_rank(paired, RankMethod::normal).p, 0.04401098401295143, 1e-9);
  EXPECT_EQ(wilcoxon_signed_rank(paired).statistic, 40);  // R's V; SciPy gives the smaller sum, 45 - 40
  const auto tied = differences(kSleepSecond, kSleepFirst);
  EXPECT_NEAR(wilcoxon_signed_rank(tied, RankMethod::normal).p, 0.009090698015925054, 1e-9);
}

TEST(Wilcoxon, leaves_out_differences_of_zero) {
  const std::array none{0.0, 0.0};
  EXPECT_EQ(wilcoxon_signed_rank(none).p, 1);
  const std::array some{0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
  EXPECT_NEAR(wilcoxon_signed_rank(some).p, 2.0 / 64, 1e-12);
}

TEST(HodgesLehmann, is_the_median_of_all_differences) {
  // R: wilcox.test(extra ~ group, sleep, conf.int = TRUE, exact = FALSE) estimates -1.346 by root finding; the median
  // of the differences itself is -1.35.
  EXPECT_NEAR(hodges_lehmann(kSleepFirst, kSleepSecond).estimate, 1.35, 1e-12);
}

// By hand: 5 and 4 values have P(U <= 1) = 2/126 = 0.0159 <= 0.025 < P(U <= 2) = 4/126, so the second smallest and the
// second largest of the 20 differences bound the interval (Hollander, Wolfe, table A.6).
TEST(HodgesLehmann, has_the_interval_of_the_rank_test) {
  const std::array first{0.0, 10.0, 20.0, 30.0, 40.0};
  const std::array second{1.0, 12.0, 23.0, 34.0};
  std::vector<double> all;
  for (const double x : first) {
    for (const double y : second) all.push_back(y - x);
  }
  std::sort(all.begin(), all.end());
  const Shift shift = hodges_lehmann(first, second);
  EXPECT_EQ(shift.interval.low, all[1]);
  EXPECT_EQ(shift.interval.high, all[all.size() - 2]);
}

TEST(PseudoMedian, agrees_with_rs_example) {
  // R: wilcox.test(x - y, conf.int = TRUE) of the depression data: 0.46, 95 % interval 0.01 .. 0.786; the values
  // themselves are the 23rd, 6th and 40th of the 45 Walsh averages.
  const Shift shift = pseudo_median(differences(kDepressionBefore, kDepressionAfter));
  EXPECT_NEAR(shift.estimate, 0.46, 1e-12);
  EXPECT_NEAR(shift.interval.low, 0.01, 1e-12);
  EXPECT_NEAR(shift.interval.high, 0.786, 1e-12);
}

}  // namespace
}  // namespace warpmark::stats
