#include "validate/scaling/training_plan.h"

#include <gtest/gtest.h>

namespace warpmark::validate {
namespace {

constexpr TransformerShape kGpt3{96, 12288, 96, 2048, 51200};

TEST(Parameters, are_those_of_the_published_models) {
  EXPECT_NEAR(parameters_of({24, 2304, 24, 2048, 51200}), 1.7e9, 0.05e9);
  EXPECT_NEAR(parameters_of(kGpt3), 174.6e9, 0.1e9);
  EXPECT_NEAR(parameters_of({128, 25600, 160, 2048, 51200}), 1008.0e9, 1e9);
}

TEST(StateMemory, is_the_table_of_the_zero_paper) {
  // 7.5e9 parameters on 64 GPUs: 120, 31.4, 16.6 and 1.88 GB.
  EXPECT_NEAR(state_memory(7.5e9, 0, 64).gpu(), 120e9, 0.1e9);
  EXPECT_NEAR(state_memory(7.5e9, 1, 64).gpu(), 31.4e9, 0.05e9);
  EXPECT_NEAR(state_memory(7.5e9, 2, 64).gpu(), 16.6e9, 0.05e9);
  EXPECT_NEAR(state_memory(7.5e9, 3, 64).gpu(), 1.88e9, 0.01e9);
  // A trillion on 1024: 15.6 GB.
  EXPECT_NEAR(state_memory(1e12, 3, 1024).gpu(), 15.6e9, 0.05e9);
  const auto offloaded = state_memory(1e9, 0, 1, true);
  EXPECT_EQ(offloaded.gpu(), 4e9);
  EXPECT_EQ(offloaded.host, 12e9);
}

TEST(Activations, shrink_as_the_paper_on_recomputation_says) {
  // 5 a s / h is 80 for GPT-3 and 64 for the model of 530e9: selective recomputation saves 70 % and 65 %.
  const double gpt3 =
      layer_activations(kGpt3, 1, 1, Recompute::selective) / layer_activations(kGpt3, 1, 1, Recompute::none);
  EXPECT_NEAR(1 - gpt3, 0.70, 0.005);
  const TransformerShape large{105, 20480, 128, 2048, 51200};
  const double ratio =
      layer_activations(large, 1, 1, Recompute::selective) / layer_activations(large, 1, 1, Recompute::none);
  EXPECT_NEAR(1 - ratio, 0.65, 0.005);
  EXPECT_DOUBLE_EQ(layer_activations(kGpt3, 1, 8, Recompute::none) * 8,
                   layer_activations(kGpt3, 1, 1, Recompute::none));
  EXPECT_DOUBLE_EQ(layer_activations(kGpt3, 1, 8, Recompute::full), 2.0 * 2048 * 12288);
}

TEST(Bubble, is_the_pipelines_fill_and_drain) {
  EXPECT_DOUBLE_EQ(bubble(1, 8), 0);
  EXPECT_DOUBLE_EQ(bubble(4, 1), 0.75);
  EXPECT_DOUBLE_EQ(bubble(4, 12), 0.2);
}

TEST(TrainingTime, is_that_of_the_published_runs) {
  // 175e9 parameters, 300e9 tokens on 1024 A100 at 140 TFLOP/s: 34 days; 1e12, 450e9 on 3072 at 163: 84 days.
  EXPECT_NEAR(training_seconds(175e9, 300e9, 1024, 140e12, true) / 86400, 34, 0.5);
  EXPECT_NEAR(training_seconds(1e12, 450e9, 3072, 163e12, true) / 86400, 84, 1);
}

TEST(Gradients, are_as_small_as_compression_makes_them) {
  EXPECT_DOUBLE_EQ(gradient_bytes(1e9, 1024, Compression::none), 4e9);
  EXPECT_DOUBLE_EQ(gradient_bytes(1e9, 1024, Compression::half), 2e9);
  EXPECT_DOUBLE_EQ(gradient_bytes(1e9, 1024, Compression::power_sgd, 4), 4e9 * 8 / 1024);
}

Cluster nodes_of_a100(int gpus) {
  Cluster cluster{.gpu = "a100-sxm-80gb", .gpus = gpus, .per_node = 8, .memory_bytes = 80e9, .peak_flops = 312e12};
  cluster.within = {5e-6, 1 / 250e9};
  cluster.between = {15e-6, 1 / 25e9};
  cluster.dollars_per_hour = 2;
  return cluster;
}

TEST(Layouts, of_a_large_model_need_splitting_and_are_ranked) {
  const TrainingJob job{.shape = kGpt3, .batch = 1536, .tokens = 300e9};
  const auto plans = plan_layouts(job, nodes_of_a100(1024));
  ASSERT_FALSE(plans.empty());
  EXPECT_TRUE(plans.front().fits);
  EXPECT_TRUE(plans.front().layout.tensor * plans.front().layout.pipeline > 1 || plans.front().layout.zero == 3);
  EXPECT_EQ(plans.front().layout.gpus(), 1024);
  for (std::size_t i = 1; i < plans.size() && plans[i].fits; ++i) EXPECT_GE(plans[i].step_s, plans[i - 1].step_s);
  EXPECT_NEAR(plans.front().dollars, plans.front().hours * 1024 * 2, 1);
  // 174.6e9 parameters in 80 GB: not without splitting them.
  for (const auto& plan : plans) {
    const auto& layout = plan.layout;
    if (layout.tensor == 1 && layout.pipeline == 1 && layout.zero < 3) {
      EXPECT_FALSE(plan.fits);
    }
  }
}

TEST(Activations, in_host_memory_leave_two_layers_and_cost_what_the_link_cannot_hide) {
  const TransformerShape shape{48, 6144, 48, 2048, 51200};
  const TrainingJob job{.shape = shape, .batch = 64, .tokens = 1e9};
  Layout kept{.data = 8, .zero = 3, .recompute = Recompute::full, .micro_batch = 4, .micro_batches = 2};
  Layout offloaded = kept;
  offloaded.offload_activations = true;
  const double layer = layer_activations(shape, 4, 1, Recompute::full);
  const auto before = memory_of(shape, kept), after = memory_of(shape, offloaded);
  EXPECT_NEAR(before.gpu() - after.gpu(), 46 * layer, 1) << "of 48 layers two stay";
  EXPECT_NEAR(after.host, 46 * layer, 1);
  EXPECT_EQ(before.host, 0);
  auto cluster = nodes_of_a100(8);
  const auto hidden_s = plan_layout(job, cluster, offloaded).step_s - plan_layout(job, cluster, kept).step_s;
  EXPECT_EQ(hidden_s, 0) << "behind computing";
  cluster.host_link = 1e6;
  const auto slow = plan_layout(job, cluster, offloaded);
  // Out and back, 2 micro-batches of the 46 layers that leave, but for what computing hides.
  EXPECT_NEAR(slow.step_s - plan_layout(job, cluster, kept).step_s, 2 * 2 * 46 * layer / 1e6 - slow.compute_s, 1e-3);
}

TEST(Activations, that_leave_are_hidden_by_the_forward_pass_alone_which_recomputation_makes_a_quarter) {
  const TransformerShape shape{48, 6144, 48, 2048, 51200};
  const TrainingJob job{.shape = shape, .batch = 32, .tokens = 1e9};
  const Layout offloaded{
      .data = 8, .zero = 3, .recompute = Recompute::full, .micro_batch = 4, .offload_activations = true};
  auto cluster = nodes_of_a100(8);
  const double compute_s = plan_layout(job, cluster, offloaded).compute_s;
  Layout kept = offloaded;
  kept.offload_activations = false;
  const double one_way_s = 0.3 * compute_s;  // between a quarter and a third
  cluster.host_link = 46 * layer_activations(shape, 4, 1, Recompute::full) / one_way_s;
  const double added_s = plan_layout(job, cluster, offloaded).step_s - plan_layout(job, cluster, kept).step_s;
  EXPECT_NEAR(added_s, 0.05 * compute_s, 1e-6);
}

TEST(Activations, of_two_layers_do_not_leave_and_are_no_layout_of_their_own) {
  const TransformerShape shape{2, 1024, 16, 2048, 51200};
  const TrainingJob job{.shape = shape, .batch = 8, .tokens = 1e9};
  auto cluster = nodes_of_a100(1);
  cluster.host_link = 1;
  const Layout kept{.micro_batch = 8};
  Layout offloaded = kept;
  offloaded.offload_activations = true;
  EXPECT_DOUBLE_EQ(plan_layout(job, cluster, offloaded).step_s, plan_layout(job, cluster, kept).step_s);
  const auto plans = plan_layouts(job, cluster);
  ASSERT_FALSE(plans.empty());
  for (const auto& plan : plans) EXPECT_FALSE(plan.layout.offload_activations);
}

TEST(Layouts, fit_only_where_host_memory_holds_what_is_offloaded) {
  const TransformerShape shape{24, 2304, 24, 2048, 51200};
  const TrainingJob job{.shape = shape, .batch = 8, .tokens = 1e9};
  auto cluster = nodes_of_a100(8);
  const Layout layout{.data = 8, .offload = true, .recompute = Recompute::full};
  const double host = memory_of(shape, layout).host;
  cluster.host_memory_bytes = host;
  EXPECT_TRUE(plan_layout(job, cluster, layout).fits);
  cluster.host_memory_bytes = 0.99 * host;
  const auto plan = plan_layout(job, cluster, layout);
  EXPECT_FALSE(plan.fits);
  EXPECT_TRUE(plan.fits_gpu);
  EXPECT_FALSE(plan.fits_host);
}

TEST(Activations, that_fit_only_in_host_memory_make_layouts_possible) {
  const TransformerShape shape{32, 4096, 32, 8192, 51200};
  const TrainingJob job{.shape = shape, .batch = 8, .tokens = 1e9};
  auto cluster = nodes_of_a100(8);
  cluster.per_node = 1;  // no tensor parallelism
  cluster.memory_bytes = 40e9;
  bool found = false;
  for (const auto& plan : plan_layouts(job, cluster)) {
    if (!plan.fits || !plan.layout.offload_activations) continue;
    Layout kept = plan.layout;
    kept.offload_activations = false;
    found = found || !plan_layout(job, cluster, kept).fits;
  }
  EXPECT_TRUE(found);
}

TEST(Layouts, that_no_gpu_holds_are_still_listed_smallest_first) {
  const TrainingJob job{.shape = kGpt3, .batch = 8, .tokens = 1e9};
  const auto plans = plan_layouts(job, nodes_of_a100(8));
  ASSERT_GT(plans.size(), 1U);
  EXPECT_FALSE(plans.front().fits);
  EXPECT_LE(plans[0].memory.gpu(), plans[1].memory.gpu());
}

/// GPT-2 medium's shape on one node, of which every replica computes two sequences.
constexpr TransformerShape kSmall{24, 1024, 16, 1024, 50304};
TrainingJob small_job() { return {.shape = kSmall, .batch = 16, .tokens = 1e9, .overlap = 0.6, .contention = 0}; }

TEST(Layouts, accumulation_hides_gradients_behind_the_last_micro_batch_alone) {
  auto cluster = nodes_of_a100(8);
  cluster.within = {0, 1 / 50e9};
  const auto job = small_job();
  const double exchange_s = 2 * parameters_of(kSmall) * 2 * 7 / 8 / 50e9;
  const auto once = plan_layout(job, cluster, {.data = 8, .micro_batch = 2, .micro_batches = 1});
  const auto twice = plan_layout(job, cluster, {.data = 8, .micro_batch = 1, .micro_batches = 2});
  ASSERT_DOUBLE_EQ(once.compute_s, twice.compute_s);
  const double behind_s = 0.6 * 2 / 3 * once.compute_s;
  ASSERT_GT(exchange_s, behind_s);
  EXPECT_NEAR(once.step_s, once.compute_s + exchange_s - behind_s, 1e-9);
  EXPECT_NEAR(twice.step_s, twice.compute_s + exchange_s - behind_s / 2, 1e-9);
  // Twice the batch in as many micro-batches again: the exchange is paid once for it.
  auto larger = job;
  larger.batch = 32;
  const auto accumulated = plan_layout(larger, cluster, {.data = 8, .micro_batch = 2, .micro_batches = 2});
  EXPECT_NEAR(accumulated.step_s, 2 * once.compute_s + exchange_s - behind_s, 1e-9);
}

TEST(Layouts, from_stage_2_on_exchange_gradients_of_every_micro_batch) {
  auto cluster = nodes_of_a100(8);
  cluster.within = {0, 1 / 50e9};
  auto job = small_job();
  job.overlap = 0;
  const double scatter_s = 2 * parameters_of(kSmall) * 7 / 8 / 50e9;
  const auto second = plan_layout(job, cluster, {.data = 8, .zero = 2, .micro_batch = 1, .micro_batches = 2});
  EXPECT_NEAR(second.communication_s, 3 * scatter_s, 1e-9) << "two reduce_scatters, one all_gather";
  const auto third = plan_layout(job, cluster, {.data = 8, .zero = 3, .micro_batch = 1, .micro_batches = 2});
  EXPECT_NEAR(third.communication_s, 6 * scatter_s, 1e-9) << "parameters are gathered forward and backward";
}

TEST(Layouts, gather_parameters_at_their_own_size_and_over_nodes_as_all_reduces_are) {
  auto cluster = nodes_of_a100(8);
  cluster.per_node = 4;
  cluster.within = {0, 1 / 50e9};
  cluster.between = {0, 1 / 10e9};
  auto job = small_job();
  job.overlap = 0;
  const auto half_s = [&](double bytes) {
    return collectives::hierarchical_cost(collectives::Collective::all_reduce, bytes, 8, 4, cluster.within,
                                          cluster.between) /
           2;
  };
  const double parameters = parameters_of(kSmall);
  job.compression = Compression::none;  // gradients of 4 bytes, parameters of 2
  const auto communication_s = [&](int zero) {
    return plan_layout(job, cluster, {.data = 8, .zero = zero, .micro_batch = 1}).communication_s;
  };
  EXPECT_NEAR(communication_s(0), 2 * half_s(4 * parameters), 1e-9);
  EXPECT_NEAR(communication_s(1), half_s(4 * parameters) + half_s(2 * parameters), 1e-9);
  EXPECT_NEAR(communication_s(3), half_s(4 * parameters) + 2 * half_s(2 * parameters), 1e-9);
  job.compression = Compression::power_sgd;
  cluster.gpus = 8;
  job.batch = 8;
  for (const auto& plan : plan_layouts(job, cluster)) EXPECT_EQ(plan.layout.zero, 0) << "it multiplies whole gradients";
}

TEST(Layouts, compression_shortens_the_exchange_and_power_sgd_computes_for_it) {
  auto cluster = nodes_of_a100(8);
  cluster.within = {0, 1 / 10e9};
  cluster.memory_bandwidth = 2e12;
  auto job = small_job();
  job.overlap = 0;
  const Layout layout{.data = 8, .micro_batch = 2};
  const auto step_s = [&](Compression compression) {
    job.compression = compression;
    return plan_layout(job, cluster, layout).step_s;
  };
  const double parameters = parameters_of(kSmall);
  const double plain_s = 4 * parameters * 2 * 7 / 8 / 10e9;
  const double plain = step_s(Compression::none);
  EXPECT_NEAR(plain - step_s(Compression::half), plain_s / 2, 1e-9);
  // Rank 4 of 1024: 8 / 1024 of the bytes; nine passes in 32 bits over the gradients at 2 TB/s.
  EXPECT_NEAR(plain - step_s(Compression::power_sgd), plain_s * (1 - 8.0 / 1024) - 9 * 4 * parameters / 2e12, 1e-9);
  const auto thin = plan_layout(job, cluster, layout);
  EXPECT_NEAR(thin.compression_s, 9 * 4 * parameters / 2e12, 1e-12);
  job.compression = Compression::none;
  EXPECT_NEAR(thin.memory.gradients - plan_layout(job, cluster, layout).memory.gradients, 4 * parameters, 1)
      << "the error that the next step adds";
}

TEST(Layouts, in_32_bits_hold_and_send_twice_as_much) {
  auto job = small_job();
  const Layout layout{.data = 4, .tensor = 2, .micro_batch = 2, .micro_batches = 2};
  const auto cluster = nodes_of_a100(8);
  const auto narrow = plan_layout(job, cluster, layout);
  job.numbers.precision = Precision::fp32;
  const auto wide = plan_layout(job, cluster, layout);
  EXPECT_DOUBLE_EQ(wide.memory.parameters, 2 * narrow.memory.parameters);
  EXPECT_GT(wide.memory.activations, 1.8 * narrow.memory.activations) << "all but dropout's masks";
  EXPECT_LT(wide.memory.activations, 2 * narrow.memory.activations);
  EXPECT_GT(wide.communication_s, narrow.communication_s) << "activations between parts of a layer";
}

}  // namespace
}  // namespace warpmark::validate
