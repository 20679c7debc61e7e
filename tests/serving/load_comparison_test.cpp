#include "serving/results/load_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "serving/traffic/arrivals.h"

namespace warpmark::serving {
namespace {

/// Times around a mean, of 400 requests.
LoadVariant variant_around(const std::string& name, double ttft_s, std::uint64_t seed,
                           const std::string& level = "8 users") {
  stats::Random random(seed);
  LoadCell cell{.scenario = "D(100,100)", .level = level};
  for (int i = 0; i < 400; ++i) cell.samples["ttft"].push_back(ttft_s * (1 + 0.05 * draw_normal(random)));
  cell.values["cost_per_request"] = 1e-4;
  return {.name = name, .cells = {cell}};
}

const LoadComparisonRow* row_of(const LoadComparison& comparison, const std::string& statistic) {
  const auto found = std::find_if(comparison.rows.begin(), comparison.rows.end(), [&](const auto& row) {
    return row.number.metric == "ttft" && row.number.statistic == statistic;
  });
  return found == comparison.rows.end() ? nullptr : &*found;
}

TEST(LoadComparison, decides_what_differs_and_what_does_not) {
  const auto comparison = compare_loads({variant_around("a", 0.1, 1), variant_around("b", 0.1, 2),
                                         variant_around("c", 0.13, 3), variant_around("d", 0.08, 4)});
  ASSERT_TRUE(comparison.ok()) << comparison.error().what;
  const auto* median = row_of(*comparison, "p50");
  ASSERT_NE(median, nullptr);
  EXPECT_NEAR(*median->variants[0].value, 0.1, 0.002);
  EXPECT_EQ(median->variants[0].verdict, "");
  EXPECT_EQ(median->variants[1].verdict, "same");
  EXPECT_EQ(median->variants[2].verdict, "worse");
  EXPECT_NEAR(*median->variants[2].ratio, 1.3, 0.03);
  EXPECT_LE(median->variants[2].interval->low, 1.3);
  EXPECT_GE(median->variants[2].interval->high, 1.28);
  EXPECT_EQ(median->variants[3].verdict, "better");
  for (const auto& row : comparison->rows) {
    if (row.number.metric != "cost_per_request") continue;
    EXPECT_EQ(row.variants[1].reason, "its spread is unknown");
  }
  EXPECT_EQ(to_json(*comparison)["rows"].size(), comparison->rows.size());
}

TEST(LoadComparison, of_equal_servers_is_seldom_a_difference) {
  int different = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto comparison = compare_loads({variant_around("a", 0.1, 2 * seed), variant_around("b", 0.1, 2 * seed + 1)});
    ASSERT_TRUE(comparison.ok());
    for (const auto& row : comparison->rows) {
      different += row.variants[1].verdict == "better" || row.variants[1].verdict == "worse" ? 1 : 0;
    }
  }
  EXPECT_LE(different, 12) << "of 100 tables at 5 % each";
}

TEST(LoadComparison, leaves_out_what_few_requests_cannot_support) {
  LoadVariant few = variant_around("few", 0.1, 1);
  few.cells[0].samples["ttft"].resize(40);
  const auto comparison = compare_loads({variant_around("a", 0.1, 2), few});
  ASSERT_TRUE(comparison.ok());
  EXPECT_TRUE(row_of(*comparison, "p99")->variants[1].value) << "what was measured is shown";
  EXPECT_FALSE(row_of(*comparison, "p99")->variants[1].ratio) << "and not compared";
  EXPECT_EQ(row_of(*comparison, "p99")->variants[1].reason, "needs 299 requests");
  EXPECT_TRUE(row_of(*comparison, "p50")->variants[1].value);
}

TEST(LoadComparison, compares_a_load_with_the_same_one_of_several) {
  // A load that was measured twice, as a search does, and steps of sessions.
  LoadVariant variant = variant_around("a", 0.1, 1);
  variant.cells.push_back(variant_around("a", 0.2, 2).cells.front());
  for (auto& cell : variant.cells) cell.samples["ttft_turn_2"] = cell.samples["ttft"];
  const auto comparison = compare_loads({variant, variant});
  ASSERT_TRUE(comparison.ok());
  int steps = 0;
  for (const auto& row : comparison->rows) {
    EXPECT_EQ(row.variants[1].ratio.value_or(1), 1) << row.number.metric << " of a file against itself";
    steps += row.number.metric == "ttft_turn_2" ? 1 : 0;
  }
  EXPECT_EQ(steps, 4) << "p50 and p95 of two loads";
}

TEST(LoadComparison, judges_no_load_that_an_unreliable_client_measured) {
  LoadVariant late = variant_around("b", 0.2, 2);
  late.cells[0].trusted = false;
  for (LoadCell cell : variant_around("b", 0.2, 3, "1 user").cells) late.cells.push_back(cell);
  LoadVariant first = variant_around("a", 0.1, 1);
  for (LoadCell cell : variant_around("a", 0.1, 4, "1 user").cells) first.cells.push_back(cell);
  const auto comparison = compare_loads({first, late});
  ASSERT_TRUE(comparison.ok());
  EXPECT_EQ(comparison->unreliable, std::vector<std::string>{"b"});
  for (const auto& row : comparison->rows) {
    if (row.number.metric != "ttft" || row.number.statistic == "sd") continue;
    EXPECT_EQ(row.variants[1].verdict, row.level == "8 users" ? "unreliable" : "worse") << row.number.statistic;
    EXPECT_NEAR(row.variants[1].ratio.value_or(0), 2, 0.1) << "what was measured is shown";
  }
}

TEST(LoadComparison, needs_a_load_that_all_have) {
  const auto none = compare_loads({variant_around("a", 0.1, 1, "1 user"), variant_around("b", 0.1, 2, "8 users")});
  EXPECT_FALSE(none.ok());
  EXPECT_NE(none.error().hint.find("b has no load"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::serving
