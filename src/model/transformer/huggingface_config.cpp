// Hugging Face's config.json of a decoder, read by the names that its families use. What a family leaves out has that
// family's default in huggingface/transformers (src/transformers/models/<family>/configuration_<family>.py).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "base/json.h"
#include "model/transformer/transformer.h"

namespace warpmark {
namespace {

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

}  // namespace

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

}  // namespace warpmark
