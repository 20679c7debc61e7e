// Links between GPUs and to the host: which are slow, what is shown of them, and what NVML knows.
#include "collectives/links.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/json.h"
#include "support/fake_tree.h"
#include "support/report_text.h"
#include "support/schema_check.h"

namespace warpmark::collectives {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LinkValue about(double value) { return {value, Interval{value * 0.99, value * 1.01, 0.95}, {value}}; }

/// As eight H200 of one host are, or fewer.
Links healthy(int gpus) {
  Links links;
  for (int from = 0; from < gpus; ++from) {
    links.gpus.push_back(fmt::format("{} NVIDIA H200 [0000:0{}:00.0]", from, from));
    for (int to = 0; to < gpus; ++to) {
      if (to != from) links.pairs.push_back({from, to, true, about(392e9), about(393e9), about(770e9), about(2.2e-6)});
    }
    links.hosts.push_back({from, about(55.4e9), about(55.3e9), about(101e9), about(1.9e-6)});
  }
  return links;
}

LinkFacts facts_of_gpus(std::size_t gpus) {
  LinkFacts facts;
  facts.nvlink.assign(gpus, 400e9);
  facts.pcie.assign(gpus, 57.6e9);
  facts.paths.assign(gpus, std::vector<std::string>(gpus, "NVLink"));
  for (std::size_t i = 0; i < gpus; ++i) {
    facts.attached.push_back({fmt::format("00000000:0{}:00.0", i), 18, 18, 6, 5, 5, 16, 16, static_cast<int>(i / 4)});
  }
  return facts;
}

std::vector<std::string> places_of(const std::vector<SlowLink>& slow) {
  std::vector<std::string> places;
  for (const auto& one : slow) places.push_back(one.where);
  return places;
}

GpuPair& pair_in(Links& links, int from, int to) {
  for (auto& pair : links.pairs) {
    if (pair.from == from && pair.to == to) return pair;
  }
  ADD_FAILURE() << "no such pair";
  return links.pairs.front();
}

TEST(SlowLinks, are_none_of_a_healthy_machine) {
  for (const int gpus : {1, 2, 4, 8}) {
    const auto facts = facts_of_gpus(static_cast<std::size_t>(gpus));
    EXPECT_THAT(places_of(slow_links(healthy(gpus), facts)), IsEmpty()) << gpus;
    EXPECT_THAT(places_of(slow_links(healthy(gpus), {})), IsEmpty()) << gpus;
  }
}

TEST(SlowLinks, are_told_by_latency_against_the_others_of_their_path) {
  for (const int gpus : {2, 4}) {
    auto links = healthy(gpus);
    pair_in(links, 0, 1).latency = about(9e-6);
    const auto slow = slow_links(links, {});
    EXPECT_THAT(places_of(slow), ElementsAre("GPU 0 -> GPU 1, latency")) << gpus;
    EXPECT_EQ(slow[0].unit, "s");
    EXPECT_DOUBLE_EQ(slow[0].expected, 2.2e-6);
    // An interval that reaches down to the others says nothing.
    pair_in(links, 0, 1).latency.interval = Interval{3e-6, 15e-6, 0.95};
    EXPECT_THAT(places_of(slow_links(links, {})), IsEmpty());
  }
  // Two GPUs that are bridged among four have a path of their own.
  auto links = healthy(4);
  auto facts = facts_of_gpus(4);
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}, {2, 3}, {3, 2}}) {
    pair_in(links, from, to).latency = about(6e-6);
    facts.paths[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = "across NUMA nodes";
  }
  EXPECT_THAT(places_of(slow_links(links, facts)), IsEmpty());
}

TEST(SlowLinks, of_a_slow_gpu_are_all_of_its_pairs) {
  auto links = healthy(4);
  for (auto& pair : links.pairs) {
    if (pair.from == 3 || pair.to == 3) pair.latency = about(20e-6);
  }
  EXPECT_EQ(slow_links(links, facts_of_gpus(4)).size(), 6U);
}

