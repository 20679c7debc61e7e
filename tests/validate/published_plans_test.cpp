// Published configurations (tests/data/plan/*.csv, each with its source): parameters within 1 %, memory within 10 % of
// documented calculators, runs that were published fit, and take what they took at their published utilization within
// 15 %.
#include <gtest/gtest.h>

#include <cmath>

#include "base/csv.h"
#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "device/datasheet.h"
#include "validate/scaling/inference_plan.h"
#include "validate/scaling/training_plan.h"

namespace warpmark::validate {
namespace {

using Row = std::vector<std::string>;

/// Rows under the header; lines of '#' are notes.
std::vector<Row> rows_of(const std::string& name) {
  const std::string path = std::string(WARPMARK_SOURCE_DIR) + "/tests/data/plan/" + name;
  const auto text = read_file(path);
  EXPECT_TRUE(text.ok()) << path;
  std::vector<Row> rows;
  auto parsed = parse_csv(*text, ',', name);
  for (auto& row : *parsed) {
    if (!row.front().starts_with("#")) rows.push_back(std::move(row));
  }
  rows.erase(rows.begin());
  return rows;
}

double number(const std::string& text) { return parse_number(text).value(); }

Cluster cluster_of(const std::string& gpu, int gpus) {
  const auto sheets = device::built_in_datasheets();
  const auto* sheet = device::find_datasheet(sheets, gpu);
  Cluster cluster{.gpu = gpu, .gpus = gpus, .memory_bytes = device::visible_memory(*sheet)};
  cluster.peak_flops = sheet->peak_rate.at("f16"), cluster.memory_bandwidth = sheet->memory_bandwidth;
  cluster.within = {5e-6, 1 / 250e9}, cluster.between = {14e-6, 1 / 25e9};
  return cluster;
}

PlannedLayout asked(const TrainingJob& job, const Cluster& cluster, const std::string& layout) {
  const auto plans = plan_layouts(job, cluster, parse_layout(layout).value());
  EXPECT_FALSE(plans.empty()) << layout;
  return plans.empty() ? PlannedLayout{} : plans.front();
}

TEST(Published, parameter_counts_are_met_within_1_percent) {
  for (const auto& row : rows_of("parameters.csv")) {
    const auto counts = parameters_of(known_transformer(row[0]).value());
    EXPECT_NEAR(counts.total() / number(row[1]), 1, 0.01) << row[0];
    if (!row[2].empty()) {
      EXPECT_NEAR(counts.active() / number(row[2]), 1, 0.02) << row[0];
    }
  }
}

TEST(Published, runs_fit_and_take_as_long_as_they_took) {
  for (const auto& row : rows_of("runs.csv")) {
    const double sequence = number(row[4]), gpus = number(row[5]);
    TrainingJob job{.model = {.layers = number(row[1]), .hidden = number(row[2]), .heads = number(row[3])}};
    job.model.vocabulary = 50368, job.model.positions = sequence;
    job.sequence = sequence, job.batch = gpus * number(row[6]) * number(row[7]), job.tokens = 1e9;
    auto cluster = cluster_of(row[0], static_cast<int>(gpus));
    const std::string what = row[0] + " of " + row[11] + " at " + row[4];
    EXPECT_NEAR(parameters_of(job.model).total() / number(row[11]), 1, 0.001) << what;
    const std::string layout =
        "zero=3,tp=1,pp=1,cp=1,shard=" + row[5] + ",offload=none,mb=" + row[6] + ",recompute=" + row[8];
    const auto modelled = asked(job, cluster, layout);
    EXPECT_TRUE(modelled.fits) << what << ": " << modelled.memory.gpu() * 1e-9 << " GB of "
                               << cluster.memory_bytes * 1e-9;
    cluster.mfu = number(row[9]) / 100;
    EXPECT_NEAR(asked(job, cluster, layout).tokens_per_s / gpus / number(row[10]), 1, 0.05) << what;
    EXPECT_GE(modelled.largest_micro_batch == 0 ? largest_micro_batch(job, cluster, modelled.layout) : 0,
              number(row[6]));
  }
}

TEST(Published, megatron_runs_fit_and_take_as_long_as_they_took) {
  for (const auto& row : rows_of("megatron.csv")) {
    TrainingJob job{.model = {.layers = number(row[1]), .hidden = number(row[2]), .heads = number(row[3])}};
    job.model.vocabulary = 51200, job.model.positions = job.sequence = 2048;
    job.batch = number(row[4]), job.tokens = 1e9, job.numbers.flash = false;
    auto cluster = cluster_of("a100-sxm-80gb", static_cast<int>(number(row[5])));
    const std::string layout = row[6] + ",zero=0,cp=1,offload=none";
    const auto modelled = asked(job, cluster, layout);
    EXPECT_TRUE(modelled.fits) << row[6] << ": " << modelled.memory.gpu() * 1e-9 << " GB";
    if (!row[8].empty()) {
      cluster.mfu = number(row[7]) / 100;
      EXPECT_NEAR(asked(job, cluster, layout).step_s / number(row[8]), 1, 0.05) << row[6];
    } else {
      // At the default share of kernels bubble and communication leave about the rate of the table.
      cluster.kernel_share = 0.52, cluster.mfu = 0;
      const auto plan = asked(job, cluster, layout);
      EXPECT_NEAR(plan.hfu * cluster.peak_flops / (number(row[9]) * 1e12), 1, 0.25) << row[6];
    }
  }
}

TEST(Published, memory_is_that_of_documented_calculators) {
  for (const auto& row : rows_of("memory.csv")) {
    TrainingNumbers numbers{.wide_gradients = row[5] == "32", .flash = row[6] == "yes"};
    const auto request = parse_layout(row[4]).value();
    Layout layout{.data = request.data.value_or(1), .tensor = request.tensor.value_or(1)};
    layout.zero = request.zero.value_or(0), layout.micro_batch = request.micro_batch.value_or(1);
    layout.offload = request.offload.value_or(false);
    layout.offload_parameters = request.offload_parameters.value_or(false);
    layout.recompute = request.recompute.value_or(Recompute::none);
    layout.sequence_parallel = request.sequence_parallel.value_or(true);
    const auto memory = row[3].empty() ? state_memory(number(row[2]), layout, layout.shards(), numbers)
                                       : memory_of(known_transformer(row[2]).value(), number(row[3]), layout, numbers);
    const double found = row[1] == "states"        ? memory.states()
                         : row[1] == "activations" ? memory.activations
                         : row[1] == "logits"      ? memory.logits
                         : row[1] == "gathered"    ? memory.gathered
                                                   : memory.host;
    EXPECT_NEAR(found / number(row[7]), 1, 0.1) << row[0] << " " << row[1] << " " << row[2] << " " << row[4];
  }
}

TEST(Published, layouts_can_be_planned_that_divide_unevenly) {
  // BLOOM: 70 layers on 12 stages, batch 2048; Llama 3 405B: 126 layers on 16, with optimizer
  // states and gradients split (section 3.3.2).
  TrainingJob bloom{.model = known_transformer("bloom-176b").value(), .sequence = 2048, .batch = 2048, .tokens = 366e9};
  const auto trained = asked(bloom, cluster_of("a100-sxm-80gb", 384), "tp=4,pp=12,dp=8,mb=2,zero=1,recompute=full");
  EXPECT_TRUE(trained.fits) << trained.memory.gpu() * 1e-9;
  EXPECT_NEAR(trained.bubble_s / (trained.bubble_s + trained.compute_s), 11.0 / (128 + 11), 1e-9);
  TrainingJob llama{
      .model = known_transformer("llama3-405b").value(), .sequence = 8192, .batch = 2048, .tokens = 15.6e12};
  auto cluster = cluster_of("h100-sxm", 16384);
  const std::string layout = "tp=8,pp=16,dp=128,mb=1,zero=2,recompute=none";
  const auto plan = asked(llama, cluster, layout + ",vp=1,offload=none");
  EXPECT_TRUE(plan.fits) << plan.memory.gpu() * 1e-9;
  const auto interleaved = asked(llama, cluster, layout + ",vp=8,offload=none");
  EXPECT_NEAR(interleaved.bubble_s / plan.bubble_s, (15.0 / 128) / (15.0 / 16), 1e-9) << "divided by the parts";
  EXPECT_GT(interleaved.memory.activations, plan.memory.activations);
  // 30.84 M GPU hours of the model card, at 400 TFLOP/s of section 3.3.2.
  cluster.mfu = 400 / 989.4;
  EXPECT_NEAR(asked(llama, cluster, layout).hours * 16384 / 30.84e6, 1, 0.15);
  // The same at 131072 tokens: 16 GPUs share a sequence.
  llama.sequence = 131072, llama.batch = 128;
  EXPECT_TRUE(asked(llama, cluster, "tp=8,cp=16,pp=16,dp=8,mb=1,zero=1,recompute=none").fits);
}

TEST(Published, days_of_narayanan_are_met_at_their_rate_with_recomputation) {
  // Section 5.1: GPT-3 on 1024 A100 at 140 TFLOP/s in 34 days, 1 T parameters on 3072 at 163 in 84; rates count
  // recomputation.
  for (const auto& [name, gpus, tokens, rate, days] :
       {std::tuple{"gpt3-175b", 1024, 300e9, 140e12, 34.0}, {"gpt-1t", 3072, 450e9, 163e12, 84.0}}) {
    TrainingJob job{.model = known_transformer(name).value(), .sequence = 2048, .batch = 1536, .tokens = tokens};
    const auto flops = step_flops(job, Recompute::full);
    EXPECT_NEAR(flops.hardware / (rate * gpus) * tokens / (job.batch * job.sequence) / 86400 / days, 1, 0.05) << name;
  }
}

TEST(Published, flops_are_those_of_the_equation_with_attention_and_vocabulary) {
  // 96 B s l h^2 (1 + s / 6h + V / 16 l h), with full recomputation, of all but the output layer.
  const auto model = known_transformer("gpt3-175b").value();
  TrainingJob job{.model = model, .sequence = 2048, .batch = 1};
  const double l = 96, h = 12288, s = 2048, v = 51200;
  EXPECT_NEAR(step_flops(job, Recompute::full).hardware, 96 * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h)),
              1e12);
  // PaLM, appendix B: 6 N + 12 l s h a token, N without what is only looked up; causal: half of attention.
  const double palm = 6 * (12 * l * h * h + v * h) + 12 * l * s * h;
  EXPECT_NEAR(step_flops(job, Recompute::none).model / s / palm, 1, 1e-12);
  job.numbers.causal_flops = true;
  EXPECT_NEAR(step_flops(job, Recompute::none).model / s, palm - 6 * l * s * h, 1);
}

