#include "model/transformer/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace warpmark {
namespace {

/// Weights, biases, and inputs and outputs of products, gathered product by product.
struct Products {
  double weights = 0;
  double biases = 0;
  double sides = 0;
  void add(double in, double out, bool bias, double times = 1) {
    weights += times * in * out;
    biases += bias ? times * out : 0;
    sides += times * (in + out);
  }
  [[nodiscard]] double parameters() const { return weights + biases; }
};

Products attention_of(const Transformer& m) {
  Products products;
  const double queries = m.heads * m.key_width();
  if (m.kv_rank > 0) {
    if (m.q_rank > 0) products.add(m.hidden, m.q_rank, false);
    products.add(m.q_rank > 0 ? m.q_rank : m.hidden, queries, false);
    products.add(m.hidden, m.kv_rank + m.rope_size, false);
    products.add(m.kv_rank, m.heads * (m.head() + m.value_width()), false);
  } else {
    products.add(m.hidden, queries, m.bias || m.qkv_bias);
    products.add(m.hidden, m.kv() * m.head(), m.bias || m.qkv_bias, 2);
  }
  products.add(m.heads * m.value_width(), m.hidden, m.bias);
  return products;
}

Products ffn_of(const Transformer& m, double width) {
  Products products;
  if (width <= 0) return products;
  products.add(m.hidden, width, m.bias, m.gated ? 2 : 1);
  products.add(width, m.hidden, m.bias);
  return products;
}

/// What every token of a layer with experts uses besides those chosen for it.
Products shared_of(const Transformer& m) {
  Products products = ffn_of(m, m.shared_ffn);
  products.add(m.hidden, m.experts, false);
  return products;
}

constexpr double kMost = 1e12;

/// The first of these keys that holds a number; else 0.
double number(const Json& config, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto found = config.find(key);
    if (found != config.end() && found->is_number()) return std::clamp(found->get<double>(), 0.0, kMost);
  }
  return 0;
}

