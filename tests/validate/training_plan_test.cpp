#include "validate/scaling/training_plan.h"

#include <gtest/gtest.h>

namespace warpmark::validate {
namespace {

constexpr double kTokens = 2048;

Transformer gpt(double layers, double hidden, double heads) {
  return {.layers = layers, .hidden = hidden, .heads = heads, .vocabulary = 51200, .positions = kTokens};
}
const Transformer kGpt3 = gpt(96, 12288, 96);

TEST(Activations, shrink_as_the_paper_on_recomputation_says) {
  // 5 a s / h is 80 for GPT-3 and 64 for the model of 530e9: selective recomputation saves 70 % and 65 % of 34 + 5 a s
  // / h.
  const TrainingNumbers scores{.flash = false};
  const auto layer = [&](const Transformer& model, int tensor, Recompute recompute) {
    return layer_activations(model, kTokens, {.tensor = tensor}, recompute, scores);
  };
  EXPECT_NEAR(1 - layer(kGpt3, 1, Recompute::selective) / layer(kGpt3, 1, Recompute::none), 0.70, 0.005);
  const Transformer large = gpt(105, 20480, 128);
  EXPECT_NEAR(1 - layer(large, 1, Recompute::selective) / layer(large, 1, Recompute::none), 0.65, 0.005);
  EXPECT_DOUBLE_EQ(layer(kGpt3, 8, Recompute::none) * 8, layer(kGpt3, 1, Recompute::none));
  EXPECT_DOUBLE_EQ(layer(kGpt3, 8, Recompute::full), 2.0 * 2048 * 12288);
  // FlashAttention keeps none of them, so that full recomputation always needs the least.
  EXPECT_DOUBLE_EQ(layer_activations(kGpt3, kTokens, {}, Recompute::none), layer(kGpt3, 1, Recompute::selective));
  const Transformer seven = gpt(32, 4096, 32);
  const auto memory = [&](Recompute recompute) { return memory_of(seven, 32768, {.recompute = recompute}).gpu(); };
  EXPECT_LT(memory(Recompute::full), memory(Recompute::selective));
}

TEST(Bubble, is_the_pipelines_fill_and_drain) {
  EXPECT_DOUBLE_EQ(bubble(1, 8), 0);
  EXPECT_DOUBLE_EQ(bubble(4, 1), 0.75);
  EXPECT_DOUBLE_EQ(bubble(4, 12), 0.2);
  EXPECT_DOUBLE_EQ(bubble(4, 4, 3), 0.2) << "divided by the parts of a stage";
}

TEST(Gradients, are_as_small_as_compression_makes_them) {
  EXPECT_DOUBLE_EQ(gradient_bytes(1e9, 1024, Compression::none), 4e9);
  EXPECT_DOUBLE_EQ(gradient_bytes(1e9, 1024, Compression::half), 2e9);
  EXPECT_DOUBLE_EQ(gradient_bytes(1e9, 1024, Compression::power_sgd, 4), 4e9 * 8 / 1024);
}

Cluster nodes_of_a100(int gpus) {
  Cluster cluster{.gpu = "a100-sxm-80gb",
                  .gpus = gpus,
                  .per_node = 8,
                  .memory_bytes = 80e9,
                  .peak_flops = 312e12,
                  .kernel_share = 0.4};
  cluster.within = {5e-6, 1 / 250e9};
  cluster.between = {15e-6, 1 / 25e9};
  cluster.dollars_per_hour = 2;
  return cluster;
}

TEST(Layouts, of_a_large_model_need_splitting_and_are_ranked) {
  const TrainingJob job{.model = kGpt3, .batch = 1536, .tokens = 300e9};
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
  const Transformer model = gpt(48, 6144, 48);
  const TrainingJob job{.model = model, .batch = 64, .tokens = 1e9};
  Layout kept{.data = 8, .zero = 3, .recompute = Recompute::full, .micro_batch = 4, .micro_batches = 2};
  Layout offloaded = kept;
  offloaded.offload_activations = true;
  const double layer = layer_activations(model, kTokens, {.micro_batch = 4}, Recompute::full);
  const auto before = memory_of(model, kTokens, kept), after = memory_of(model, kTokens, offloaded);
  EXPECT_NEAR(before.activations - after.activations, 46 * layer, 1) << "of 48 layers two stay";
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

TEST(Activations, that_leave_are_hidden_by_the_forward_pass_alone) {
  const Transformer model = gpt(48, 6144, 48);
  const TrainingJob job{.model = model, .batch = 32, .tokens = 1e9};
  const Layout offloaded{
      .data = 8, .zero = 3, .recompute = Recompute::full, .micro_batch = 4, .offload_activations = true};
  auto cluster = nodes_of_a100(8);
  const double compute_s = plan_layout(job, cluster, offloaded).compute_s;
  Layout kept = offloaded;
  kept.offload_activations = false;
  const auto flops = step_flops(job, Recompute::full);
  const double forward_s = compute_s * flops.model / flops.hardware / 3;
  const double one_way_s = 0.3 * compute_s;
  cluster.host_link = 46 * layer_activations(model, kTokens, {.micro_batch = 4}, Recompute::full) / one_way_s;
  const double added_s = plan_layout(job, cluster, offloaded).step_s - plan_layout(job, cluster, kept).step_s;
  ASSERT_LT(forward_s, one_way_s);
  EXPECT_NEAR(added_s, one_way_s - forward_s, 1e-6);
}

TEST(Activations, of_two_layers_do_not_leave_and_are_no_layout_of_their_own) {
  const Transformer model = gpt(2, 1024, 16);
  const TrainingJob job{.model = model, .batch = 8, .tokens = 1e9};
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
  const Transformer model = gpt(24, 2304, 24);
  const TrainingJob job{.model = model, .batch = 8, .tokens = 1e9};
  auto cluster = nodes_of_a100(8);
  const Layout layout{.data = 8, .offload = true, .recompute = Recompute::full};
  const double host = memory_of(model, kTokens, layout).host;
  cluster.host_memory_bytes = host;
  EXPECT_TRUE(plan_layout(job, cluster, layout).fits);
  cluster.host_memory_bytes = 0.99 * host;
  const auto plan = plan_layout(job, cluster, layout);
  EXPECT_FALSE(plan.fits);
  EXPECT_TRUE(plan.fits_gpu);
  EXPECT_FALSE(plan.fits_host);
}

TEST(Activations, that_fit_only_in_host_memory_make_layouts_possible) {
  const Transformer model = gpt(32, 4096, 32);
  const TrainingJob job{.model = model, .sequence = 8192, .batch = 8, .tokens = 1e9};
  auto cluster = nodes_of_a100(8);
  cluster.per_node = 1;  // no tensor parallelism
  cluster.memory_bytes = 40e9;
  bool found = false;
  for (const auto& plan : plan_layouts(job, cluster, {.offload_activations = true})) {
    if (!plan.fits) continue;
    Layout kept = plan.layout;
    kept.offload_activations = false;
    found = found || !plan_layout(job, cluster, kept).fits;
  }
  EXPECT_TRUE(found);
}

TEST(Layouts, that_no_gpu_holds_are_still_listed_smallest_first) {
  const TrainingJob job{.model = kGpt3, .batch = 8, .tokens = 1e9};
  const auto plans = plan_layouts(job, nodes_of_a100(8));
  ASSERT_GT(plans.size(), 1U);
  EXPECT_FALSE(plans.front().fits);
  EXPECT_LE(plans[0].memory.gpu(), plans[1].memory.gpu());
}

/// GPT-2 medium's shape on one node, of which every replica computes two sequences.
const Transformer kSmall{.layers = 24, .hidden = 1024, .heads = 16, .vocabulary = 50304, .positions = 1024};
const double kSmallParameters = parameters_of(kSmall).total();
TrainingJob small_job() {
  return {.model = kSmall, .sequence = 1024, .batch = 16, .tokens = 1e9, .overlap = 0.6, .contention = 0};
}

TEST(Layouts, accumulation_hides_gradients_behind_the_last_micro_batch_alone) {
  auto cluster = nodes_of_a100(8);
  cluster.within = {0, 1 / 50e9};
  const auto job = small_job();
  const double exchange_s = 2 * kSmallParameters * 2 * 7 / 8 / 50e9;
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
  const double scatter_s = 2 * kSmallParameters * 7 / 8 / 50e9;
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
  const double parameters = kSmallParameters;
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
  const double parameters = kSmallParameters;
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
