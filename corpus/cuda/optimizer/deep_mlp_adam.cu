// Train step of a deep narrow MLP with Adam: optimizer. Flaw: Adam in four launches for each parameter. Cured by:
// Adam in one launch over all parameters.
#include "mlp.cuh"
#include "program.cuh"

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
  explicit DeepMlp(bool cured)
      : cured_(cured),
        mlp_(std::vector<int>(97, kWidth), kBatch, CUBLAS_COMPUTE_32F_FAST_TF32),
        mean_(mlp_.parameter_count()),
        square_(mlp_.parameter_count()),
        change_(mlp_.parameter_count()) {}

  void step() override {
    mlp_.forward(rows_);
    mlp_.backward(rows_, targets_);
    if (cured_)
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

  bool cured_;
  Mlp mlp_;
  Buffer<float> mean_, square_, change_;
  Buffer<float> rows_{kBatch * kWidth, 37u, -1.0f, 1.0f}, targets_{kBatch * kWidth, 41u, -1.0f, 1.0f};
};

int main(int count, char** words) { return run<DeepMlp>(count, words); }
