// What a step has besides the network: products in bfloat16, and the optimizer.
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <cmath>
#include <utility>
#include <vector>

/// Products in bfloat16 for as long as it lives.
class Autocast {
 public:
  Autocast(bool wanted, at::DeviceType device) : wanted_(wanted), device_(device) {
    if (wanted_) set(true);
  }
  ~Autocast() {
    if (!wanted_) return;
    set(false);
    at::autocast::clear_cache();
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  void set(bool on) const {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_enabled(device_, on);
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
#else
    if (device_ == at::kCUDA) {
      at::autocast::set_enabled(on);
      at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
    } else {
      at::autocast::set_cpu_enabled(on);
      at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    }
#endif
  }
  bool wanted_;
  at::DeviceType device_;
};

/// AdamW as torch.optim has it for many tensors at once (Loshchilov and Hutter 2019): a few launches for all of them.
class AdamW {
 public:
  AdamW(std::vector<torch::Tensor> parameters, double rate) : parameters_(std::move(parameters)), rate_(rate) {
    for (const auto& p : parameters_) {
      first_.push_back(torch::zeros_like(p));
      second_.push_back(torch::zeros_like(p));
    }
  }
  void zero_grad() {
    for (auto& p : parameters_) p.mutable_grad() = torch::Tensor();
  }
  void step() {
    torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> with, gradients, first, second;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].grad().defined()) continue;
      with.push_back(parameters_[i]);
      gradients.push_back(parameters_[i].grad());
      first.push_back(first_[i]);
      second.push_back(second_[i]);
    }
    ++steps_;
    const double c1 = 1 - std::pow(0.9, steps_), c2 = 1 - std::pow(0.999, steps_);
    at::_foreach_mul_(with, at::Scalar(1 - rate_ * 0.01));
    at::_foreach_mul_(first, at::Scalar(0.9));
    at::_foreach_add_(first, gradients, at::Scalar(0.1));
    at::_foreach_mul_(second, at::Scalar(0.999));
    at::_foreach_addcmul_(second, gradients, gradients, at::Scalar(0.001));
    auto roots = at::_foreach_sqrt(second);
    at::_foreach_div_(roots, at::Scalar(std::sqrt(c2)));
    at::_foreach_add_(roots, at::Scalar(1e-8));
    at::_foreach_addcdiv_(with, first, roots, at::Scalar(-rate_ / c1));
  }

 private:
  std::vector<torch::Tensor> parameters_, first_, second_;
  double rate_;
  double steps_ = 0;
};
