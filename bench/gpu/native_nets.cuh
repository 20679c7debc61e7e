// Programs of native_cases.cu with networks: MLPs in training and in service, and a small GPT reading its prompt.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "native_attention.cuh"
#include "native_device.cuh"

// --- an MLP in FP32 with its backward pass ---------------------------------------------------------------------------

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

class TabularMlp : public Program {
 public:
  explicit TabularMlp(bool fixed)
      : mlp_({512, 2048, 2048, 2048, 64}, kBatch, fixed ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F) {}

  void step() override {
    const size_t first = step_++ % kBatches;
    const float *rows = rows_ + first * kBatch * 512, *targets = targets_ + first * kBatch * 64;
    mlp_.forward(rows);
    mlp_.backward(rows, targets);
    mlp_.update(1e-3f);
  }

  float result() override { return mlp_.result(); }

 private:
  static constexpr size_t kBatch = 16384, kBatches = 16;
  size_t step_ = 0;
  Mlp mlp_;
  Buffer<float> rows_{kBatches * kBatch * 512, 23u, -1.0f, 1.0f}, targets_{kBatches * kBatch * 64, 29u, -1.0f, 1.0f};
};

// --- an autoencoder on windows of a recording ------------------------------------------------------------------------

class SensorAutoencoder : public Program {
 public:
  explicit SensorAutoencoder(bool fixed)
      : mlp_({kWindow, 4096, 4096, 4096, kWindow}, kBatch, CUBLAS_COMPUTE_32F_FAST_TF32), recording_(kSamples) {
    const Buffer<float> drawn(kSamples, 31u, -1.0f, 1.0f);
    check(cudaMemcpy(recording_.data(), drawn, drawn.bytes(), cudaMemcpyDeviceToHost));
    slots_.resize(fixed ? 2 * kWorkers : 2);
    for (Slot& slot : slots_) {
      check(cudaMallocHost(reinterpret_cast<void**>(&slot.windows), input_.bytes()));
      check(cudaEventCreateWithFlags(&slot.copied, cudaEventDisableTiming | cudaEventBlockingSync));
      free_.push_back(&slot);
    }
    for (unsigned i = 0; fixed && i < kWorkers; ++i) workers_.emplace_back([this, i] { prepare(1000 + i); });
  }

  ~SensorAutoencoder() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    for (Slot& slot : slots_) {
      check(cudaEventDestroy(slot.copied));
      check(cudaFreeHost(slot.windows));
    }
  }

  void step() override {
    Slot& slot = workers_.empty() ? *next_free() : *next_ready();
    if (workers_.empty()) fill(slot, seed_);
    check(cudaMemcpyAsync(input_, slot.windows, input_.bytes(), cudaMemcpyHostToDevice, stream));
    check(cudaEventRecord(slot.copied, stream));
    hand_over(free_, slot);
    mlp_.forward(input_);
    mlp_.backward(input_, input_);
    mlp_.update(1e-3f);
  }

  float result() override { return mlp_.result(); }

 private:
  static constexpr int kWindow = 1024, kBatch = 4096;
  static constexpr size_t kSamples = size_t{1} << 24;
  static constexpr unsigned kWorkers = 8;
  struct Slot {
    float* windows = nullptr;
    cudaEvent_t copied = nullptr;
  };

  Slot* taken(std::deque<Slot*>& queue) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_ || !queue.empty(); });
    if (stopping_) return nullptr;
    Slot* slot = queue.front();
    queue.pop_front();
    return slot;
  }
  Slot* next_free() { return taken(free_); }
  Slot* next_ready() { return taken(ready_); }

  void hand_over(std::deque<Slot*>& queue, Slot& slot) {
    {
      const std::lock_guard lock(mutex_);
      queue.push_back(&slot);
    }
    changed_.notify_all();
  }

  void prepare(unsigned seed) {
    while (Slot* slot = next_free()) {
      fill(*slot, seed);
      hand_over(ready_, *slot);
    }
  }

  // Cuts windows at random places, gives them mean 0 and deviation 1 and adds a little noise.
  void fill(Slot& slot, unsigned& seed) const {
    check(cudaEventSynchronize(slot.copied));
    for (int row = 0; row < kBatch; ++row) {
      seed = hashed(seed + 0x9e3779b9u);
      const float* from = recording_.data() + seed % (kSamples - kWindow);
      float sum = 0.0f, squares = 0.0f;
      for (int i = 0; i < kWindow; ++i) {
        sum += from[i];
        squares += from[i] * from[i];
      }
      const float mean = sum / kWindow, scale = 1.0f / std::sqrt(squares / kWindow - mean * mean + 1e-6f);
      float* to = slot.windows + size_t(row) * kWindow;
      for (int i = 0; i < kWindow; ++i) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (from[i] - mean) * scale + 0.05f * ((seed >> 8) * (1.0f / 16777216.0f) - 0.5f);
      }
    }
  }

  Mlp mlp_;
  Buffer<float> input_{size_t(kBatch) * kWindow};
  std::vector<float> recording_;
  unsigned seed_ = 999;
  std::vector<Slot> slots_;
  std::deque<Slot*> free_, ready_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

