#include "collectives/alpha_beta.h"

#include <gtest/gtest.h>

#include "collectives/links.h"

namespace warpmark::collectives {
namespace {

std::vector<Row> planted(Algorithm algorithm, const Link& link, int ranks) {
  std::vector<Row> rows;
  for (std::int64_t bytes = 1024; bytes <= 1 << 28; bytes *= 4) {
    Row row{Collective::all_reduce, DataType::f32, ReduceOp::sum, -1, ranks, {}, {}, {}};
    row.counts = counts_of(row.kind, bytes, row.type, ranks);
    Placement place;
    place.time_s = cost(row.kind, algorithm, static_cast<double>(bytes), ranks, link);
    place.samples_s.assign(10, place.time_s);
    row.out_of_place = place;
    rows.push_back(row);
  }
  return rows;
}

TEST(LinkFit, recovers_planted_alpha_and_beta_and_tells_its_error) {
  const Link link{6e-6, 1 / 200e9};
  const auto ring = fit_link(planted(Algorithm::ring, link, 8), Algorithm::ring);
  ASSERT_TRUE(ring.ok());
  EXPECT_NEAR(ring->link.alpha_s, link.alpha_s, 1e-9);
  EXPECT_NEAR(ring->link.beta_s_per_byte, link.beta_s_per_byte, 1e-15);
  EXPECT_LT(ring->largest_error, 1e-6);
  EXPECT_EQ(ring->held_back, 3);
  auto few = planted(Algorithm::ring, link, 8);
  few.resize(5);
  EXPECT_FALSE(fit_link(few).ok());
}

TEST(LinkFit, between_measured_sizes_takes_these) {
  const Link link{6e-6, 1 / 200e9};
  const auto rows = planted(Algorithm::ring, link, 2);
  const auto fit = fit_link(rows);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(measured_cost(rows, *fit, 1 << 20), cost(Collective::all_reduce, Algorithm::ring, 1 << 20, 2, link),
              1e-9);
  const double beyond = cost(Collective::all_reduce, Algorithm::ring, 1e9, 2, link);
  EXPECT_NEAR(measured_cost(rows, *fit, 1e9), beyond, beyond * 0.01);
}

TEST(Cost, of_rings_and_trees_is_as_published) {
  const Link link{1, 0};
  EXPECT_DOUBLE_EQ(cost(Collective::all_reduce, Algorithm::ring, 8, 8, link), 14);
  EXPECT_DOUBLE_EQ(cost(Collective::all_reduce, Algorithm::tree, 8, 8, link), 6);
  EXPECT_DOUBLE_EQ(cost(Collective::broadcast, Algorithm::tree, 8, 5, link), 3);
  EXPECT_DOUBLE_EQ(cost(Collective::all_reduce, Algorithm::ring, 8, 1, link), 0);
  EXPECT_DOUBLE_EQ(cost(Collective::all_reduce, Algorithm::ring, 8, 4, {0, 1}), 12);
}

TEST(Cost, within_and_between_nodes_is_less_than_a_ring_over_the_slow_link) {
  const Link fast{3e-6, 1 / 300e9}, slow{10e-6, 1 / 25e9};
  const double flat = cost(Collective::all_reduce, Algorithm::ring, 1e9, 64, slow);
  EXPECT_LT(hierarchical_cost(Collective::all_reduce, 1e9, 64, 8, fast, slow), flat);
  EXPECT_DOUBLE_EQ(hierarchical_cost(Collective::all_reduce, 1e9, 8, 8, fast, slow),
                   cost(Collective::all_reduce, Algorithm::ring, 1e9, 8, fast));
}

TEST(SlowLinks, are_those_below_their_promise_or_their_kind) {
  Links links{{"0", "1", "2"}, {}, {}};
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from == to) continue;
      const double rate = from == 0 && to == 2 ? 200e9 : 380e9;
      links.pairs.push_back({from, to, true, {rate, {}}, {380e9, {}}, {760e9, {}}, {2e-6, {}}});
    }
    links.hosts.push_back({from, {55e9, {}}, {55e9, {}}, {90e9, {}}, {5e-6, {}}});
  }
  const LinkFacts facts{{400e9, 400e9, 400e9}, {57e9, 57e9, 57e9}, {}};
  const auto slow = slow_links(links, facts);
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow[0].where, "GPU 0 -> GPU 2, write");
  EXPECT_EQ(slow_links(links, {}).size(), 1U) << "also without knowing the topology";
}

TEST(PcieRate, is_the_lanes_less_coding_and_headers) {
  EXPECT_NEAR(pcie_rate(4, 16), 28.8e9, 0.1e9);
  EXPECT_NEAR(pcie_rate(5, 16), 57.6e9, 0.1e9);
  EXPECT_EQ(pcie_rate(0, 16), 0);
}

}  // namespace
}  // namespace warpmark::collectives
