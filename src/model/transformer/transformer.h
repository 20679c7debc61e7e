// A transformer by its sizes: parameters and operations by arithmetic. `plan` and `run` count with this one formula.
//
// Sources: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM" (SC
// 2021), equation 3 and its appendix; Chowdhery et al., "PaLM" (2022), appendix B: operations of the model (MFU) are 6
// a parameter and token of training and 12 l s h a token for attention, which counts attention in full; grouped
// queries, Ainslie et al., "GQA" (2023); gated feed-forward layers, Shazeer, "GLU Variants Improve Transformer" (2020);
// experts, Fedus et al., "Switch Transformers" (2022); latent attention, DeepSeek-AI, "DeepSeek-V2" (2024).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"

namespace warpmark {

/// Numbers are doubles, as they are multiplied beyond 2^31. 0 where the usual value holds.
struct Transformer {
  std::string name;
  std::string source;  ///< document or file that gives the sizes
  double layers = 0;
  double hidden = 0;
  double heads = 0;
  double kv_heads = 0;    ///< 0: as many as heads
  double head_size = 0;   ///< 0: hidden / heads
  double ffn = 0;         ///< width of the feed-forward layer; 0: 4 x hidden
  double vocabulary = 0;  ///< rows of the embedding
  double positions = 0;   ///< rows of learned positions; 0: none, as with rotary ones
  bool gated = false;     ///< three matrices (SwiGLU, GeGLU), not two
  bool tied = true;       ///< the output layer is the embedding
  bool bias = true;       ///< of all products and norms; false: RMSNorm and no bias
  bool qkv_bias = false;  ///< of query, key and value alone
  // Mixture of experts: of each token's layer so many experts work, beside the shared one.
  double experts = 0;
  double active_experts = 0;
  double expert_ffn = 0;    ///< 0: as ffn
  double shared_ffn = 0;    ///< of experts that all tokens take
  double dense_layers = 0;  ///< that have a plain feed-forward layer
  // Latent attention (DeepSeek): keys and values are kept in `kv_rank` numbers and a rotary key of `rope_size`.
  double q_rank = 0;
  double kv_rank = 0;
  double rope_size = 0;
  double value_size = 0;  ///< of a head
  // Sliding windows (Mistral, Gemma 2 and 3): in so many layers a token sees at most `window` others.
  double window = 0;
  double window_layers = 0;

  [[nodiscard]] double kv() const { return kv_heads > 0 ? kv_heads : heads; }
  [[nodiscard]] double head() const { return head_size > 0 ? head_size : hidden / heads; }
  [[nodiscard]] double dense_width() const { return ffn > 0 ? ffn : 4 * hidden; }
  [[nodiscard]] double expert_width() const { return expert_ffn > 0 ? expert_ffn : dense_width(); }
  [[nodiscard]] double expert_layers() const { return experts > 0 ? layers - dense_layers : 0; }
  /// Widths of one head's product of query and key, and of its value.
  [[nodiscard]] double key_width() const { return kv_rank > 0 ? head() + rope_size : head(); }
  [[nodiscard]] double value_width() const { return kv_rank > 0 ? value_size : head(); }
};

/// Weights by where layouts put them; biases and norms are with their layer.
struct ParameterCounts {
  double embedding = 0;  ///< with positions
  double head = 0;       ///< 0: tied
  double layers = 0;     ///< all of them, without routed experts
  double experts = 0;    ///< routed, in all layers
  double final_norm = 0;
  double largest_layer = 0;     ///< of a layer, or the embedding
  double active_experts = 0;    ///< of `experts`, those that one token uses
  double adapted_products = 0;  ///< sum of inputs and outputs of all products in layers: LoRA's a rank
  [[nodiscard]] double total() const { return embedding + head + layers + experts + final_norm; }
  [[nodiscard]] double active() const { return total() - experts + active_experts; }
};
[[nodiscard]] ParameterCounts parameters_of(const Transformer& model);

/// Summed over layers, how many of `tokens` a token sees, which is how many a cache keeps.
[[nodiscard]] double seen_tokens(const Transformer& model, double tokens);

/// Of the forward pass, 2 for a multiplication with its addition. Norms, activations and biases are not counted.
struct ForwardFlops {
  double products = 0;   ///< by weights, in layers
  double attention = 0;  ///< queries by keys, and by values
  double logits = 0;
  [[nodiscard]] double total() const { return products + attention + logits; }
};
/// Of one sequence of `tokens`, each of which sees `keys` others; a causal sequence that skips what is masked: tokens
/// / 2.
[[nodiscard]] ForwardFlops forward_flops(const Transformer& model, double tokens, double keys);

/// Numbers that a layer keeps of the key and value of a token that it sees.
[[nodiscard]] double kv_cache_numbers(const Transformer& model);

/// Of a Hugging Face config.json; `name` is shown and named in errors. Data error that names what is missing.
[[nodiscard]] Result<Transformer> transformer_of_config(const Json& config, const std::string& name);

/// Published models, by name: "llama3-70b".
[[nodiscard]] std::span<const Transformer> known_transformers();
/// Usage error with the names.
[[nodiscard]] Result<Transformer> known_transformer(std::string_view name);

/// Usage error where sizes are missing, or heads do not divide them.
[[nodiscard]] Status check_transformer(const Transformer& model);

}  // namespace warpmark