TEST(SlowLinks, to_the_host_are_judged_in_every_cell) {
  auto links = healthy(4);
  links.hosts[1].both = about(50e9);
  links.hosts[2].latency = about(9e-6);
  links.hosts[3].from_gpu = about(25e9);
  const auto slow = slow_links(links, facts_of_gpus(4));
  EXPECT_THAT(places_of(slow), ElementsAre("GPU 3 -> host", "host <-> GPU 1, both ways", "host -> GPU 2, latency"));
  EXPECT_DOUBLE_EQ(slow[1].expected, 2 * 57.6e9);
  EXPECT_THAT(slow[1].reason, HasSubstr("50 %"));
  auto two = healthy(2);
  two.hosts[0].latency = about(9e-6);
  EXPECT_THAT(places_of(slow_links(two, {})), ElementsAre("host -> GPU 0, latency")) << "of two, by the other";
}

TEST(SlowLinks, without_nvlink_are_held_against_pcie) {
  auto links = healthy(2);
  for (auto& pair : links.pairs) pair.write = pair.read = about(50e9), pair.both = about(70e9);
  auto facts = facts_of_gpus(2);
  facts.paths.assign(2, {"PCIe host bridge", "PCIe host bridge"});
  EXPECT_DOUBLE_EQ(promised(links.pairs[0], facts), 57.6e9);
  EXPECT_THAT(places_of(slow_links(links, facts)), IsEmpty());
  links.pairs[0].both = links.pairs[1].both = about(50e9);
  EXPECT_EQ(slow_links(links, facts).size(), 2U) << "less both ways than one way should carry";
}

TEST(DegradedLinks, are_those_below_what_gpu_and_slot_can) {
  auto facts = facts_of_gpus(3);
  EXPECT_THAT(degraded_links(facts), IsEmpty());
  facts.attached[0].pcie_generation = 1;
  facts.attached[1].pcie_width = 8;
  facts.attached[2].nvlinks_active = 17;
  EXPECT_THAT(degraded_links(facts), ElementsAre(HasSubstr("GPU 0: PCIe generation 1 where GPU and slot can 5"),
                                                 "GPU 1: PCIe x8 where GPU and slot can x16",
                                                 "GPU 2: 17 NVLinks active where another GPU has 18"));
  EXPECT_THAT(degraded_links({}), IsEmpty());
}

TEST(LinkReport, names_slow_pairs_and_draws_a_map_of_each_kind) {
  auto links = healthy(3);
  pair_in(links, 0, 2).write = about(200e9);
  pair_in(links, 1, 0).latency = about(9e-6);
  links.hosts[2].both = about(40e9);
  auto facts = facts_of_gpus(3);
  facts.attached[1].pcie_width = 8;
  facts.attached[2].numa_node.reset();
  const auto report = build_report(links, facts, slow_links(links, facts));
  std::vector<std::string> maps, marked;
  for (const auto& section : report.sections) {
    for (const auto& block : section.blocks) {
      const auto* map = std::get_if<HeatMap>(&block);
      if (map == nullptr) continue;
      maps.push_back(map->title);
      for (const auto& row : map->squares) {
        for (const auto& square : row) {
          if (square.marked) marked.push_back(map->title + ": " + square.text);
        }
      }
    }
  }
  EXPECT_THAT(maps, ElementsAre("bandwidth, write", "bandwidth, read", "bandwidth, both ways", "latency",
                                "bandwidth, host and GPU"));
  EXPECT_THAT(marked,
              ElementsAre("bandwidth, write: 200 GB/s", "latency: 9.000 µs", "bandwidth, host and GPU: 40.0 GB/s"));
  const auto text = testing_support::text_of(report);
  EXPECT_THAT(text, HasSubstr("GPU 0 -> GPU 2, write: 200 GB/s, below 80 % of what its links promise of 400 GB/s"));
  EXPECT_THAT(text, HasSubstr("GPU 1 -> GPU 0, latency: 9.000 µs, above twice the median of the others of its path of "
                              "2.200 µs"));
  EXPECT_THAT(text, HasSubstr("GPU 1: PCIe x8 where GPU and slot can x16"));
  EXPECT_THAT(text, HasSubstr("18 of 18, NVLink 4"));
}