bool flag(const Json& config, const char* key, bool otherwise) {
  const auto found = config.find(key);
  return found != config.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

template <std::size_t N>
bool among(std::string_view family, const std::string_view (&families)[N]) {
  return std::ranges::find(families, family) != std::end(families);
}

/// Two matrices in the feed-forward layer, with biases everywhere.
constexpr std::string_view kGptLike[] = {"gpt2",        "gpt_neox",   "gptj", "opt", "bloom",  "phi",
                                         "gpt_bigcode", "starcoder2", "bert", "mpt", "gpt_neo"};
constexpr std::string_view kTied[] = {"gpt2",        "opt",        "bloom",   "falcon",      "mpt",
                                      "gpt_bigcode", "gemma",      "gemma2",  "gemma3_text", "cohere",
                                      "cohere2",     "starcoder2", "gpt_neo", "bert"};
constexpr std::string_view kLearnedPositions[] = {"gpt2", "opt", "bert", "gpt_bigcode", "gpt_neo"};
constexpr std::string_view kQkvBias[] = {"qwen2", "qwen2_moe"};
constexpr std::string_view kTwoStacks[] = {"t5", "mt5", "bart", "mbart", "pegasus", "whisper", "led"};

void read_experts(const Json& config, std::string_view family, Transformer& m) {
  m.experts = number(config, {"num_local_experts", "n_routed_experts", "num_experts"});
  if (m.experts <= 1) m.experts = 0;
  if (m.experts == 0) return;
  m.active_experts = number(config, {"num_experts_per_tok", "moe_top_k"});
  m.expert_ffn = number(config, {"moe_intermediate_size"});
  m.shared_ffn = number(config, {"shared_expert_intermediate_size"});
  if (m.shared_ffn == 0) m.shared_ffn = number(config, {"n_shared_experts"}) * m.expert_width();
  m.dense_layers = number(config, {"first_k_dense_replace"});
  const double every = number(config, {"decoder_sparse_step", "interleave_moe_layer_step"});
  if (every > 1) m.dense_layers = m.layers - std::floor(m.layers / every);
  if (family.starts_with(
          "llama4")) {  // Llama4TextConfig: one shared expert as wide as the others, and wider dense layers
    m.expert_ffn = m.shared_ffn = m.ffn;
    m.ffn = number(config, {"intermediate_size_mlp"});
  }
}

void read_latent_attention(const Json& config, Transformer& m) {
  m.kv_rank = number(config, {"kv_lora_rank"});
  if (m.kv_rank == 0) return;
  m.q_rank = number(config, {"q_lora_rank"});
  m.head_size = number(config, {"qk_nope_head_dim"});
  m.rope_size = number(config, {"qk_rope_head_dim"});
  m.value_size = number(config, {"v_head_dim"});
}

/// Layers with a sliding window: named one by one, or all except every n-th.
void read_windows(const Json& config, std::string_view family, Transformer& m) {
  m.window = number(config, {"sliding_window"});
  if (!flag(config, "use_sliding_window", !family.starts_with("qwen"))) m.window = 0;
  if (m.window == 0) return;
  const auto types = config.find("layer_types");
  if (types != config.end() && types->is_array()) {
    m.window_layers = static_cast<double>(std::ranges::count(*types, Json("sliding_attention")));
    return;
  }
  double every = family == "gemma2" ? 2 : number(config, {"sliding_window_pattern", "_sliding_window_pattern"});
  if (every == 0 && family.starts_with("gemma3")) every = 6;  // the default of Gemma3TextConfig
  m.window_layers = every > 1 ? m.layers - std::floor(m.layers / every) : m.layers;
  if (family.starts_with("qwen")) m.window_layers = std::max(0.0, m.layers - number(config, {"max_window_layers"}));
}

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

ParameterCounts parameters_of(const Transformer& m) {
  ParameterCounts counts;
  const double norm = m.bias ? 2 * m.hidden : m.hidden;
  const Products attention = attention_of(m), dense = ffn_of(m, m.dense_width()), expert = ffn_of(m, m.expert_width());
  const double expert_layers = m.expert_layers(), dense_layers = m.layers - expert_layers;
  const Products shared = expert_layers > 0 ? shared_of(m) : Products{};
  counts.embedding = (m.vocabulary + m.positions) * m.hidden;
  counts.head = m.tied ? 0 : m.vocabulary * m.hidden;
  counts.final_norm = norm;
  counts.layers = m.layers * (attention.parameters() + 2 * norm) + dense_layers * dense.parameters() +
                  expert_layers * shared.parameters();
  counts.experts = expert_layers * m.experts * expert.parameters();
  counts.active_experts = expert_layers * m.active_experts * expert.parameters();
  const double of_experts = expert_layers > 0 ? shared.parameters() + m.experts * expert.parameters() : 0;
  const double block =
      attention.parameters() + 2 * norm + std::max(dense_layers > 0 ? dense.parameters() : 0, of_experts);
  counts.largest_layer = std::max(block, counts.embedding);
  counts.adapted_products = m.layers * attention.sides + dense_layers * dense.sides +
                            expert_layers * (shared.sides + m.experts * expert.sides);
  return counts;
}

double seen_tokens(const Transformer& m, double tokens) {
  const double bounded = m.window > 0 ? m.window_layers : 0;
  return (m.layers - bounded) * tokens + bounded * std::min(tokens, m.window);
}

ForwardFlops forward_flops(const Transformer& m, double tokens, double keys) {
  const double expert_layers = m.expert_layers();
  double weights = m.layers * attention_of(m).weights + (m.layers - expert_layers) * ffn_of(m, m.dense_width()).weights;
  if (expert_layers > 0) {
    weights += expert_layers * (shared_of(m).weights + m.active_experts * ffn_of(m, m.expert_width()).weights);
  }
  return {.products = 2 * weights * tokens,
          .attention = 2 * m.heads * (m.key_width() + m.value_width()) * tokens * seen_tokens(m, keys),
          .logits = 2 * m.vocabulary * m.hidden * tokens};
}

double kv_cache_numbers(const Transformer& m) {
  return m.kv_rank > 0 ? m.kv_rank + m.rope_size : 2 * m.kv() * m.head();
}

Result<Transformer> known_transformer(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& model : known_transformers()) {
    if (model.name == name) return model;
    names.push_back(model.name);
  }
  return usage_error(fmt::format("there is no model '{}'", name),
                     "one of " + join(names, ", ") + "; or --config config.json of another");
}