TEST(Published, zero_offload_trains_13_billion_parameters_on_one_v100) {
  const TrainingJob job{.model = known_transformer("opt-13b").value(), .sequence = 1024, .batch = 8, .tokens = 1e9};
  const auto cluster = cluster_of("v100-sxm2-32gb", 1);
  const auto plan = asked(job, cluster, "offload=state,recompute=full,mb=1");
  EXPECT_TRUE(plan.fits) << plan.memory.gpu() * 1e-9;
  EXPECT_GT(plan.optimizer_s, 28 * 12.8e9 / 200e9) << "Adam on the host is bound by its memory";
}

// Rajbhandari et al., "ZeRO-Infinity" (SC 2021), figure 1 and table 1: with parameters and state in host memory a node
// of 16 V100s (1.5 TB) trains some 70 to 100 billion parameters; with 3D parallelism alone 20 billion.
TEST(Published, zero_infinity_trains_70_billion_parameters_on_one_node) {
  TrainingJob job{.model = known_transformer("llama2-70b").value(), .sequence = 1024, .batch = 64, .tokens = 1e9};
  auto cluster = cluster_of("v100-sxm2-32gb", 16);
  cluster.host_memory_bytes = 1.5e12 / 16;
  EXPECT_FALSE(asked(job, cluster, "zero=3,offload=none").fits);
  const auto plan = asked(job, cluster, "zero=3,tp=1,pp=1,recompute=full,mb=1,offload=state+parameters");
  EXPECT_TRUE(plan.fits) << plan.memory.gpu() * 1e-9 << " " << plan.memory.host * 1e-9;
  EXPECT_EQ(plan.memory.parameters, 0);
  EXPECT_EQ(parse_layout("offload=parameters")->zero, 3) << "other stages keep them on the GPU";
  EXPECT_FALSE(parse_layout("zero=1,offload=parameters").ok());
  EXPECT_NEAR(plan.memory.host, 18 * 68.98e9 / 16, 0.02 * plan.memory.host) << "DeepSpeed, memory.rst: 18 a parameter";
  cluster.host_link = 1e9;
  const auto slow = asked(job, cluster, "zero=3,tp=1,pp=1,recompute=full,mb=1,offload=state+parameters");
  const auto there = asked(job, cluster, "zero=3,tp=1,pp=1,recompute=full,mb=1,offload=state");
  EXPECT_GT(slow.communication_s, there.communication_s) << "parameters come over the host's link in each pass";
}

