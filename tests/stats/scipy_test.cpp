// Tests of two samples beside SciPy on the same random data, ties included, where python3-scipy is installed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/subprocess.h"
#include "stats/distributions.h"
#include "stats/random.h"
#include "stats/tests/rank_and_t_tests.h"

namespace warpmark::stats {
namespace {

constexpr const char* kScript = R"py(
import json, sys
from scipy import special, stats

def interval(estimate, error, degrees):
    # Not stats.t.ppf, which is a search that ends at 1e-9.
    x = special.betaincinv(degrees / 2, 0.5, 0.05)
    half = (degrees * (1 - x) / x) ** 0.5 * error
    return [estimate - half, estimate + half]

def row(a, b, tied):
    d = [y - x for x, y in zip(a, b)]
    n, m = len(a), len(b)
    welch = stats.ttest_ind(b, a, equal_var=False)
    va, vb = stats.tvar(a) / n, stats.tvar(b) / m
    degrees = (va + vb) ** 2 / (va ** 2 / (n - 1) + vb ** 2 / (m - 1))
    paired = stats.ttest_rel(b, a)
    error = stats.sem(d)
    low = stats.ttest_1samp(d, -0.5, alternative='greater').pvalue
    high = stats.ttest_1samp(d, 0.5, alternative='less').pvalue
    ranks = stats.mannwhitneyu(a, b, alternative='two-sided', method='asymptotic')
    result = {
        'welch': [welch.statistic, welch.pvalue] + interval(stats.tmean(b) - stats.tmean(a), (va + vb) ** 0.5, degrees),
        'paired': [paired.statistic, paired.pvalue] + interval(stats.tmean(d), error, n - 1),
        'equivalence': [max(low, high)],
        'mann_whitney': [ranks.statistic, ranks.pvalue],
        'wilcoxon': [stats.wilcoxon(d, correction=True, method='approx').pvalue],
    }
    if not tied:
        result['mann_whitney_exact'] = [stats.mannwhitneyu(a, b, method='exact').pvalue]
        result['wilcoxon_exact'] = [stats.wilcoxon(d, method='exact').pvalue]
    return result

print(json.dumps([row(*item) for item in json.loads(sys.argv[1])]))
)py";

struct Pair {
  std::vector<double> a, b;
  bool tied = false;
};

/// Of 5 to 24 values; every third one rounded, so that values are equal.
std::vector<Pair> random_pairs() {
  std::vector<Pair> pairs;
  for (std::uint64_t number = 0; number < 30; ++number) {
    Pair pair;
    pair.tied = number % 3 == 2;
    const double scale = 1 + static_cast<double>(number % 5);
    for (std::uint64_t i = 0; i < 5 + number % 20; ++i) {
      const auto value = [&](std::uint64_t stream) {
        const double z = normal_quantile(random_unit(derive_seed(31 + stream, number), i) * 0.999 + 0.0005);
        return pair.tied ? std::round(z * 2) / 2 : z;
      };
      pair.a.push_back(value(0));
      pair.b.push_back(0.4 + scale * value(1));
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

void expect_near(const Json& golden, const std::vector<double>& ours, const char* what, std::size_t row) {
  ASSERT_EQ(golden.size(), ours.size()) << what;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double wanted = golden[i].get<double>();
    EXPECT_NEAR(ours[i], wanted, 1e-9 * std::max(1.0, std::fabs(wanted))) << what << " of data " << row;
  }
}

TEST(Scipy, finds_the_same_in_random_data) {
  const auto pairs = random_pairs();
  Json data = Json::array();
  for (const auto& pair : pairs) data.push_back({pair.a, pair.b, pair.tied});
  const auto output = run_process({"/usr/bin/python3", "-c", kScript, data.dump()}, {.deadline_s = 120});
  if (!output.ok() || output->err.find("No module named") != std::string::npos) {
    GTEST_SKIP() << "python3-scipy is not installed";
  }
  ASSERT_EQ(output->exit_code, 0) << output->err;
  const auto rows = parse_json(output->out, "SciPy");
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [a, b, tied] = pairs[i];
    const Json& golden = (*rows)[i];
    std::vector<double> differences;
    for (std::size_t k = 0; k < a.size(); ++k) differences.push_back(b[k] - a[k]);
    const auto welch = welch_t(a, b), paired = paired_t(a, b);
    const auto ranks = mann_whitney(a, b, RankMethod::normal);
    expect_near(golden["welch"], {welch.t, welch.p, welch.interval.low, welch.interval.high}, "welch", i);
    expect_near(golden["paired"], {paired.t, paired.p, paired.interval.low, paired.interval.high}, "paired", i);
    expect_near(golden["equivalence"], {equivalence_p(paired, -0.5, 0.5)}, "equivalence", i);
    expect_near(golden["mann_whitney"], {ranks.statistic, ranks.p}, "Mann-Whitney", i);
    expect_near(golden["wilcoxon"], {wilcoxon_signed_rank(differences, RankMethod::normal).p}, "Wilcoxon", i);
    if (tied) continue;
    expect_near(golden["mann_whitney_exact"], {mann_whitney(a, b, RankMethod::exact).p}, "exact Mann-Whitney", i);
    expect_near(golden["wilcoxon_exact"], {wilcoxon_signed_rank(differences, RankMethod::exact).p}, "exact Wilcoxon",
                i);
  }
}

}  // namespace
}  // namespace warpmark::stats