TEST(LinkJson, has_what_is_expected_and_the_topology) {
  auto links = healthy(2);
  pair_in(links, 0, 1).latency = about(9e-6);
  auto facts = facts_of_gpus(2);
  facts.attached[1].pcie_width = 8;
  facts.attached[1].numa_node.reset();
  const auto slow = slow_links(links, facts);
  const auto json = to_json(LinksResult{links, facts, slow});
  EXPECT_EQ(testing_support::schema_errors(json, "links.schema.json"), "");
  EXPECT_DOUBLE_EQ(json["hosts"][0]["expected"].get<double>(), 57.6e9);
  EXPECT_EQ(json["slow"][0]["unit"], "s");
  EXPECT_EQ(json["topology"][0]["nvlink_generation"], 4);
  EXPECT_EQ(json["topology"][0]["numa_node"], 0);
  EXPECT_EQ(json["topology"][1]["pcie_width"], 8);
  EXPECT_FALSE(json["topology"][1].contains("numa_node"));
  EXPECT_EQ(json["degraded"].size(), 1U);
  EXPECT_EQ(testing_support::schema_errors(to_json(LinksResult{links, LinkFacts{}, std::vector<SlowLink>{}}),
                                           "links.schema.json"),
            "");
}

TEST(LinkFacts, are_chosen_for_the_gpus_that_were_measured) {
  auto all = facts_of_gpus(4);
  all.nvlink = {1, 2, 3, 4};
  all.paths[3][1] = "PCIe";
  Links links = healthy(2);
  links.gpus = {"0 NVIDIA H200 [0000:03:00.0]", "1 NVIDIA H200 [0000:01:00.0]"};
  const auto chosen = facts_of(links, all);
  EXPECT_THAT(chosen.nvlink, ElementsAre(4, 2));
  EXPECT_EQ(chosen.paths[0][1], "PCIe");
  EXPECT_EQ(chosen.attached[1].pci_bus_id, "00000000:01:00.0");
  links.gpus = {"0 GPU", "1 GPU"};
  EXPECT_EQ(facts_of(links, all).nvlink.size(), 4U) << "what is not found leaves all";
}

TEST(LinkFacts, come_from_nvml_and_sysfs) {
  // A library that is loaded under this name is the one that is found by it.
  void* played = dlopen(WARPMARK_BINARY_DIR "/mock_nvml/libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(played, nullptr) << dlerror();
  test::FakeTree tree;
  tree.file("0000:1b:00.0/numa_node", "1\n").file("0000:ac:00.0/numa_node", "-1\n");
  const auto facts = link_facts(tree.root());
  ASSERT_TRUE(facts.ok()) << facts.error().what;
  ASSERT_EQ(facts->attached.size(), 2U);
  EXPECT_NEAR(facts->nvlink[0], 400e9, 1e9);
  EXPECT_NEAR(facts->pcie[1], 57.6e9, 0.1e9);
  EXPECT_EQ(facts->paths[0][1], "NVLink");
  EXPECT_EQ(facts->attached[0].pci_bus_id, "00000000:1B:00.0");
  EXPECT_EQ(facts->attached[0].nvlinks, 18);
  EXPECT_EQ(facts->attached[0].nvlinks_active, 18);
  EXPECT_EQ(facts->attached[0].nvlink_version, 6);
  EXPECT_EQ(facts->attached[0].pcie_generation, 5);
  EXPECT_EQ(facts->attached[0].pcie_max_width, 16);
  EXPECT_EQ(facts->attached[0].numa_node, 1);
  EXPECT_FALSE(facts->attached[1].numa_node);
  EXPECT_THAT(degraded_links(*facts), ElementsAre("GPU 1: PCIe x8 where GPU and slot can x16"));
}

}  // namespace
}  // namespace warpmark::collectives