// Mistral 7B sees 4096 tokens, and every other layer of Gemma 2.
TEST(Published, sliding_windows_bound_attention_and_cache) {
  const auto mistral = known_transformer("mistral-7b").value();
  EXPECT_DOUBLE_EQ(seen_tokens(mistral, 32768), 32 * 4096.0);
  EXPECT_DOUBLE_EQ(seen_tokens(mistral, 2048), 32 * 2048.0);
  const auto gemma = known_transformer("gemma2-9b").value();
  EXPECT_DOUBLE_EQ(seen_tokens(gemma, 8192), 21 * 4096.0 + 21 * 8192.0);
  auto whole = mistral;
  whole.window = 0;
  const auto bounded = forward_flops(mistral, 32768, 32768), full = forward_flops(whole, 32768, 32768);
  EXPECT_DOUBLE_EQ(bounded.attention, full.attention / 8);
  EXPECT_DOUBLE_EQ(bounded.products, full.products);
  const auto serving = [](const Transformer& model) {
    return plan_serving({.model = model, .context = 32768, .requests = 8}, 1, 80e9, 3e12).front().cache;
  };
  EXPECT_DOUBLE_EQ(serving(mistral), serving(whole) / 8);
  const auto of_config = [](const char* text) {
    return transformer_of_config(parse_json(std::string(R"({"num_hidden_layers":26,"hidden_size":1152,
      "num_attention_heads":4,"num_key_value_heads":1,"head_dim":256,"intermediate_size":6912,"vocab_size":262144,)") +
                                                text + "}",
                                            "config.json")
                                     .value(),
                                 "config.json")
        .value();
  };
  const auto gemma3 = of_config(R"("model_type":"gemma3_text","sliding_window":512,"sliding_window_pattern":6)");
  EXPECT_EQ(gemma3.window_layers, 22) << "four of 26 layers see everything";
  const auto usual = of_config(R"("model_type":"gemma3_text","sliding_window":512)");
  EXPECT_EQ(usual.window_layers, 22) << "the family's default";
  auto shortened = gemma3;
  shortened.layers = 10;
  EXPECT_FALSE(check_transformer(shortened).ok()) << "more layers with a window than layers";
  EXPECT_EQ(of_config(R"("model_type":"qwen2","sliding_window":4096,"use_sliding_window":false)").window, 0);
  EXPECT_EQ(of_config(R"("model_type":"gpt_oss","sliding_window":128,"layer_types":["sliding_attention",
    "full_attention","sliding_attention"])")
                .window_layers,
            2);
}

