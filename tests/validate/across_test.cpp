// Nodes whose speeds are made up: equal ones, a slow one, two slow ones, too few.
#include "validate/accept/acceptance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "stats/distributions.h"
#include "stats/random.h"
#include "stats/summary.h"
#include "support/schema_check.h"

namespace warpmark::validate {
namespace {

using testing_support::schema_errors;

double noise(std::uint64_t seed, std::uint64_t index) {
  return stats::normal_quantile(stats::random_unit(seed, index) * 0.999999 + 5e-7);
}

Run run_of(const char* workload, double seconds) {
  Run run;
  run.workload = workload;
  run.device = "cuda:0";
  run.outcome = Outcome::passed;
  Metric time{.id = "time", .unit = "s", .better = Better::lower};
  for (int i = 0; i < 20; ++i) time.samples.push_back(seconds * (1 + 1e-4 * ((i % 5) - 2)));
  time.round_sizes = {20};
  time.summary = stats::summarize(time.samples);
  run.metrics.push_back(time);
  return run;
}

NodeResults node(int number, std::vector<Run> runs) {
  NodeResults results;
  results.file = "r/node" + std::to_string(number) + ".json";
  results.session.id = "s" + std::to_string(number);
  results.session.machine.hostname = "n" + std::to_string(number);
  results.session.machine.kernel = "6.1";
  DeviceInfo gpu;
  gpu.id = "cuda:0";
  gpu.backend = "cuda";
  gpu.name = "GPU";
  results.session.machine.devices.push_back(gpu);
  results.session.runs = std::move(runs);
  return results;
}

/// Nodes that differ by `spread`, two workloads each; `slow` of them take `factor` times as long in the first.
std::vector<NodeResults> fleet(int count, double spread, std::vector<int> slow, double factor, std::uint64_t seed = 7) {
  std::vector<NodeResults> nodes;
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    const bool is_slow = std::find(slow.begin(), slow.end(), i) != slow.end();
    nodes.push_back(node(i, {run_of("copy", 1e-3 * std::exp(spread * noise(seed, 2 * index)) * (is_slow ? factor : 1)),
                             run_of("gemm", 2e-3 * std::exp(spread * noise(seed, 2 * index + 1)))}));
  }
  return nodes;
}

Across judged(const std::vector<NodeResults>& nodes, AcrossOptions options = {}) {
  auto result = judge_across(nodes, options);
  EXPECT_TRUE(result.ok()) << result.error().what;
  result->build.version = "0.1.0";
  EXPECT_EQ(schema_errors(to_json(*result), "across.schema.json"), "");
  return *result;
}

std::vector<std::string> nodes_in(const Across& across, NodeState state) {
  std::vector<std::string> names;
  for (const auto& unit : across.units) {
    if (unit.state == state) names.push_back(unit.node);
  }
  return names;
}

TEST(Across, names_the_slow_node) {
  const auto across = judged(fleet(8, 0.005, {5}, 1.1));
  EXPECT_EQ(nodes_in(across, NodeState::slow), std::vector<std::string>{"n5"});
  EXPECT_EQ(overall(across), NodeState::slow);
  EXPECT_NEAR(*across.metrics[0].values[5].slowdown, 0.1, 0.03);
  EXPECT_LE(*across.metrics[0].values[5].adjusted_p, 0.05);
}

TEST(Across, compares_every_metric_of_a_command_on_machines_of_one_make) {
  std::vector<NodeResults> nodes;
  for (int i = 0; i < 6; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    auto run = run_of("command", std::exp(0.003 * noise(3, index)));
    run.device = "host";
    run.params.set("name", std::string("train"));
    Metric rate = run.metrics.front();
    rate.id = "throughput";
    rate.unit = "1/s";
    rate.better = Better::higher;
    for (auto& sample : rate.samples) sample = 100 * sample * (i == 4 ? 0.9 : 1);
    rate.summary = stats::summarize(rate.samples);
    run.metrics.push_back(rate);
    nodes.push_back(node(i, {run}));
  }
  const auto across = judged(nodes);
  ASSERT_EQ(across.metrics.size(), 2U);
  EXPECT_EQ(across.metrics[1].what, "name=train throughput");
  EXPECT_EQ(nodes_in(across, NodeState::slow), std::vector<std::string>{"n4"});
  nodes[5].session.machine.devices[0].name = "Another GPU";
  EXPECT_EQ(judged(nodes).metrics[0].values.size(), 5U) << "a machine of another make";
}

TEST(Across, names_two_slow_nodes_that_would_hide_each_other) {
  EXPECT_EQ(nodes_in(judged(fleet(10, 0.005, {2, 7}, 1.15)), NodeState::slow), (std::vector<std::string>{"n2", "n7"}));
}

TEST(Across, does_not_name_a_node_where_all_differ_as_much) {
  EXPECT_TRUE(nodes_in(judged(fleet(8, 0.05, {5}, 1.05)), NodeState::slow).empty());
}

TEST(Across, says_that_two_nodes_cannot_tell_which_is_the_odd_one) {
  const auto across = judged(fleet(2, 0, {1}, 1.2));
  EXPECT_EQ(overall(across), NodeState::undecided);
  EXPECT_NE(across.metrics[0].values[1].reason.find("with two it is unknown which is the outlier"), std::string::npos);
  EXPECT_EQ(overall(judged(fleet(2, 0, {}, 1))), NodeState::normal);
}

TEST(Across, does_not_decide_by_two_others_that_differ_as_much_as_the_third) {
  auto nodes = fleet(3, 0, {}, 1);
  nodes[0].session.runs = {run_of("copy", 1e-3)};
  nodes[1].session.runs = {run_of("copy", 1.02e-3)};
  nodes[2].session.runs = {run_of("copy", 1.10e-3)};
  const auto across = judged(nodes);
  EXPECT_EQ(across.units[2].state, NodeState::undecided);
}

TEST(Across, leaves_disturbed_values_out_and_names_wrong_and_missing_ones) {
  auto nodes = fleet(6, 0.002, {}, 1);
  nodes[0].session.runs[0] = run_of("copy", 9e-3);
  nodes[0].session.runs[0].outcome = Outcome::unreliable;
  nodes[1].session.runs[0].outcome = Outcome::failed;
  nodes[1].session.runs[0].metrics.clear();
  nodes[2].session.runs.erase(nodes[2].session.runs.begin());
  const auto across = judged(nodes);
  EXPECT_EQ(nodes_in(across, NodeState::unreliable), std::vector<std::string>{"n0"});
  EXPECT_EQ(nodes_in(across, NodeState::failed), std::vector<std::string>{"n1"});
  EXPECT_EQ(nodes_in(across, NodeState::missing), std::vector<std::string>{"n2"});
  EXPECT_TRUE(nodes_in(across, NodeState::slow).empty());
}

TEST(Across, compares_only_devices_of_one_model) {
  auto nodes = fleet(6, 0.002, {3}, 1.5);
  nodes[3].session.machine.devices[0].name = "Another GPU";
  const auto across = judged(nodes);
  EXPECT_TRUE(nodes_in(across, NodeState::slow).empty());
  ASSERT_FALSE(across.differences.empty());
  EXPECT_EQ(across.differences[0].node, "n3");
}

TEST(Across, lists_what_differs_between_machines) {
  auto nodes = fleet(4, 0.002, {}, 1);
  nodes[2].session.machine.software = {{"NVIDIA driver", "535.1"}};
  const auto across = judged(nodes);
  ASSERT_EQ(across.differences.size(), 1U);
  EXPECT_EQ(across.differences[0].fact, "NVIDIA driver");
  EXPECT_EQ(across.differences[0].most, "none");
}

TEST(Across, names_nodes_by_file_where_host_names_are_equal) {
  auto nodes = fleet(3, 0.002, {}, 1);
  for (auto& item : nodes) item.session.machine.hostname = "vm";
  EXPECT_EQ(judged(nodes).units[0].node, "node0");
}

TEST(Across, refuses_what_cannot_be_compared) {
  EXPECT_FALSE(judge_across({}, {}).ok());
  EXPECT_FALSE(judge_across({node(1, {run_of("copy", 1)})}, {}).ok());
  auto twice = fleet(2, 0, {}, 1);
  twice[1].session.id = twice[0].session.id;
  EXPECT_NE(judge_across(twice, {}).error().what.find("twice"), std::string::npos);
  EXPECT_FALSE(judge_across({node(1, {run_of("copy", 1)}), node(2, {run_of("gemm", 1)})}, {}).ok());
}

}  // namespace
}  // namespace warpmark::validate
