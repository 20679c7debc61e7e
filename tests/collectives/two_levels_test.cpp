#include "collectives/alpha_beta.h"

#include <gtest/gtest.h>

namespace warpmark::collectives {
namespace {

constexpr Link kInside{3e-6, 1 / 300e9}, kNetwork{12e-6, 1 / 40e9};

/// A sweep over nodes whose two links are known.
std::vector<Row> planted(int nodes, int per_node) {
  std::vector<Row> rows;
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= 4) {
    Row row{Collective::all_reduce, DataType::f32, ReduceOp::sum, -1, nodes * per_node, {}, {}, {}};
    row.counts = counts_of(row.kind, bytes, row.type, row.ranks);
    Placement place;
    place.time_s =
        hierarchical_cost(row.kind, static_cast<double>(row.counts.bytes), row.ranks, per_node, kInside, kNetwork);
    place.samples_s.assign(10, place.time_s);
    row.out_of_place = place;
    rows.push_back(row);
  }
  return rows;
}

WithinNode inside_of(int per_node) {
  return [=](double bytes) { return cost(Collective::all_reduce, Algorithm::ring, bytes, per_node, kInside); };
}

TEST(TwoLevels, cost_is_the_hierarchical_one) {
  for (const int nodes : {2, 8}) {
    EXPECT_NEAR(two_level_cost(1e8, nodes, 8, inside_of(8), Algorithm::ring, kNetwork),
                hierarchical_cost(Collective::all_reduce, 1e8, nodes * 8, 8, kInside, kNetwork), 1e-12);
  }
  EXPECT_NEAR(two_level_cost(1e8, 4, 1, {}, Algorithm::ring, kNetwork),
              cost(Collective::all_reduce, Algorithm::ring, 1e8, 4, kNetwork), 1e-12);
}

TEST(TwoLevels, fit_finds_the_planted_link_between_nodes) {
  for (const int nodes : {2, 4}) {
    for (const int per_node : {1, 8}) {
      const auto fit = fit_between(planted(nodes, per_node), per_node, inside_of(per_node));
      ASSERT_TRUE(fit.ok()) << fit.error().what;
      EXPECT_EQ(fit->algorithm, Algorithm::ring);
      EXPECT_NEAR(fit->link.alpha_s, kNetwork.alpha_s, 0.01 * kNetwork.alpha_s) << nodes << " x " << per_node;
      EXPECT_NEAR(fit->link.beta_s_per_byte, kNetwork.beta_s_per_byte, 0.01 * kNetwork.beta_s_per_byte);
    }
  }
}

TEST(TwoLevels, a_sweep_as_fast_as_within_a_node_tells_no_network) {
  const auto fit = fit_between(planted(2, 8), 8, [](double) { return 10.0; });
  ASSERT_FALSE(fit.ok());
  EXPECT_NE(fit.error().what.find("does not measure the network"), std::string::npos) << fit.error().what;
}

}  // namespace
}  // namespace warpmark::collectives
