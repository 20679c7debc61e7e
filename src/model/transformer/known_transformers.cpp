// Sizes of published models. "HF x/y": config.json of that repository of huggingface.co; parameter counts that follow
// are held against the published ones by tests/data/plan.
#include <utility>
#include <vector>

#include "model/transformer/transformer.h"

namespace warpmark {
namespace {

/// Rotary positions, RMSNorm, a gated feed-forward layer, no bias: the shape that Llama made usual.
struct LlamaSizes {
  const char* name;
  const char* source;
  double layers, hidden, heads, kv_heads, ffn, vocabulary;
  bool tied = false;
  bool qkv_bias = false;
  double head_size = 0;
  double window = 0;
  double window_layers = 0;
};
constexpr LlamaSizes kLlamas[] = {
    {"llama-7b", "Touvron et al. 2023a, table 2", 32, 4096, 32, 32, 11008, 32000},
    {"llama-13b", "Touvron et al. 2023a, table 2", 40, 5120, 40, 40, 13824, 32000},
    {"llama-33b", "Touvron et al. 2023a, table 2", 60, 6656, 52, 52, 17920, 32000},
    {"llama-65b", "Touvron et al. 2023a, table 2", 80, 8192, 64, 64, 22016, 32000},
    {"llama2-7b", "HF meta-llama/Llama-2-7b-hf", 32, 4096, 32, 32, 11008, 32000},
    {"llama2-13b", "HF meta-llama/Llama-2-13b-hf", 40, 5120, 40, 40, 13824, 32000},
    {"llama2-70b", "HF meta-llama/Llama-2-70b-hf", 80, 8192, 64, 8, 28672, 32000},
    {"llama3-8b", "HF meta-llama/Meta-Llama-3-8B", 32, 4096, 32, 8, 14336, 128256},
    {"llama3-70b", "HF meta-llama/Meta-Llama-3-70B", 80, 8192, 64, 8, 28672, 128256},
    {"llama3-405b", "Grattafiori et al. 2024, table 3", 126, 16384, 128, 8, 53248, 128256},
    {"llama3.2-1b", "HF meta-llama/Llama-3.2-1B", 16, 2048, 32, 8, 8192, 128256, true},
    {"llama3.2-3b", "HF meta-llama/Llama-3.2-3B", 28, 3072, 24, 8, 8192, 128256, true},
    {"mistral-7b", "HF mistralai/Mistral-7B-v0.1", 32, 4096, 32, 8, 14336, 32000, false, false, 0, 4096, 32},
    {"qwen2.5-0.5b", "HF Qwen/Qwen2.5-0.5B", 24, 896, 14, 2, 4864, 151936, true, true},
    {"qwen2.5-1.5b", "HF Qwen/Qwen2.5-1.5B", 28, 1536, 12, 2, 8960, 151936, true, true},
    {"qwen2.5-7b", "HF Qwen/Qwen2.5-7B", 28, 3584, 28, 4, 18944, 152064, false, true},
    {"qwen2.5-14b", "HF Qwen/Qwen2.5-14B", 48, 5120, 40, 8, 13824, 152064, false, true},
    {"qwen2.5-32b", "HF Qwen/Qwen2.5-32B", 64, 5120, 40, 8, 27648, 152064, false, true},
    {"qwen2.5-72b", "HF Qwen/Qwen2.5-72B", 80, 8192, 64, 8, 29568, 152064, false, true},
    {"qwen3-8b", "HF Qwen/Qwen3-8B", 36, 4096, 32, 8, 12288, 151936, false, false, 128},
    {"qwen3-32b", "HF Qwen/Qwen3-32B", 64, 5120, 64, 8, 25600, 151936, false, false, 128},
    {"gemma-2b", "HF google/gemma-2b", 18, 2048, 8, 1, 16384, 256000, true, false, 256},
    {"gemma-7b", "HF google/gemma-7b", 28, 3072, 16, 16, 24576, 256000, true, false, 256},
    {"gemma2-9b", "HF google/gemma-2-9b", 42, 3584, 16, 8, 14336, 256000, true, false, 256, 4096, 21},
    {"gemma2-27b", "HF google/gemma-2-27b", 46, 4608, 32, 16, 36864, 256000, true, false, 128, 4096, 23},
    {"phi3-mini", "HF microsoft/Phi-3-mini-4k-instruct", 32, 3072, 32, 32, 8192, 32064},
    {"phi3-medium", "HF microsoft/Phi-3-medium-4k-instruct", 40, 5120, 40, 10, 17920, 32064},
};

/// LayerNorm, biases, a feed-forward layer of four times the width.
struct GptSizes {
  const char* name;
  const char* source;
  double layers, hidden, heads, vocabulary, positions;
  bool tied = true;
};
constexpr GptSizes kGpts[] = {
    {"gpt2", "HF openai-community/gpt2", 12, 768, 12, 50257, 1024},
    {"gpt2-medium", "HF openai-community/gpt2-medium", 24, 1024, 16, 50257, 1024},
    {"gpt2-large", "HF openai-community/gpt2-large", 36, 1280, 20, 50257, 1024},
    {"gpt2-xl", "HF openai-community/gpt2-xl", 48, 1600, 25, 50257, 1024},
    {"gpt3-175b", "Narayanan et al. 2021, table 1", 96, 12288, 96, 51200, 2048},
    {"gpt-530b", "Korthikanti et al. 2022, table 3", 105, 20480, 128, 51200, 2048},
    {"gpt-1t", "Narayanan et al. 2021, table 1", 128, 25600, 160, 51200, 2048},
    {"gpt-neox-20b", "HF EleutherAI/gpt-neox-20b", 44, 6144, 64, 50432, 0, false},
    {"pythia-6.9b", "HF EleutherAI/pythia-6.9b", 32, 4096, 32, 50432, 0, false},
    {"pythia-12b", "HF EleutherAI/pythia-12b", 36, 5120, 40, 50688, 0, false},
    {"opt-6.7b", "HF facebook/opt-6.7b", 32, 4096, 32, 50272, 2050},
    {"opt-13b", "HF facebook/opt-13b", 40, 5120, 40, 50272, 2050},
    {"opt-175b", "Zhang et al. 2022, table 1", 96, 12288, 96, 50272, 2050},
    {"bloom-7b1", "HF bigscience/bloom-7b1", 30, 4096, 32, 250880, 0},
    {"bloom-176b", "HF bigscience/bloom", 70, 14336, 112, 250880, 0},
};

/// What neither table can say.
std::vector<Transformer> others() {
  const Transformer llama{.gated = true, .tied = false, .bias = false};
  std::vector<Transformer> models;
  const auto add = [&](const char* name, const char* source, double layers, double hidden, double heads,
                       double kv_heads, double ffn, double vocabulary) -> Transformer& {
    Transformer& m = models.emplace_back(llama);
    m.name = name, m.source = source, m.layers = layers, m.hidden = hidden, m.heads = heads;
    m.kv_heads = kv_heads, m.ffn = ffn, m.vocabulary = vocabulary;
    return m;
  };
  auto& small = add("mixtral-8x7b", "HF mistralai/Mixtral-8x7B-v0.1", 32, 4096, 32, 8, 14336, 32000);
  small.experts = 8, small.active_experts = 2;
  auto& large = add("mixtral-8x22b", "HF mistralai/Mixtral-8x22B-v0.1", 56, 6144, 48, 8, 16384, 32768);
  large.experts = 8, large.active_experts = 2;
  auto& qwen = add("qwen3-30b-a3b", "HF Qwen/Qwen3-30B-A3B", 48, 2048, 32, 4, 6144, 151936);
  qwen.head_size = 128, qwen.experts = 128, qwen.active_experts = 8, qwen.expert_ffn = 768;
  auto& deepseek = add("deepseek-v3", "HF deepseek-ai/DeepSeek-V3", 61, 7168, 128, 128, 18432, 129280);
  deepseek.experts = 256, deepseek.active_experts = 8, deepseek.expert_ffn = 2048, deepseek.shared_ffn = 2048;
  deepseek.dense_layers = 3, deepseek.q_rank = 1536, deepseek.kv_rank = 512;
  deepseek.head_size = 128, deepseek.rope_size = 64, deepseek.value_size = 128;
  auto& falcon = add("falcon-7b", "HF tiiuae/falcon-7b", 32, 4544, 71, 1, 0, 65024);
  falcon.gated = false, falcon.tied = true;
  auto& falcon_40 = add("falcon-40b", "HF tiiuae/falcon-40b", 60, 8192, 128, 8, 0, 65024);
  falcon_40.gated = false, falcon_40.tied = true;
  return models;
}

std::vector<Transformer> all_known() {
  std::vector<Transformer> models;
  for (const auto& one : kLlamas) {
    Transformer& m = models.emplace_back();
    m.name = one.name, m.source = one.source, m.layers = one.layers, m.hidden = one.hidden, m.heads = one.heads;
    m.kv_heads = one.kv_heads, m.ffn = one.ffn, m.vocabulary = one.vocabulary, m.head_size = one.head_size;
    m.gated = true, m.tied = one.tied, m.bias = false, m.qkv_bias = one.qkv_bias;
    m.window = one.window, m.window_layers = one.window_layers;
  }
  for (const auto& one : kGpts) {
    Transformer& m = models.emplace_back();
    m.name = one.name, m.source = one.source, m.layers = one.layers, m.hidden = one.hidden, m.heads = one.heads;
    m.vocabulary = one.vocabulary, m.positions = one.positions, m.tied = one.tied;
  }
  for (auto& one : others()) models.push_back(std::move(one));
  return models;
}

}  // namespace

std::span<const Transformer> known_transformers() {
  static const std::vector<Transformer> models = all_known();
  return models;
}

}  // namespace warpmark
