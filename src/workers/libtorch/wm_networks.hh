// GPT-2 and BERT in LibTorch, parameter by parameter as wm_networks.py has them: made in the same order from the same
// random numbers, they begin with the same weights.
#pragma once

#include <torch/torch.h>
#include <torch/version.h>

#include <map>
#include <string>
#include <vector>

using Config = std::map<std::string, int64_t>;

/// Multiplications and additions, counted where they happen while it is on.
struct Counter {
  bool on = false;
  double flops = 0;
};
inline Counter& counter() {
  static Counter counter;
  return counter;
}

/// As Python's Linear: the module of C++ adds its bias by a kernel of its own to what has more than two axes.
inline torch::Tensor product(torch::nn::Linear& linear, const torch::Tensor& x) {
  torch::Tensor out = torch::linear(x, linear->weight, linear->bias);
  if (counter().on)
    counter().flops += 2.0 * static_cast<double>(out.numel()) * static_cast<double>(linear->options.in_features());
  return out;
}

inline torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, bool causal) {
  if (counter().on) counter().flops += 4.0 * static_cast<double>(q.numel()) * static_cast<double>(k.size(-2));
#if TORCH_VERSION_MAJOR >= 2
  return at::scaled_dot_product_attention(q, k, v, {}, 0.0, causal);
#else
  torch::Tensor scores = torch::matmul(q, k.transpose(-2, -1)) * std::pow(static_cast<double>(q.size(-1)), -0.5);
  if (causal) {
    const auto mask = torch::ones({q.size(-2), k.size(-2)}, torch::dtype(torch::kBool).device(q.device())).triu(1);
    scores = scores.masked_fill(mask, -std::numeric_limits<double>::infinity());
  }
  return torch::matmul(scores.softmax(-1), v);
#endif
}

struct BlockImpl : torch::nn::Module {
  BlockImpl(int64_t width, int64_t heads, bool causal, bool norm_first, double eps, bool tanh)
      : heads(heads), causal(causal), norm_first(norm_first), tanh(tanh) {
    qkv = register_module("qkv", torch::nn::Linear(width, 3 * width));
    out = register_module("out", torch::nn::Linear(width, width));
    norm1 = register_module("norm1", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(eps)));
    norm2 = register_module("norm2", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(eps)));
    up = register_module("up", torch::nn::Linear(width, 4 * width));
    down = register_module("down", torch::nn::Linear(4 * width, width));
  }
  torch::Tensor attention(const torch::Tensor& x) {
    const auto b = x.size(0), s = x.size(1), w = x.size(2);
    // Taken apart at once, as Python does: the gradient of three indexed parts fills and adds three whole tensors.
    const auto parts = product(qkv, x).view({b, s, 3, heads, w / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    return product(out, attend(parts[0], parts[1], parts[2], causal).transpose(1, 2).reshape({b, s, w}));
  }
  torch::Tensor mlp(const torch::Tensor& x) {
    return product(down, torch::gelu(product(up, x), tanh ? "tanh" : "none"));
  }
  torch::Tensor forward(torch::Tensor x) {
    if (norm_first) {
      x = x + attention(norm1(x));
      return x + mlp(norm2(x));
    }
    x = norm1(x + attention(x));
    return norm2(x + mlp(x));
  }
  int64_t heads;
  bool causal, norm_first, tanh;
  torch::nn::Linear qkv{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
  torch::nn::LayerNorm norm1{nullptr}, norm2{nullptr};
};
TORCH_MODULE(Block);

struct Network : torch::nn::Module {
  virtual torch::Tensor forward(const torch::Tensor& ids) = 0;
  /// Without the head of BERT, as it is published.
  virtual int64_t published_parameters() const = 0;

 protected:
  int64_t all_parameters() const {
    int64_t count = 0;
    for (const auto& p : parameters()) count += p.numel();
    return count;
  }
  static void draw(torch::nn::Embedding& m) { torch::nn::init::normal_(m->weight, 0, 0.02); }
  static void draw(torch::nn::Linear& m) {
    torch::nn::init::normal_(m->weight, 0, 0.02);
    if (m->bias.defined()) torch::nn::init::zeros_(m->bias);
  }
  static void draw(Block& block) {
    for (auto* m : {&block->qkv, &block->out, &block->up, &block->down}) draw(*m);
  }
};

struct Gpt2 : Network {
  explicit Gpt2(const Config& c) {
    const auto w = c.at("width");
    tokens = register_module("tokens", torch::nn::Embedding(c.at("vocab"), w));
    positions = register_module("positions", torch::nn::Embedding(c.at("positions"), w));
    for (int64_t i = 0; i < c.at("layers"); ++i) {
      blocks.push_back(register_module("block" + std::to_string(i), Block(w, c.at("heads"), true, true, 1e-5, true)));
    }
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({w})));
    // Drawn and given up: the head is tied to the words.
    torch::nn::Linear head(torch::nn::LinearOptions(w, c.at("vocab")).bias(false));
    draw(tokens);
    draw(positions);
    for (auto& block : blocks) draw(block);
    torch::nn::init::normal_(head->weight, 0, 0.02);
  }
  torch::Tensor forward(const torch::Tensor& ids) override {
    auto x = tokens(ids) + positions->weight.slice(0, 0, ids.size(1));
    for (auto& block : blocks) x = block(x);
    x = norm(x);
    if (counter().on) {
      counter().flops += 2.0 * static_cast<double>(x.numel()) * static_cast<double>(tokens->weight.size(0));
    }
    return torch::linear(x, tokens->weight);
  }
  int64_t published_parameters() const override { return all_parameters(); }
  torch::nn::Embedding tokens{nullptr}, positions{nullptr};
  std::vector<Block> blocks;
  torch::nn::LayerNorm norm{nullptr};
};

