// A multilayer perceptron with its backward pass, for the programs that train one.
#pragma once

#include <algorithm>

#include "device.cuh"

__global__ void bias_relu(float* values, const float* bias, int width, size_t count, bool relu) {
  const size_t i = thread_index();
  if (i >= count) return;
  const float value = values[i] + bias[i % width];
  values[i] = relu ? fmaxf(value, 0.0f) : value;
}

__global__ void relu_gradient(float* gradient, const float* values, size_t count) {
  const size_t i = thread_index();
  if (i < count && values[i] <= 0.0f) gradient[i] = 0.0f;
}

__global__ void squared_error_gradient(const float* values, const float* target, float* gradient, float factor,
                                       size_t count) {
  const size_t i = thread_index();
  if (i < count) gradient[i] = factor * (values[i] - target[i]);
}

__global__ void descend(float* weights, const float* gradient, float rate, size_t count) {
  const size_t i = thread_index();
  if (i < count) weights[i] -= rate * gradient[i];
}

// All weights lie in one buffer, all gradients in another of the same order: a layer's matrix, then its bias.
class Mlp {
 public:
  struct Parameter {
    size_t offset, count;
  };

  Mlp(std::vector<int> widths, int batch, cublasComputeType_t compute)
      : widths_(std::move(widths)), batch_(batch), compute_(compute), ones_(batch, 0u, 1.0f, 1.0f) {
    size_t total = 0;
    for (size_t i = 0; i + 1 < widths_.size(); ++i) {
      for (const size_t count : {size_t(widths_[i]) * widths_[i + 1], size_t(widths_[i + 1])}) {
        parameters_.push_back({total, count});
        total += count;
      }
      values_.emplace_back(size_t(batch) * widths_[i + 1]);
    }
    weights_ = Buffer<float>(total);
    gradients_ = Buffer<float>(total);
    for (size_t i = 0; i + 1 < widths_.size(); ++i) {
      const float bound = std::sqrt(6.0f / widths_[i]);
      over(parameters_[2 * i].count, draw<float>, weights(2 * i), parameters_[2 * i].count, 101u + unsigned(i), -bound,
           bound);
    }
    const size_t widest = size_t(batch) * *std::max_element(widths_.begin(), widths_.end());
    for (Buffer<float>& flow : flow_) flow = Buffer<float>(widest);
  }

  const float* forward(const float* input) {
    for (size_t i = 0; i < values_.size(); ++i) {
      product(false, false, batch_, widths_[i + 1], widths_[i], i == 0 ? input : values_[i - 1].data(), weights(2 * i),
              values_[i].data(), compute_);
      over(values_[i].size(), bias_relu, values_[i], weights(2 * i + 1), widths_[i + 1], values_[i].size(),
           i + 1 < values_.size());
    }
    return values_.back();
  }

  // The gradients of the mean squared distance from the target.
  void backward(const float* input, const float* target) {
    const float one = 1.0f, zero = 0.0f;
    float *gradient = flow_[0], *next = flow_[1];
    const Buffer<float>& out = values_.back();
    over(out.size(), squared_error_gradient, out, target, gradient, 2.0f / out.size(), out.size());
    for (size_t i = values_.size(); i-- > 0;) {
      const float* below = i == 0 ? input : values_[i - 1].data();
      product(true, false, widths_[i], widths_[i + 1], batch_, below, gradient, gradients(2 * i), compute_);
      check(cublasSgemv(blas(), CUBLAS_OP_N, widths_[i + 1], batch_, &one, gradient, widths_[i + 1], ones_, 1, &zero,
                        gradients(2 * i + 1), 1));
      if (i == 0) break;
      product(false, true, batch_, widths_[i], widths_[i + 1], gradient, weights(2 * i), next, compute_);
      over(values_[i - 1].size(), relu_gradient, next, values_[i - 1], values_[i - 1].size());
      std::swap(gradient, next);
    }
  }

  void update(float rate) { over(weights_.size(), descend, weights_, gradients_, rate, weights_.size()); }

  float* weights(size_t parameter) const { return weights_ + parameters_[parameter].offset; }
  float* gradients(size_t parameter) const { return gradients_ + parameters_[parameter].offset; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  size_t parameter_count() const { return weights_.size(); }
  float result() const { return first_value(weights_.data()) + first_value(values_.back().data()); }

 private:
  std::vector<int> widths_;
  int batch_;
  cublasComputeType_t compute_;
  std::vector<Parameter> parameters_;
  std::vector<Buffer<float>> values_;
  Buffer<float> ones_, weights_, gradients_, flow_[2];
};