// Model card of Llama 4: Scout has 109 billion parameters, 0.9 billion of them in the vision encoder, and Maverick 400;
// a token uses 17 billion.
TEST(Published, llama4_has_a_shared_expert_and_wider_dense_layers) {
  const auto llama4 = [](const char* text) {
    const auto config = parse_json(std::string(R"({"model_type":"llama4_text","num_hidden_layers":48,"hidden_size":5120,
      "num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,"intermediate_size":8192,
      "intermediate_size_mlp":16384,"vocab_size":202048,"num_experts_per_tok":1,)") +
                                       text + "}",
                                   "config.json");
    return parameters_of(transformer_of_config(config.value(), "config.json").value());
  };
  const auto scout = llama4(R"("num_local_experts":16,"interleave_moe_layer_step":1)");
  const auto maverick = llama4(R"("num_local_experts":128,"interleave_moe_layer_step":2)");
  EXPECT_NEAR(scout.total(), 107.8e9, 1e9);
  EXPECT_NEAR(scout.active(), 17.2e9, 0.4e9);
  EXPECT_NEAR(maverick.total(), 400e9, 4e9);
  EXPECT_NEAR(maverick.active(), 17.2e9, 0.4e9);
}

TEST(Published, adapters_of_7b_fit_a_card_of_24_gb) {
  TrainingJob job{.model = known_transformer("llama2-7b").value(), .sequence = 2048, .batch = 16, .tokens = 1e8};
  const auto cluster = cluster_of("rtx-4090", 1);
  job.numbers.tuning = Tuning::qlora;
  const auto qlora = plan_layouts(job, cluster).front();
  EXPECT_TRUE(qlora.fits);
  EXPECT_NEAR(qlora.memory.parameters, 6.476e9 * 0.516 + 0.262e9 * 2 + 2 * lora_parameters(job.model, 16), 0.1e9);
  job.numbers.tuning = Tuning::lora;
  EXPECT_TRUE(plan_layouts(job, cluster).front().fits);
  job.numbers.tuning = Tuning::all;
  EXPECT_FALSE(asked(job, cluster, "offload=none").fits);
  // Rank r of a product of n x m has r (n + m) parameters: 40 M of Llama-2 7B's products at rank 16.
  EXPECT_NEAR(lora_parameters(job.model, 16) / 39976960, 1, 0.001);
}

TEST(Published, caches_and_weights_of_inference) {
  // Llama-3 70B keeps 327,680 bytes a token in 16 bits: 80 layers, 8 heads of 128, keys and values.
  const ServingJob job{.model = known_transformer("llama3-70b").value(), .context = 8192, .requests = 1};
  const auto one = plan_serving(job, 1, 80e9, 3.35e12);
  EXPECT_DOUBLE_EQ(one[0].cache, 327680.0 * 8192);
  EXPECT_NEAR(one[0].weights, 141.1e9, 0.2e9);
  EXPECT_FALSE(one[0].fits);
  EXPECT_EQ(one[1].most_requests, 1) << "70 GB of weights and what runs them leave little";
  EXPECT_GT(one[2].most_requests, 10);
  EXPECT_TRUE(plan_serving(job, 4, 85.5e9, 3.35e12)[0].fits);
  // DeepSeek-V3 keeps 576 numbers a layer, on every GPU.
  const ServingJob latent{.model = known_transformer("deepseek-v3").value(), .context = 1};
  EXPECT_DOUBLE_EQ(plan_serving(latent, 8, 150e9, 4.8e12)[0].cache, 61 * 576 * 2);
}

}  // namespace
}  // namespace warpmark::validate