struct Bert : Network {
  explicit Bert(const Config& c) : predictions(c.at("predictions")) {
    const auto w = c.at("width");
    tokens = register_module("tokens", torch::nn::Embedding(c.at("vocab"), w));
    positions = register_module("positions", torch::nn::Embedding(c.at("positions"), w));
    segments = register_module("segments", torch::nn::Embedding(2, w));
    const auto norm_of = [&] { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({w}).eps(1e-12)); };
    norm = register_module("norm", norm_of());
    for (int64_t i = 0; i < c.at("layers"); ++i) {
      blocks.push_back(
          register_module("block" + std::to_string(i), Block(w, c.at("heads"), false, false, 1e-12, false)));
    }
    head_dense = register_module("head_dense", torch::nn::Linear(w, w));
    head_norm = register_module("head_norm", norm_of());
    torch::nn::Linear decoder(w, c.at("vocab"));
    bias = register_parameter("bias", torch::zeros({c.at("vocab")}));
    draw(tokens);
    draw(positions);
    draw(segments);
    for (auto& block : blocks) draw(block);
    draw(head_dense);
    draw(decoder);
  }
  torch::Tensor forward(const torch::Tensor& ids) override {
    auto x = tokens(ids) + positions->weight.slice(0, 0, ids.size(1)) + segments->weight[0];
    x = norm(x);
    for (auto& block : blocks) x = block(x);
    x = x.slice(1, 0, predictions);
    x = head_norm(torch::gelu(product(head_dense, x)).to(head_norm->weight.scalar_type()));
    if (counter().on) {
      counter().flops += 2.0 * static_cast<double>(x.numel()) * static_cast<double>(tokens->weight.size(0));
    }
    return torch::linear(x, tokens->weight, bias);
  }
  int64_t published_parameters() const override {
    int64_t head = bias.numel();
    for (const auto& p : head_dense->parameters()) head += p.numel();
    for (const auto& p : head_norm->parameters()) head += p.numel();
    return all_parameters() - head;
  }
  int64_t predictions;
  torch::nn::Embedding tokens{nullptr}, positions{nullptr}, segments{nullptr};
  std::vector<Block> blocks;
  torch::nn::LayerNorm norm{nullptr}, head_norm{nullptr};
  torch::nn::Linear head_dense{nullptr};
  torch::Tensor bias;
};
