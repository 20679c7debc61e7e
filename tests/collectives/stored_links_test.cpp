// Links and networks as results of the store.
#include "collectives/links.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "collectives/net/pairs.h"
#include "model/run_query.h"
#include "support/schema_check.h"

namespace warpmark::collectives {
namespace {

LinkValue value_of(double value) {
  return {.value = value, .interval = Interval{value * 0.99, value * 1.01, 0.95}, .samples = {value, value * 1.01}};
}

Links two_gpus() {
  Links links{{"0 GPU", "1 GPU"}, {}, {}};
  links.pairs.push_back({0, 1, true, value_of(390e9), value_of(385e9), value_of(760e9), value_of(2e-6)});
  links.pairs.push_back({1, 0, true, value_of(200e9), value_of(385e9), value_of(760e9), value_of(2e-6)});
  links.hosts.push_back({0, value_of(55e9), value_of(54e9), {}, value_of(3e-6)});
  return links;
}

TEST(StoredLinks, have_a_series_a_cell_and_none_for_what_was_not_measured) {
  const auto runs = runs_of(two_gpus(), 1 << 20);
  ASSERT_EQ(runs.size(), 11U);
  EXPECT_EQ(runs[4].workload, "gpu_link");
  EXPECT_EQ(runs[4].params.integer("from"), 1);
  EXPECT_EQ(runs[4].params.text("what"), "write");
  EXPECT_EQ(runs[4].index, 4);
  const auto* bandwidth = metric_of(runs[4], "bandwidth");
  ASSERT_NE(bandwidth, nullptr);
  EXPECT_NEAR(bandwidth->summary.median, 201e9, 1e9);
  EXPECT_EQ(bandwidth->better, Better::higher);
  EXPECT_EQ(runs[3].params.text("what"), "latency");
  EXPECT_EQ(metric_of(runs[3], "time")->better, Better::lower);
  EXPECT_EQ(runs[10].workload, "host_link");
}

TEST(StoredLinks, tell_the_slowest_and_the_median_of_writes_and_reads) {
  Session session;
  session.runs = runs_of(two_gpus(), 1 << 20);
  const auto links = measured_links(session);
  ASSERT_TRUE(links);
  EXPECT_EQ(links->where, "GPU 1 -> GPU 0, write");
  EXPECT_NEAR(links->slowest, 201e9, 1e9);
  EXPECT_NEAR(links->median, 386.9e9, 1e9);
  std::erase_if(session.runs, [](const auto& run) { return run.workload == "gpu_link"; });
  EXPECT_FALSE(measured_links(session)) << "links to the host are none between GPUs";
}

TEST(Links, long_names_of_gpus_stand_beside_their_numbers_alone) {
  Links links = two_gpus();
  links.gpus = {"0 NVIDIA H100 80GB HBM3 [0000:00:06.0]", "1 NVIDIA H100 80GB HBM3 [0000:00:07.0]"};
  const auto report = build_report(links, {{400e9, 400e9}, {57e9, 57e9}, {}}, {});
  const auto& hosts = std::get<Table>(report.sections[report.sections.size() - 2].blocks.front());
  EXPECT_EQ(hosts.rows.front().front().text, "0");
  const auto& names = std::get<Table>(report.sections.back().blocks.front());
  ASSERT_EQ(names.rows.size(), 2U);
  EXPECT_EQ(names.rows[1][0].text, "1");
  EXPECT_EQ(names.rows[1][1].text, "NVIDIA H100 80GB HBM3 [0000:00:07.0]");
}

TEST(StoredLinks, are_written_as_their_schema_says) {
  const Links links = two_gpus();
  LinkFacts facts{{400e9, 400e9}, {57e9, 57e9}, {}};
  const auto slow = slow_links(links, facts);
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(testing_support::schema_errors(to_json(LinksResult{links, facts, slow}), "links.schema.json"), "");
}

TEST(StoredNetworks, have_a_series_for_each_test_of_a_peer) {
  net::PathResult path;
  path.throughputs.push_back({.streams = 4, .bytes = 3e9, .seconds = 3, .retransmits = 7});
  path.throughputs[0].intervals = {{0, 1, 1e9, 3}, {1, 2, 1.1e9, 4}, {2, 3, 0.9e9, 0}, {3, 3.01, 1e3, 0}};
  path.latencies.push_back({64, {1e-5, 2e-5, 3e-5}});
  path.datagrams = net::Datagrams{10, {1e-4, 1e-4, 2e-4, 1e-4, 1e-4}, 0};
  const auto runs = net::runs_of(path, "node7");
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].params.text("peer"), "node7");
  EXPECT_EQ(metric_of(runs[0], "bandwidth")->samples, (std::vector<double>{1e9, 1.1e9, 0.9e9}))
      << "what is left of a second is no sample";
  EXPECT_EQ(metric_of(runs[0], "retransmits")->samples, std::vector<double>{7});
  EXPECT_EQ(metric_of(runs[1], "time")->summary.n, 3);
  EXPECT_DOUBLE_EQ(metric_of(runs[2], "loss")->samples[0], 0.5);
}

TEST(StoredNetworks, have_a_series_a_pair) {
  const net::Pairs pairs{{"a", "b", "c"}, {{0, 1, 1e-5, 1e9}, {0, 2, 1e-5, 1e9}, {1, 2, 3e-5, 2e8}}};
  const auto runs = net::runs_of(pairs);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[2].params.text("a"), "b");
  EXPECT_DOUBLE_EQ(metric_of(runs[2], "bandwidth")->samples[0], 2e8);
  EXPECT_EQ(testing_support::schema_errors(net::to_json(pairs), "net_pairs.schema.json"), "");
}

}  // namespace
}  // namespace warpmark::collectives
