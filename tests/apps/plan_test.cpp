// plan from the command line: layouts of a model, and steps predicted from sweeps whose links are known.
#include <functional>

#include "apps/cli_fixture.h"
#include "collectives/alpha_beta.h"
#include "collectives/calls/operation.h"
#include "collectives/results/row.h"

namespace warpmark::apps {
namespace {

using collectives::Collective;
using collectives::DataType;
using collectives::Link;
using collectives::Placement;
using collectives::ReduceOp;
using collectives::Row;

TEST_F(Cli, plan_ranks_layouts_and_predicts_from_a_sweep) {
  const auto plan =
      warpmark({"plan", "--gpu", "a100-sxm-80gb", "--gpus", "64", "--layers", "48", "--hidden", "6144", "--heads", "48",
                "--batch", "512", "--tokens", "1e11", "--price", "1.5", "--json", path("plan.json")});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  const auto layouts = json("plan.json")["layouts"];
  EXPECT_TRUE(layouts[0]["fits"].get<bool>());
  EXPECT_GT(layouts[0]["dollars"].get<double>(), 0);
  EXPECT_EQ(warpmark({"plan", "--gpu", "a100-sxm-80gb", "--gpus", "1", "--layers", "96", "--hidden", "12288", "--heads",
                      "96", "--batch", "1"})
                .exit_code,
            1);
  EXPECT_EQ(warpmark({"plan", "--gpu", "abacus", "--layers", "4", "--hidden", "64", "--heads", "4", "--batch", "8"})
                .exit_code,
            2);
  EXPECT_EQ(warpmark({"plan"}).exit_code, 2);
  write("bad.json", "{\"schema\": \"other\"}");
  const auto bad =
      warpmark({"plan", "--step-time", "100ms", "--gradients", "1MB", "--measured-links", path("bad.json")});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_NE(bad.err.find("is no sweep"), std::string::npos) << bad.err;
}

TEST_F(Cli, plan_offloads_no_more_than_host_memory_holds) {
  const auto plan = [&](const char* host_memory) {
    return warpmark({"plan", "--gpu", "a100-sxm-80gb", "--gpus", "1", "--layers", "48", "--hidden", "4096", "--heads",
                     "32", "--batch", "8", "--host-memory", host_memory, "--json", path("plan.json")});
  };
  // 9.9e9 parameters: 119 GB of optimizer state, which a GPU of 80 GB does not hold, and gradients of 40 GB.
  const auto large = plan("200GB");
  EXPECT_EQ(large.exit_code, 0) << large.err;
  EXPECT_NE(large.out.find("host memory"), std::string::npos) << large.out;
  EXPECT_GT(json("plan.json")["layouts"][0]["memory"]["host"].get<double>(), 100e9);
  const auto small = plan("100GB");
  EXPECT_EQ(small.exit_code, 1) << small.err;
  EXPECT_FALSE(json("plan.json")["layouts"][0]["fits_host"].get<bool>());
}

TEST_F(Cli, plan_shows_no_host_memory_where_nothing_is_offloaded) {
  const auto plan = warpmark({"plan", "--gpu", "a100-sxm-80gb", "--layers", "4", "--hidden", "1024", "--heads", "16",
                              "--batch", "8", "--host-memory", "0"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(plan.out.find("host memory"), std::string::npos) << plan.out;
}

TEST_F(Cli, plan_refuses_options_of_the_other_kind_of_plan) {
  for (const char* name : {"--gpu", "--gpus", "--price", "--utilization", "--precision", "--optimizer", "--top",
                           "--host-memory", "--layers"}) {
    const auto refused = warpmark({"plan", "--step-time", "100ms", name, "1"});
    EXPECT_EQ(refused.exit_code, 2) << name;
    EXPECT_NE(refused.err.find(std::string(name) + " is of a model"), std::string::npos) << refused.err;
  }
  for (const char* name : {"--gradients", "--bucket", "--to", "--measured", "--accumulation"}) {
    const auto refused = warpmark({"plan", "--layers", "4", name, "1"});
    EXPECT_EQ(refused.exit_code, 2) << name;
    EXPECT_NE(refused.err.find(std::string(name) + " is of a measured step"), std::string::npos) << refused.err;
  }
}

/// What `warpmark collective all_reduce --json` writes, of ranks on so many hosts.
std::string sweep_of(int ranks, int hosts, const std::function<double(double bytes)>& seconds) {
  Json rows = Json::array();
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= 4) {
    Row row{Collective::all_reduce, DataType::f32, ReduceOp::sum, -1, ranks, {}, {}, {}};
    row.counts = counts_of(row.kind, bytes, row.type, ranks);
    Placement place;
    place.time_s = seconds(static_cast<double>(row.counts.bytes));
    place.samples_s.assign(5, place.time_s);
    row.out_of_place = place;
    rows.push_back(to_json(row));
  }
  Json names = Json::array();
  for (int rank = 0; rank < ranks; ++rank) names.push_back("host" + std::to_string(rank * hosts / ranks));
  return Json{{"schema", "warpmark.collective/1"}, {"head", {{"hosts", names}}}, {"rows", rows}}.dump();
}

/// 10 us and 100 GB/s with two ranks, 20 us and 50 GB/s with four, on one host.
std::string sweep_of(int ranks) {
  const double alpha_s = ranks == 2 ? 10e-6 : 20e-6, bytes_per_s = ranks == 2 ? 100e9 : 50e9;
  return sweep_of(ranks, 1, [=](double bytes) { return alpha_s + bytes / bytes_per_s; });
}

constexpr Link kInside{3e-6, 1 / 300e9}, kNetwork{20e-6, 1 / 25e9};

/// Nodes of four GPUs with these two links.
double two_level_s(double bytes, int gpus) {
  return collectives::hierarchical_cost(Collective::all_reduce, bytes, gpus, 4, kInside, kNetwork);
}

std::string sweep_of_nodes(int nodes) {
  return sweep_of(4 * nodes, nodes, [=](double bytes) { return two_level_s(bytes, 4 * nodes); });
}

TEST_F(Cli, plan_takes_for_each_number_of_gpus_the_sweep_of_as_many_ranks) {
  write("two.json", sweep_of(2));
  write("four.json", sweep_of(4));
  const auto planned = warpmark({"plan", "--step-time", "30ms", "--gradients", "4294967296", "--overlap", "50%", "--to",
                                 "2,4", "--measured-links", path("two.json"), "--measured-links", path("four.json"),
                                 "--json", path("plan.json")});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const auto steps = json("plan.json")["steps"];
  EXPECT_NEAR(steps[0]["communication"].get<double>(), 44.7e-3, 1e-3);
  EXPECT_NEAR(steps[1]["communication"].get<double>(), 89.3e-3, 2e-3);
  const auto twice = warpmark({"plan", "--step-time", "30ms", "--gradients", "1MB", "--measured-links",
                               path("two.json"), "--measured-links", path("two.json")});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_NE(twice.err.find("two sweeps of 2 ranks"), std::string::npos) << twice.err;
}

TEST_F(Cli, plan_reckons_nodes_with_a_network_that_it_is_told) {
  write("node.json", sweep_of_nodes(1));
  const auto planned =
      warpmark({"plan", "--step-time", "100ms", "--gradients", "1GB", "--to", "4,16,64", "--measured-links",
                path("node.json"), "--between", "25GB/s", "--between-alpha", "20us", "--json", path("plan.json")});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const auto plan = json("plan.json");
  const int gpus[] = {4, 16, 64};
  for (std::size_t i = 0; i < 3; ++i) {
    const double expected = 40 * two_level_s(25e6, gpus[i]);
    EXPECT_NEAR(plan["steps"][i]["communication"].get<double>(), expected, 0.02 * expected) << gpus[i];
    EXPECT_EQ(plan["steps"][i]["link_assumed"], false);
  }
  EXPECT_EQ(plan["network"]["source"], "given");
  EXPECT_EQ(plan["network"]["per_node"], 4);
  EXPECT_NE(planned.out.find("Between nodes of 4 GPUs: 20.00 "), std::string::npos) << planned.out;
  EXPECT_NE(planned.out.find(" a message and 25.0 GB/s"), std::string::npos) << planned.out;
  EXPECT_EQ(planned.out.find("suppose"), std::string::npos) << planned.out;
  const auto usual = warpmark({"plan", "--step-time", "100ms", "--gradients", "1GB", "--measured-links",
                               path("node.json"), "--between", "25GB/s", "--json", path("plan.json")});
  ASSERT_EQ(usual.exit_code, 0) << usual.err;
  EXPECT_DOUBLE_EQ(json("plan.json")["network"]["alpha"].get<double>(), 14e-6);
}

TEST_F(Cli, plan_fits_the_network_to_a_sweep_over_hosts) {
  write("node.json", sweep_of_nodes(1));
  write("nodes.json", sweep_of_nodes(2));
  const std::vector<std::string> words{"plan",
                                       "--step-time",
                                       "100ms",
                                       "--gradients",
                                       "1GB",
                                       "--to",
                                       "4,8,64",
                                       "--measured-links",
                                       path("node.json"),
                                       "--measured-links",
                                       path("nodes.json")};
  const auto planned = warpmark(with(words, {"--json", path("plan.json")}));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const auto plan = json("plan.json");
  const int gpus[] = {4, 8, 64};
  for (std::size_t i = 0; i < 3; ++i) {
    const double expected = 40 * two_level_s(25e6, gpus[i]);
    EXPECT_NEAR(plan["steps"][i]["communication"].get<double>(), expected, 0.03 * expected) << gpus[i];
  }
  EXPECT_EQ(plan["network"]["source"], "fitted");
  EXPECT_NEAR(plan["network"]["link"]["beta"].get<double>(), 1 / 25e9, 0.02 / 25e9);
  EXPECT_NE(planned.out.find("Between nodes of 4 GPUs, from the sweep over 2 hosts"), std::string::npos) << planned.out;
  const auto both = warpmark(with(words, {"--between", "25GB/s"}));
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_NE(both.err.find("both measure the network"), std::string::npos) << both.err;
  // A sweep over hosts alone: one link for all, which is told.
  const auto flat =
      warpmark({"plan", "--step-time", "100ms", "--gradients", "1GB", "--measured-links", path("nodes.json")});
  ASSERT_EQ(flat.exit_code, 0) << flat.err;
  EXPECT_NE(flat.out.find("its link stands for all GPUs"), std::string::npos) << flat.out;
}

TEST_F(Cli, plan_takes_the_widest_host_that_was_measured_for_a_node) {
  // All GPUs of one host, and the network with one rank on each of two: a node has four GPUs all the same.
  write("node.json", sweep_of_nodes(1));
  write("thin.json", sweep_of(2, 2, [](double bytes) {
          return collectives::cost(Collective::all_reduce, collectives::Algorithm::ring, bytes, 2, kNetwork);
        }));
  const auto planned =
      warpmark({"plan", "--step-time", "100ms", "--gradients", "1GB", "--to", "4,8", "--measured-links",
                path("node.json"), "--measured-links", path("thin.json"), "--json", path("plan.json")});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_EQ(json("plan.json")["network"]["per_node"], 4);
  for (std::size_t i = 0; i < 2; ++i) {
    const double expected = 40 * two_level_s(25e6, i == 0 ? 4 : 8);
    EXPECT_NEAR(json("plan.json")["steps"][i]["communication"].get<double>(), expected, 0.03 * expected) << i;
  }
  const auto model = warpmark({"plan", "--gpus", "8", "--layers", "24", "--hidden", "2048", "--heads", "16", "--batch",
                               "64", "--measured-links", path("node.json"), "--json", path("model.json")});
  ASSERT_EQ(model.exit_code, 0) << model.err;
  EXPECT_EQ(json("model.json")["network"]["source"], "default");
  EXPECT_NE(model.out.find("default"), std::string::npos) << model.out;
  write("nodes.json", sweep_of_nodes(2));
  const auto small = warpmark({"plan", "--step-time", "100ms", "--gradients", "1GB", "--per-node", "2",
                               "--measured-links", path("nodes.json")});
  EXPECT_EQ(small.exit_code, 2);
  EXPECT_NE(small.err.find("less than the 4 ranks that a host had"), std::string::npos) << small.err;
}

TEST_F(Cli, plan_refuses_numbers_that_mean_nothing) {
  write("node.json", sweep_of_nodes(1));
  write("odd.json", "{\"schema\": 1, \"rows\": []}");
  const std::vector<std::string> step{"plan",           "--gradients", "1GB", "--to", "2,4", "--measured-links",
                                      path("node.json")};
  const std::vector<std::string> model{"plan", "--hidden", "64", "--heads", "4", "--batch"};
  for (const auto& [words, said] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {with(step, {"--step-time", "0s"}), "--step-time must be above 0"},
           {with(step, {"--step-time", "1s", "--measured", "2=0s"}), "a step takes more than 0 s"},
           {with(step, {"--step-time", "1s", "--measured", "8=1s"}), "8 GPUs are not predicted"},
           {with(model, {"3e9", "--layers", "4"}), "--batch must be 1e+09 at most"},
           {{"plan", "--step-time", "1s", "--gradients", "1GB", "--measured-links", path("odd.json")},
            "is no sweep"}}) {
    const auto refused = warpmark(words);
    EXPECT_EQ(refused.exit_code, 2) << said << refused.out;
    EXPECT_NE(refused.err.find(said), std::string::npos) << refused.err;
  }
}

TEST_F(Cli, plan_warns_where_it_supposes_the_link_of_one_host_between_hosts) {
  write("node.json", sweep_of_nodes(1));
  const std::vector<std::string> words{"plan",   "--step-time",      "100ms",          "--gradients", "1GB", "--to",
                                       "4,8,64", "--measured-links", path("node.json")};
  const auto planned = warpmark(with(words, {"--json", path("plan.json")}));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_NE(planned.out.find("The sweeps measured one host and 4 GPUs: from 8 on"), std::string::npos) << planned.out;
  const auto steps = json("plan.json")["steps"];
  EXPECT_EQ(steps[0]["link_assumed"], false);
  EXPECT_EQ(steps[1]["link_assumed"], true);
  // Nodes that hold as many need no network.
  const auto large = warpmark(with(words, {"--per-node", "64"}));
  EXPECT_EQ(large.out.find("The sweeps measured one host"), std::string::npos) << large.out;
  EXPECT_EQ(warpmark(with(words, {"--between-alpha", "5us"})).exit_code, 2);
}

TEST_F(Cli, plan_says_where_scaling_breaks_and_how_far_it_is_off) {
  write("two.json", sweep_of(2));
  write("four.json", sweep_of(4));
  const std::vector<std::string> words{"plan",
                                       "--step-time",
                                       "30ms",
                                       "--gradients",
                                       "4294967296",
                                       "--overlap",
                                       "50%",
                                       "--to",
                                       "2,4",
                                       "--measured-links",
                                       path("two.json"),
                                       "--measured-links",
                                       path("four.json"),
                                       "--contention",
                                       "0"};
  // 44.7 ms with two and 89.3 ms with four, of which 10 ms are hidden: steps of 64.7 and 109.3 ms.
  const auto planned = warpmark(with(words, {"--measured", "2=60ms"}));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_NE(planned.out.find("Scaling breaks at 2 GPUs: efficiency falls below 70 %."), std::string::npos)
      << planned.out;
  EXPECT_NE(planned.out.find("60.00 ms"), std::string::npos) << planned.out;
  EXPECT_NE(planned.out.find("+8.2 %"), std::string::npos) << planned.out;
  EXPECT_NE(planned.out.find("4 held-back"), std::string::npos) << planned.out;
  // Eight batches before an exchange: 240 of 274.7 and of 319.3 ms.
  const auto accumulated = warpmark(with(words, {"--accumulation", "8", "--json", path("plan.json")}));
  ASSERT_EQ(accumulated.exit_code, 0) << accumulated.err;
  EXPECT_EQ(accumulated.out.find("Scaling breaks"), std::string::npos) << accumulated.out;
  EXPECT_NEAR(json("plan.json")["steps"][1]["efficiency"].get<double>(), 240 / 319.3, 0.005);
  EXPECT_EQ(warpmark(with(words, {"--measured", "two"})).exit_code, 2);
}

TEST_F(Cli, plan_compresses_the_gradients_of_a_measured_step) {
  write("two.json", sweep_of(2));
  const std::vector<std::string> words{
      "plan", "--step-time",      "30ms",           "--gradients", "4294967296",     "--bucket", "1GiB", "--to",
      "2",    "--measured-links", path("two.json"), "--json",      path("plan.json")};
  const auto communication_s = [&](const std::vector<std::string>& more) {
    const auto planned = warpmark(with(words, more));
    EXPECT_EQ(planned.exit_code, 0) << planned.err;
    return json("plan.json")["steps"][0]["communication"].get<double>();
  };
  const double plain_s = communication_s({});
  EXPECT_NEAR(communication_s({"--compression", "half"}), plain_s / 2, 0.01 * plain_s);
  const double thin_s = communication_s({"--compression", "powersgd:4", "--hidden", "1024"});
  EXPECT_NEAR(thin_s, plain_s * 8 / 1024, 0.01 * plain_s);
  const auto thin = warpmark(with(words, {"--compression", "powersgd:4", "--hidden", "1024"}));
  EXPECT_NE(thin.out.find("What PowerSGD computes is not in these steps"), std::string::npos) << thin.out;
  EXPECT_EQ(warpmark(with(words, {"--compression", "powersgd:4"})).exit_code, 2);
}

TEST_F(Cli, plan_knows_precisions_and_optimizers) {
  const std::vector<std::string> words{"plan",    "--gpu", "h100-sxm", "--layers", "24",     "--hidden",       "2048",
                                       "--heads", "16",    "--batch",  "64",       "--json", path("plan.json")};
  const auto planned = [&](const std::vector<std::string>& more) {
    const auto output = warpmark(with(words, more));
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return json("plan.json");
  };
  const auto usual = planned({});
  EXPECT_EQ(usual["precision"], "bf16");
  EXPECT_EQ(usual["bytes_per_parameter"], 18);
  EXPECT_EQ(planned({"--gradient-bits", "16"})["bytes_per_parameter"], 16);
  const auto named = planned({"--precision", "bf16", "--optimizer", "adam"});
  EXPECT_EQ(named["layouts"], usual["layouts"]) << "the default";
  EXPECT_EQ(planned({"--precision", "fp32", "--optimizer", "momentum"})["bytes_per_parameter"], 12);
  EXPECT_EQ(planned({"--optimizer", "adam8bit"})["bytes_per_parameter"], 12);
  // Dense rates of the datasheet: 989.4 TFLOPS in 16 bits, 1978.9 in 8, of the same model without recomputation.
  const auto compute_s = [](const Json& plan) {
    for (const auto& one : plan["layouts"]) {
      if (one["recompute"] == "none") return one["compute"].get<double>();
    }
    return 0.0;
  };
  EXPECT_NEAR(compute_s(usual) / compute_s(planned({"--precision", "fp8", "--kernels", "46%"})), 1978.9 / 989.4, 1e-6);
  const auto none = warpmark(with(words, {"--gpu", "a100-sxm-80gb", "--precision", "fp8"}));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("has no rate in fp8"), std::string::npos) << none.err;
  EXPECT_EQ(warpmark(with(words, {"--precision", "fp7"})).exit_code, 2);
  EXPECT_EQ(warpmark(with(words, {"--optimizer", "lion"})).exit_code, 2);
}

TEST_F(Cli, plan_of_several_numbers_of_gpus_tells_dollars_of_each) {
  const auto planned = warpmark({"plan", "--gpus", "8,16,64", "--layers", "24", "--hidden", "2048", "--heads", "16",
                                 "--batch", "64", "--price", "2.5", "--json", path("plan.json")});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_NE(planned.out.find("16 h100-sxm"), std::string::npos) << planned.out;
  const auto layouts = json("plan.json")["layouts"];
  ASSERT_EQ(layouts.size(), 3U);
  const int gpus[] = {8, 16, 64};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& one = layouts[i];
    EXPECT_EQ(one["data"].get<int>() * one["tensor"].get<int>() * one["pipeline"].get<int>(), gpus[i]);
    EXPECT_NEAR(one["dollars"].get<double>(), one["hours"].get<double>() * gpus[i] * 2.5, 1e-6);
  }
  const auto odd =
      warpmark({"plan", "--gpus", "8,37", "--layers", "24", "--hidden", "2048", "--heads", "16", "--batch", "64"});
  EXPECT_NE(odd.out.find("No layout of 37 GPUs divides"), std::string::npos) << odd.out;
  EXPECT_EQ(
      warpmark({"plan", "--gpus", "8,0", "--layers", "4", "--hidden", "64", "--heads", "4", "--batch", "8"}).exit_code,
      2);
}

}  // namespace
}  // namespace warpmark::apps