Status check_transformer(const Transformer& m) {
  constexpr double kMost = 1e6;  // of each: far beyond any model, and a product of three is exact
  for (const auto& [what, value] : {std::pair{"layers", m.layers},
                                    {"hidden", m.hidden},
                                    {"heads", m.heads},
                                    {"experts", std::max(1.0, m.experts)}}) {
    if (!(value > 0)) {
      return usage_error(fmt::format("--{} is needed", what), "give --model NAME, --config config.json, or all sizes");
    }
    if (value > kMost) return usage_error(fmt::format("--{} must be {:g} at most", what, kMost));
    if (value != std::floor(value)) return usage_error(fmt::format("--{} {} is no whole number", what, value));
  }
  if (m.head_size <= 0 && std::fmod(m.hidden, m.heads) != 0) {
    return usage_error(fmt::format("hidden size {} does not divide by {} heads", m.hidden, m.heads),
                       "choose a multiple of the heads, or give --head-size");
  }
  if (std::fmod(m.heads, m.kv()) != 0) {
    return usage_error(fmt::format("{} heads do not divide by {} key-value heads", m.heads, m.kv()),
                       "each key-value head serves the same number of heads");
  }
  if (m.window_layers > m.layers) {
    return usage_error(fmt::format("{} layers have a sliding window, but there are {}", m.window_layers, m.layers));
  }
  if (m.active_experts > m.experts) {
    return usage_error(fmt::format("{} experts are active, but there are {}", m.active_experts, m.experts));
  }
  return {};
}

// Hugging Face's config.json of a decoder, read by the names that its families use. What a family leaves out has that
// family's default in huggingface/transformers (src/transformers/models/<family>/configuration_<family>.py).

Result<Transformer> transformer_of_config(const Json& whole, const std::string& name) {
  if (!whole.is_object()) return data_error(name + " is no config.json", "it is a JSON object");
  const auto inner = whole.find("text_config");
  const Json& config = inner != whole.end() && inner->is_object() ? *inner : whole;
  const std::string family =
      config.contains("model_type") && config["model_type"].is_string() ? config["model_type"].get<std::string>() : "";
  if (among(family, kTwoStacks) || flag(config, "is_encoder_decoder", false)) {
    return data_error(
        fmt::format("{} describes an encoder and a decoder ({}); plan knows one stack of layers", name, family),
        "give the sizes of the larger stack: --layers, --hidden, --heads, --ffn");
  }
  Transformer m{.name = name, .source = name};
  m.layers = number(config, {"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
  m.hidden = number(config, {"hidden_size", "n_embd", "d_model"});
  m.heads = number(config, {"num_attention_heads", "n_head", "n_heads"});
  m.vocabulary = number(config, {"vocab_size", "padded_vocab_size"});
  for (const auto& [what, value] : {std::pair{"num_hidden_layers", m.layers},
                                    {"hidden_size", m.hidden},
                                    {"num_attention_heads", m.heads},
                                    {"vocab_size", m.vocabulary}}) {
    if (!(value > 0)) return data_error(fmt::format("{} has no {}", name, what), "give a decoder's config.json");
  }
  m.head_size = number(config, {"head_dim"});
  m.ffn = number(config, {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"});
  if (m.ffn == 0) m.ffn = number(config, {"expansion_ratio"}) * m.hidden;
  m.kv_heads = number(config, {"num_key_value_heads", "num_kv_heads", "multi_query_group_num"});
  if (family == "falcon" && !flag(config, "new_decoder_architecture", false)) m.kv_heads = 0;
  if (m.kv_heads == 0 && flag(config, "multi_query", false)) m.kv_heads = 1;
  const bool gpt = among(family, kGptLike);
  m.gated = !gpt && family != "falcon";
  m.bias = gpt && !flag(config, "no_bias", false);
  m.qkv_bias = flag(config, "attention_bias", among(family, kQkvBias));
  m.tied = flag(config, "tie_word_embeddings", flag(whole, "tie_word_embeddings", among(family, kTied)));
  if (among(family, kLearnedPositions)) m.positions = number(config, {"n_positions", "max_position_embeddings"});
  if (family == "opt") m.positions += 2;  // two rows are kept for padding
  if (family == "mpt" && !flag(config.value("attn_config", Json::object()), "alibi", true)) {
    m.positions = number(config, {"max_seq_len"});
  }
  read_experts(config, family, m);
  read_latent_attention(config, m);
  read_windows(config, family, m);
  WM_TRY(check_transformer(m));
  return m;
}

std::span<const Transformer> known_transformers() {
  static const std::vector<Transformer> models = all_known();
  return models;
}

}  // namespace warpmark
