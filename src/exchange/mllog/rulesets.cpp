#include "exchange/mllog/rulesets.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace warpmark::exchange {
namespace {

constexpr std::array<std::string_view, 5> kRounds{"6.0", "5.1", "5.0", "4.1", "4.0"};

constexpr MlPerfBenchmark kBenchmarks[] = {
    {"bert", 10, 1},
    {"dlrm", 5, 1},
    {"dlrm_dcnv2", 10, 1},
    {"gpt3", 3, 1},
    {"maskrcnn", 5, 1},
    {"resnet", 5, 1},
    {"ssd", 5, 1},
    {"retinanet", 5, 1},
    {"unet3d", 40, 4},
    {"rnnt", 10, 1},
    {"stable_diffusion", 10, 1},
    {"gnn", 10, 1},
    {"rgat", 10, 1},
    {"llama2_70b_lora", 10, 1},
    {"flux1", 10, 1},
    {"llama31_405b", 3, 1, 46080},
    {"llama31_8b", 10, 1},
    {"gpt_oss_20b", 10, 1},
    {"deepseekv3_671b", 3, 1},
    {"qwen35_397b_grpo", 3, 1},
    {"cosmoflow", 10, 1},
    {"deepcam", 5, 1},
    {"oc20", 5, 1},
    {"openfold", 10, 1},
};

/// Rules are separated by ';'. A key stands for exactly one; '+key' for one at least; '?key' for any number. Then what
/// its value must be: '= a|b', '> x', '>= x', '!empty', or a name of ValueRule with its bound; or '@' and the metadata
/// of which one must be there.
constexpr std::string_view kCommon =
    "submission_division = closed|open; +cache_clear; +init_start; init_stop; run_start; run_stop @ status;"
    "?block_start @ epoch_count|samples_count; ?block_stop @ first_epoch_num|samples_count;"
    "?epoch_start @ epoch_num|samples_count; ?epoch_stop @ epoch_num|samples_count;"
    "?eval_start @ epoch_num|samples_count; ?eval_stop @ epoch_num|samples_count;"
    "+eval_accuracy @ epoch_num|samples_count; train_samples !empty; eval_samples !empty";
constexpr std::string_view kSubmitter = "submission_org !empty; submission_platform !empty";

/// What rounds have beyond that, for all benchmarks.
constexpr std::pair<std::string_view, std::string_view> kOfRounds[] = {
    {"4.0", "submission_status = cloud|onprem|preview|research"},
    {"4.0 4.1", "?epoch_start @ epoch_num; ?epoch_stop @ epoch_num"},
    {"4.0 4.1 5.1 6.0", kSubmitter},
    {"6.0",
     "?lowest_numerical_precision_in_linear = fp64|fp32|tf32|fp16|fp8|nvfp4|mxfp4|bfloat16|Graphcore FLOAT "
     "16.16|int8|uint8|int4|uint4;"
     "?lowest_numerical_precision_in_attn = fp64|fp32|tf32|fp16|fp8|nvfp4|mxfp4|bfloat16|Graphcore FLOAT "
     "16.16|int8|uint8|int4|uint4;"
     "?lowest_numerical_precision_in_comm = fp64|fp32|tf32|fp16|fp8|nvfp4|mxfp4|bfloat16|Graphcore FLOAT "
     "16.16|int8|uint8|int4|uint4;"
     "?tensor_parallelism multiple 1; ?pipeline_parallelism multiple 1; ?context_parallelism multiple 1;"
     "?expert_parallelism multiple 1; ?micro_batch_size multiple 1"},
};

constexpr std::string_view kResnetLars =
    "lars_opt_base_learning_rate; lars_opt_end_learning_rate = 0.0001; lars_opt_learning_rate_decay_poly_power = 2;"
    "lars_opt_learning_rate_decay_steps; lars_epsilon = 0; lars_opt_learning_rate_warmup_epochs; lars_opt_momentum;"
    "lars_opt_weight_decay power_of_two 0.0001";
constexpr std::string_view kResnetSgd =
    "sgd_opt_base_learning_rate multiple 0.001; sgd_opt_end_learning_rate = 0.0001;"
    "sgd_opt_learning_rate_decay_poly_power; sgd_opt_learning_rate_decay_steps;"
    "sgd_opt_weight_decay power_of_two 0.0001; sgd_opt_momentum; model_bn_span; opt_learning_rate_warmup_epochs";

constexpr std::string_view kDiffusion =
    "+global_batch_size >= 0; opt_name = adamw; opt_adamw_beta_1 = 0.9; opt_adamw_beta_2 = 0.999;"
    "opt_adamw_epsilon = 1e-08; opt_adamw_weight_decay = 0.01; opt_base_learning_rate >= 0;"
    "opt_learning_rate_warmup_steps >= 0";
constexpr std::string_view kGpt3 =
    "global_batch_size; max_sequence_length = 2048; opt_name = adam; opt_base_learning_rate = 2e-5|3e-5;"
    "opt_end_learning_rate; opt_learning_rate_decay_steps; opt_learning_rate_warmup_steps;"
    "opt_learning_rate_decay_schedule = cosine with linear warmup; opt_adam_beta_1 = 0.9; opt_adam_beta_2 = 0.95;"
    "opt_adam_epsilon = 1e-8; opt_gradient_clip_norm = 1; gradient_accumulation_steps > 0; eval_samples;"
    "+eval_accuracy @ epoch_num; init_checkpoint_step > 0";
constexpr std::string_view kBoxes =
    "global_batch_size; opt_name = adam; opt_base_learning_rate >= 0; opt_weight_decay = 0;"
    "opt_learning_rate_warmup_epochs >= 0; opt_learning_rate_warmup_factor >= 0; +eval_accuracy @ epoch_num";
constexpr std::string_view kGraph =
    "global_batch_size > 0; opt_name = adam; opt_base_learning_rate >= 0; +eval_accuracy @ epoch_num";
/// What the large language models have in common; then with the values of the closed division.
constexpr std::string_view kPretrainingOpen =
    "global_batch_size; opt_name = adamw; opt_base_learning_rate; opt_learning_rate_warmup_steps;"
    "opt_learning_rate_decay_steps; opt_learning_rate_decay_schedule; opt_adamw_beta_1; opt_adamw_beta_2;"
    "opt_adamw_epsilon; opt_adamw_weight_decay; opt_gradient_clip_norm; gradient_accumulation_steps > 0";
constexpr std::string_view kPretraining =
    "global_batch_size; opt_name = adamw; opt_base_learning_rate; opt_learning_rate_warmup_steps;"
    "opt_learning_rate_decay_steps; opt_learning_rate_decay_schedule = cosine with linear warmup;"
    "opt_adamw_beta_1 = 0.9; opt_adamw_beta_2 = 0.95; opt_adamw_epsilon = 1e-05; opt_adamw_weight_decay = 0.1;"
    "opt_gradient_clip_norm = 1; gradient_accumulation_steps > 0; +eval_accuracy @ samples_count";
constexpr std::string_view kLlama8b =
    "max_sequence_length = 8192; opt_end_learning_rate; opt_learning_rate_decay_steps minus_warmup 1200000;"
    "eval_samples = 1024; max_steps = 1200000";
constexpr std::string_view kLlama405b =
    "max_sequence_length = 8192; opt_base_learning_rate scaled 8e-5; opt_end_learning_rate; eval_samples = 5760;"
    "init_checkpoint_step = 0";
constexpr std::string_view kLlama405bSteps =
    "max_sequence_length = 8192; opt_base_learning_rate scaled 8e-5; opt_end_learning_rate; eval_samples = 5760;"
    "init_checkpoint_step = 0; opt_learning_rate_decay_steps scaled_minus_warmup 1200000";
constexpr std::string_view kEpochs = "+eval_accuracy @ epoch_num";
constexpr std::string_view kSamples = "+eval_accuracy @ samples_count";

constexpr QualityRange kRatio{.below = 1};

constexpr BenchmarkRules kRules[] = {
    {"4.0 4.1 5.0",
     "closed",
     "bert",
     kEpochs,
     "global_batch_size; opt_base_learning_rate; opt_lamb_epsilon; opt_learning_rate_training_steps;"
     "opt_learning_rate_warmup_steps; num_warmup_steps; start_warmup_step; opt_lamb_beta_1; opt_lamb_beta_2;"
     "opt_lamb_weight_decay_rate",
     {.least = 0.72, .below = 1}},
    {"4.0 4.1 5.0 5.1 6.0",
     "closed",
     "dlrm_dcnv2",
     kEpochs,
     "global_batch_size; opt_name = adagrad; opt_base_learning_rate; opt_adagrad_learning_rate_decay = 0;"
     "opt_weight_decay = 0; opt_adagrad_initial_accumulator_value = 0; opt_adagrad_epsilon = 1e-8;"
     "opt_learning_rate_warmup_steps = 0; opt_learning_rate_decay_start_step = 0; opt_learning_rate_decay_steps = 0;"
     "eval_samples = 89137319",
     {.least = 0.80275, .most = 1}},
    {"4.0 4.1", "closed", "gnn", kEpochs, kGraph, {.least = 0.72, .below = 1}},
    {"5.0 5.1", "closed", "rgat", kEpochs, kGraph, {.least = 0.72, .below = 1}},
    {"4.0 4.1", "closed", "gpt3", kEpochs, kGpt3, {.above = 2.6, .most = 2.69}},
    {"4.0 4.1 5.0 5.1 6.0",
     "closed",
     "llama2_70b_lora",
     kSamples,
     "global_batch_size; opt_base_learning_rate; opt_learning_rate_training_steps; opt_gradient_clip_norm;"
     "opt_adamw_weight_decay; gradient_accumulation_steps; lora_alpha; lora_rank = 16",
     {.above = 0, .most = 0.925}},
    {"4.0", "closed", "resnet", kEpochs, "global_batch_size > 0; opt_name = sgd|lars", {.least = 0.759, .below = 1}},
    {"4.0 4.1", "closed", "ssd", kEpochs, kBoxes, {.least = 0.34, .below = 1}},
    {"5.0 5.1", "closed", "retinanet", kEpochs, kBoxes, {.least = 0.34, .below = 1}},
    {"4.0 4.1 5.0",
     "closed",
     "stable_diffusion",
     "",
     kDiffusion,
     {.least = 0, .most = 90},
     QualityRange{.least = 0.15, .most = 1}},
    {"4.0",
     "closed",
     "unet3d",
     kEpochs,
     "global_batch_size; opt_name; opt_base_learning_rate; opt_learning_rate_warmup_epochs >= 0;"
     "opt_learning_rate_decay_boundary_epochs; opt_learning_rate_decay_factor; opt_weight_decay; train_samples = 168;"
     "eval_samples = 42; seed; opt_momentum; oversampling; training_input_shape; validation_input_shape;"
     "validation_overlap",
     {.least = 0.908}},
    {"5.0", "closed", "llama31_405b", kPretraining, kLlama405b, {.above = 0, .most = 5.6}},
    {"5.1 6.0", "closed", "llama31_405b", kPretraining, kLlama405bSteps, {.above = 0, .most = 5.6}},
    {"5.1 6.0", "closed", "llama31_8b", kPretraining, kLlama8b, {.above = 0, .most = 3.3}},
    {"5.1 6.0",
     "closed",
     "flux1",
     kSamples,
     "+global_batch_size >= 0; evaluation_frequency = 262144; opt_name = adamw; opt_adamw_beta_1 = 0.9;"
     "opt_adamw_beta_2 = 0.95; opt_adamw_epsilon = 1e-08; opt_adamw_weight_decay = 0.1; opt_base_learning_rate >= 0;"
     "opt_learning_rate_warmup_steps >= 0; opt_gradient_clip_norm = 1",
     {.above = 0, .most = 0.586}},
    {"6.0", "closed", "gpt_oss_20b", kPretraining, kLlama8b, {.above = 0, .most = 3.34}},
    {"6.0",
     "closed",
     "deepseekv3_671b",
     kPretraining,
     "global_batch_size >= 15360; max_sequence_length = 4096; opt_base_learning_rate scaled_root 2.4e-05; max_steps;"
     "opt_learning_rate_warmup_steps = 4; opt_learning_rate_decay_steps minus_warmup 12000; opt_adamw_epsilon = 1e-08;"
     "moe_aux_loss_coeff = 0.01; eval_samples = 1024",
     {.above = 0, .most = 3.6}},
    {"4.0 4.1 5.0", "open", "bert", kEpochs, "", kRatio},
    {"4.0 4.1 5.0 5.1 6.0", "open", "dlrm_dcnv2", kEpochs, "", {.most = 1}},
    {"4.0 4.1", "open", "gnn", kEpochs, "", kRatio},
    {"5.0 5.1", "open", "rgat", kEpochs, "", kRatio},
    {"4.0 4.1", "open", "gpt3", kEpochs, kGpt3, {.above = 2.6, .most = 2.69}},
    {"5.0 5.1", "open", "llama2_70b_lora", kEpochs, "", kRatio},
    {"6.0", "open", "llama2_70b_lora", kSamples, "", kRatio},
    {"4.0", "open", "resnet", kEpochs, "", kRatio},
    {"4.0 4.1", "open", "ssd", kEpochs, "", kRatio},
    {"5.0 5.1", "open", "retinanet", kEpochs, "", kRatio},
    {"4.0 4.1 5.0", "open", "stable_diffusion", "", "", {.least = 0}, QualityRange{.most = 1}},
    {"4.0", "open", "unet3d", kEpochs, "", kRatio},
    {"5.1", "open", "llama31_8b", kEpochs, "", kRatio},
    {"6.0", "open", "llama31_8b", kSamples, "", kRatio},
    {"5.0 5.1",
     "open",
     "llama31_405b",
     kPretrainingOpen,
     "max_sequence_length = 8192; opt_end_learning_rate; eval_samples = 5760; init_checkpoint_step = 0;"
     "+eval_accuracy @ epoch_num",
     {.above = 0, .most = 5.6}},
    {"6.0",
     "open",
     "llama31_405b",
     kPretrainingOpen,
     "max_sequence_length = 8192; opt_end_learning_rate; eval_samples = 5760; init_checkpoint_step = 0;"
     "+eval_accuracy @ samples_count",
     {.above = 0, .most = 5.6}},
    {"5.1 6.0",
     "open",
     "flux1",
     "",
     "+averaged_validation_loss @ samples_count",
     {.above = 0, .most = 0.586},
     {},
     "averaged_validation_loss"},
    {"6.0",
     "open",
     "gpt_oss_20b",
     kPretrainingOpen,
     "?global_batch_size; gradient_accumulation_steps; max_sequence_length = 8192; opt_end_learning_rate; eval_samples;"
     "max_steps;"
     "+eval_accuracy @ samples_count",
     {.above = 0, .most = 3.34}},
    {"6.0",
     "open",
     "deepseekv3_671b",
     kPretrainingOpen,
     "global_batch_size >= 15360; max_sequence_length = 4096; max_steps; moe_aux_loss_coeff; eval_samples = 1024;"
     "+eval_accuracy @ samples_count",
     {.above = 0, .most = 3.6}},
};

/// Takes the text before the separator off, without blanks around it.
std::string_view take_field(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const std::string_view field = trim(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return field;
}

double number_of(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

constexpr std::pair<std::string_view, ValueRule> kOperators[] = {
    {"!empty", ValueRule::not_empty},
    {"=", ValueRule::one_of},
    {">", ValueRule::above},
    {">=", ValueRule::at_least},
    {"multiple", ValueRule::multiple},
    {"power_of_two", ValueRule::power_of_two},
    {"scaled", ValueRule::scaled},
    {"scaled_root", ValueRule::scaled_root},
    {"minus_warmup", ValueRule::minus_warmup},
    {"scaled_minus_warmup", ValueRule::scaled_minus_warmup},
};

void add_rules(std::map<std::string_view, KeyRule>& rules, std::string_view text) {
  while (!text.empty()) {
    std::string_view item = take_field(text, ';');
    std::string_view key = take_field(item, ' ');
    KeyRule rule{.times = key.starts_with('+') ? Times::some : key.starts_with('?') ? Times::any : Times::one};
    if (rule.times != Times::one) key.remove_prefix(1);
    const std::string_view name = take_field(item, ' ');
    if (name == "@") {
      rule.metadata = trim(item);
    } else {
      for (const auto& [text_of, known] : kOperators) {
        if (text_of == name) rule.rule = known;
      }
      rule.values = trim(item);
      rule.bound = number_of(rule.values);
    }
    rules[key] = rule;
  }
}

bool names(std::string_view rounds, std::string_view round) {
  while (!rounds.empty()) {
    if (take_field(rounds, ' ') == round) return true;
  }
  return false;
}

}  // namespace

std::span<const std::string_view> mlperf_rounds() { return kRounds; }

const BenchmarkRules* benchmark_rules(std::string_view round, std::string_view division, std::string_view benchmark) {
  const auto found = std::find_if(std::begin(kRules), std::end(kRules), [&](const BenchmarkRules& rules) {
    return rules.division == division && rules.benchmark == benchmark && names(rules.rounds, round);
  });
  return found == std::end(kRules) ? nullptr : &*found;
}

std::map<std::string_view, KeyRule> key_rules(std::string_view round, std::string_view division,
                                              const BenchmarkRules* rules, std::string_view optimizer) {
  std::map<std::string_view, KeyRule> all;
  add_rules(all, kCommon);
  for (const auto& [rounds, text] : kOfRounds) {
    if (names(rounds, round)) add_rules(all, text);
  }
  if (division == "closed") add_rules(all, "gradient_accumulation_steps > 0");
  add_rules(all, "submission_benchmark");
  if (rules == nullptr) return all;
  add_rules(all, rules->base);
  add_rules(all, rules->keys);
  if (rules->benchmark == "resnet" && division == "closed") {
    add_rules(all, optimizer == "lars" ? kResnetLars : optimizer == "sgd" ? kResnetSgd : "");
  }
  return all;
}

const MlPerfBenchmark* mlperf_benchmark(std::string_view id) {
  const auto found = std::find_if(std::begin(kBenchmarks), std::end(kBenchmarks),
                                  [&](const MlPerfBenchmark& known) { return known.id == id; });
  return found == std::end(kBenchmarks) ? nullptr : &*found;
}

}  // namespace warpmark::exchange