// --- a deep narrow MLP with Adam -------------------------------------------------------------------------------------

__global__ void first_moment(float* mean, const float* gradient, size_t count) {
  const size_t i = thread_index();
  if (i < count) mean[i] = 0.9f * mean[i] + 0.1f * gradient[i];
}

__global__ void second_moment(float* square, const float* gradient, size_t count) {
  const size_t i = thread_index();
  if (i < count) square[i] = 0.999f * square[i] + 0.001f * gradient[i] * gradient[i];
}

__global__ void change_of(const float* mean, const float* square, float* change, size_t count) {
  const size_t i = thread_index();
  if (i < count) change[i] = mean[i] / (sqrtf(square[i]) + 1e-8f);
}

__global__ void adam(float* weights, const float* gradient, float* mean, float* square, float rate, size_t count) {
  const size_t i = thread_index();
  if (i >= count) return;
  const float slope = gradient[i], m = 0.9f * mean[i] + 0.1f * slope;
  const float v = 0.999f * square[i] + 0.001f * slope * slope;
  mean[i] = m;
  square[i] = v;
  weights[i] -= rate * m / (sqrtf(v) + 1e-8f);
}

class DeepMlp : public Program {
 public:
  explicit DeepMlp(bool fixed)
      : fixed_(fixed),
        mlp_(std::vector<int>(97, kWidth), kBatch, CUBLAS_COMPUTE_32F_FAST_TF32),
        mean_(mlp_.parameter_count()),
        square_(mlp_.parameter_count()),
        change_(mlp_.parameter_count()) {}

  void step() override {
    mlp_.forward(rows_);
    mlp_.backward(rows_, targets_);
    if (fixed_)
      over(mean_.size(), adam, mlp_.weights(0), mlp_.gradients(0), mean_, square_, kRate, mean_.size());
    else
      update_each();
  }

  float result() override { return mlp_.result(); }

 private:
  static constexpr int kWidth = 512, kBatch = 1024;
  static constexpr float kRate = 1e-6f;

  void update_each() {
    for (size_t i = 0; i < mlp_.parameters().size(); ++i) {
      const auto [offset, count] = mlp_.parameters()[i];
      over(count, first_moment, mean_ + offset, mlp_.gradients(i), count);
      over(count, second_moment, square_ + offset, mlp_.gradients(i), count);
      over(count, change_of, mean_ + offset, square_ + offset, change_ + offset, count);
      over(count, descend, mlp_.weights(i), change_ + offset, kRate, count);
    }
  }

  bool fixed_;
  Mlp mlp_;
  Buffer<float> mean_, square_, change_;
  Buffer<float> rows_{kBatch * kWidth, 37u, -1.0f, 1.0f}, targets_{kBatch * kWidth, 41u, -1.0f, 1.0f};
};

// --- ranking: an FP16 MLP in service ---------------------------------------------------------------------------------

__global__ void half_bias_relu(half* values, const half* bias, int width, size_t count) {
  const size_t i = thread_index();
  if (i < count) values[i] = __hmax(__hadd(values[i], bias[i % width]), __float2half(0.0f));
}

class Ranking : public Program {
 public:
  explicit Ranking(bool fixed) : at_once_(fixed ? kCandidates : 64) {
    for (unsigned i = 0; i < kLayers; ++i) {
      const float bound = std::sqrt(6.0f / kWidth);
      weights_.emplace_back(size_t(kWidth) * kWidth, 51u + i, -bound, bound);
      biases_.emplace_back(kWidth, 61u + i, -0.1f, 0.1f);
    }
  }

  void step() override {
    for (int first = 0; first < kCandidates; first += at_once_) score(first);
  }

  float result() override { return first_value(scores_.data()); }

 private:
  static constexpr int kCandidates = 4096, kWidth = 4096;
  static constexpr unsigned kLayers = 6;

  void score(int first) {
    const half* in = candidates_ + size_t(first) * kWidth;
    const size_t count = size_t(at_once_) * kWidth;
    for (unsigned i = 0; i < kLayers; ++i) {
      half* out = hidden_[i % 2];
      product(false, false, at_once_, kWidth, kWidth, in, weights_[i].data(), out, CUBLAS_COMPUTE_32F);
      over(count, half_bias_relu, out, biases_[i], kWidth, count);
      in = out;
    }
    product<half>(false, false, at_once_, 8, kWidth, in, readout_, scores_ + size_t(first) * 8, CUBLAS_COMPUTE_32F);
  }

  int at_once_;
  std::vector<Buffer<half>> weights_, biases_;
  Buffer<half> readout_{kWidth * 8, 71u, -0.02f, 0.02f}, scores_{kCandidates * 8};
  Buffer<half> candidates_{size_t(kCandidates) * kWidth, 73u, -1.0f, 1.0f};
  Buffer<half> hidden_[2] = {Buffer<half>(size_t(kCandidates) * kWidth), Buffer<half>(size_t(kCandidates) * kWidth)};
};
