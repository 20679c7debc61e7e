#include "stats/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace warpmark::stats {
namespace {

// The published first numbers of SplitMix64 (as in Rosetta Code's "Pseudo-random numbers/Splitmix64", seed 1234567).
TEST(Random, is_splitmix64) {
  Random random(1234567);
  for (const std::uint64_t expected : {6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL,
                                       4593380528125082431ULL, 16408922859458223821ULL}) {
    EXPECT_EQ(random(), expected);
  }
  EXPECT_EQ(random_bits(0, 0), 0xE220A8397B1DCDAFULL);
}

TEST(FillUniform, gives_the_same_values_however_it_is_split) {
  std::vector<float> whole(1001), parts(1001);
  fill_uniform(whole, 42, -1.0F, 1.0F);
  const std::size_t cuts[] = {0, 1, 2, 7, 100, 333, 1001};
  for (std::size_t i = 0; i + 1 < std::size(cuts); ++i) {
    fill_uniform(std::span(parts).subspan(cuts[i], cuts[i + 1] - cuts[i]), 42, -1.0F, 1.0F, cuts[i]);
  }
  EXPECT_EQ(whole, parts);
  std::vector<double> doubles(50), tail(20);
  fill_uniform(doubles, 42, 0.0, 1.0);
  fill_uniform(tail, 42, 0.0, 1.0, 30);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), doubles.begin() + 30));
}

TEST(FillUniform, differs_between_seeds_and_derived_seeds) {
  std::vector<float> a(64), b(64), c(64);
  fill_uniform(a, 1, 0.0F, 1.0F);
  fill_uniform(b, 2, 0.0F, 1.0F);
  fill_uniform(c, derive_seed(1, 0), 0.0F, 1.0F);
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(derive_seed(1, 0), derive_seed(1, 1));
}

// Mean (low+high)/2 and variance (high-low)^2/12 within five standard errors; neighbours uncorrelated; every 1/64 of
// the range filled as chi-square with 63 degrees of freedom allows (99.999 %: about 125).
TEST(FillUniform, is_uniform_and_stays_in_range) {
  constexpr std::size_t kCount = 1 << 20;
  std::vector<float> values(kCount);
  fill_uniform(values, 7, -2.0F, 4.0F);
  double sum = 0, squares = 0, neighbours = 0;
  std::vector<double> bins(64);
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(values[i] >= -2.0F && values[i] <= 4.0F);
    const double centred = static_cast<double>(values[i]) - 1;
    sum += centred;
    squares += centred * centred;
    if (i > 0) neighbours += centred * (static_cast<double>(values[i - 1]) - 1);
    bins[std::min<std::size_t>(63, static_cast<std::size_t>((centred + 3) / 6 * 64))] += 1;
  }
  const double n = static_cast<double>(kCount);
  EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(3 / n));
  EXPECT_NEAR(squares / n, 3, 5 * std::sqrt(7.2 / n));
  EXPECT_NEAR(neighbours / squares, 0, 5 / std::sqrt(n));
  double chi_square = 0;
  for (const double bin : bins) chi_square += (bin - n / 64) * (bin - n / 64) / (n / 64);
  EXPECT_LT(chi_square, 125);
}

}  // namespace
}  // namespace warpmark::stats
