// ResNet-50 v1.5 in LibTorch, layer by layer as wm_networks.py has it.
#pragma once

#include "wm_networks.hh"

inline torch::Tensor product(torch::nn::Conv2d& convolution, const torch::Tensor& x) {
  torch::Tensor out = convolution(x);
  const torch::Tensor& weight = convolution->weight;
  if (counter().on) {
    counter().flops += 2.0 * static_cast<double>(out.numel()) * static_cast<double>(weight.numel() / weight.size(0));
  }
  return out;
}

inline torch::nn::Conv2d convolution(int64_t inside, int64_t out, int64_t side, int64_t stride) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(inside, out, side).stride(stride).padding(side / 2).bias(false));
}

struct BottleneckImpl : torch::nn::Module {
  BottleneckImpl(int64_t inside, int64_t width, int64_t stride) {
    const int64_t out = 4 * width;
    conv1 = register_module("conv1", convolution(inside, width, 1, 1));
    norm1 = register_module("norm1", torch::nn::BatchNorm2d(width));
    conv2 = register_module("conv2", convolution(width, width, 3, stride));
    norm2 = register_module("norm2", torch::nn::BatchNorm2d(width));
    conv3 = register_module("conv3", convolution(width, out, 1, 1));
    norm3 = register_module("norm3", torch::nn::BatchNorm2d(out));
    if (stride == 1 && inside == out) return;
    short_conv = register_module("short_conv", convolution(inside, out, 1, stride));
    short_norm = register_module("short_norm", torch::nn::BatchNorm2d(out));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto y = norm1(product(conv1, x)).relu_();
    y = norm2(product(conv2, y)).relu_();
    y = norm3(product(conv3, y));
    return (y + (short_conv.is_empty() ? x : short_norm(product(short_conv, x)))).relu_();
  }
  torch::nn::Conv2d conv1{nullptr}, conv2{nullptr}, conv3{nullptr}, short_conv{nullptr};
  torch::nn::BatchNorm2d norm1{nullptr}, norm2{nullptr}, norm3{nullptr}, short_norm{nullptr};
};
TORCH_MODULE(Bottleneck);

struct ResNet : Network {
  explicit ResNet(const Config& c) {
    const int64_t w = c.at("width");
    int64_t inside = w;
    stem = register_module("stem", convolution(3, w, 7, 2));
    norm = register_module("norm", torch::nn::BatchNorm2d(w));
    for (int64_t stage = 0; stage < 4; ++stage) {
      for (int64_t block = 0; block < c.at("blocks" + std::to_string(stage + 1)); ++block) {
        const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        blocks.push_back(
            register_module("block" + std::to_string(blocks.size()), Bottleneck(inside, w << stage, stride)));
        inside = 4 * (w << stage);
      }
    }
    head = register_module("head", torch::nn::Linear(inside, c.at("classes")));
    draw(stem);
    for (auto& block : blocks) {
      for (auto* conv : {&block->conv1, &block->conv2, &block->conv3}) draw(*conv);
      if (!block->short_conv.is_empty()) draw(block->short_conv);
    }
    torch::nn::init::normal_(head->weight, 0, 0.01);
    torch::nn::init::zeros_(head->bias);
  }
  torch::Tensor forward(const torch::Tensor& images) override {
    auto x = torch::max_pool2d(norm(product(stem, images)).relu_(), 3, 2, 1);
    for (auto& block : blocks) x = block(x);
    return product(head, x.mean({2, 3}));
  }
  int64_t published_parameters() const override { return all_parameters(); }

  torch::nn::Conv2d stem{nullptr};
  torch::nn::BatchNorm2d norm{nullptr};
  std::vector<Bottleneck> blocks;
  torch::nn::Linear head{nullptr};

 private:
  static void draw(torch::nn::Conv2d& m) {
    torch::nn::init::kaiming_normal_(m->weight, 0, torch::kFanOut, torch::kReLU);
  }
};
