#include "model/transformer/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

}  // namespace warpmark
