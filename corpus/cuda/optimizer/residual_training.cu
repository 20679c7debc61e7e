// Train step of a residual network of 48 blocks: optimizer. Flaw: momentum, decay and running mean by six cuBLAS
// calls for each parameter. Cured by: the update of all parameters in one launch.
#include "program.cuh"

// x + tanh(z + bias), with the tangent kept for the way back.
__global__ void residual_forward(const float* in, const float* bias, float* tangent, float* out, int width) {
  const size_t i = thread_index();
  tangent[i] = tanhf(tangent[i] + bias[i % width]);
  out[i] = in[i] + tangent[i];
}

__global__ void residual_backward(const float* tangent, const float* gradient, float* inner) {
  const size_t i = thread_index();
  inner[i] = gradient[i] * (1.0f - tangent[i] * tangent[i]);
}

__global__ void error_gradient(const float* out, const float* target, float* gradient, float factor) {
  const size_t i = thread_index();
  gradient[i] = factor * (out[i] - target[i]);
}

constexpr float kDecay = 1e-4f, kMomentum = 0.9f, kRate = 1e-6f, kMean = 0.999f;

// Momentum with weight decay, and the running mean of the weights.
__global__ void momentum_and_mean(float* weights, const float* gradient, float* momentum, float* mean, size_t count) {
  const size_t i = thread_index();
  if (i >= count) return;
  const float push = kMomentum * momentum[i] + gradient[i] + kDecay * weights[i];
  const float moved = weights[i] - kRate * push;
  momentum[i] = push;
  weights[i] = moved;
  mean[i] = kMean * mean[i] + (1.0f - kMean) * moved;
}

class ResidualTraining : public Program {
 public:
  explicit ResidualTraining(bool cured) : cured_(cured) {
    for (Buffer<float>& state : states_) state = Buffer<float>(kState);
    for (Buffer<float>& tangent : tangents_) tangent = Buffer<float>(kState);
  }

  void step() override {
    check(cudaMemcpyAsync(states_[0], molecules_, molecules_.bytes(), cudaMemcpyDeviceToDevice, stream));
    for (int i = 0; i < kBlocks; ++i) {
      product(CUBLAS_OP_N, CUBLAS_OP_N, kWidth, kBatch, kWidth, matrix(weights_, i), states_[i], 0.0f, tangents_[i]);
      over(kState, residual_forward, states_[i], bias(weights_, i), tangents_[i], states_[i + 1], kWidth);
    }
    over(kState, error_gradient, states_[kBlocks], targets_, gradient_, 1.0f / kBatch);
    for (int i = kBlocks - 1; i >= 0; --i) {
      const float one = 1.0f, zero = 0.0f;
      over(kState, residual_backward, tangents_[i], gradient_, inner_);
      product(CUBLAS_OP_N, CUBLAS_OP_T, kWidth, kWidth, kBatch, inner_, states_[i], 0.0f, matrix(gradients_, i));
      check(cublasSgemv(blas(), CUBLAS_OP_N, kWidth, kBatch, &one, inner_, kWidth, ones_, 1, &zero, bias(gradients_, i),
                        1));
      product(CUBLAS_OP_T, CUBLAS_OP_N, kWidth, kBatch, kWidth, matrix(weights_, i), inner_, 1.0f, gradient_);
    }
    if (cured_)
      over(kParameters, momentum_and_mean, weights_, gradients_, momentum_, mean_, kParameters);
    else
      update_each();
  }

  float result() override { return first_value(mean_ + 9) + first_value(states_[kBlocks] + 9); }

 private:
  static constexpr int kBlocks = 48, kWidth = 256, kBatch = 4096;
  static constexpr size_t kState = size_t{kBatch} * kWidth, kMatrix = size_t{kWidth} * kWidth;
  static constexpr size_t kParameters = kBlocks * (kMatrix + kWidth);

  static float* matrix(const Buffer<float>& all, int block) { return all + block * (kMatrix + kWidth); }
  static float* bias(const Buffer<float>& all, int block) { return matrix(all, block) + kMatrix; }

  // Column-major, as cuBLAS has it: a row of the batch is a column of width kWidth.
  void product(cublasOperation_t turn_a, cublasOperation_t turn_b, int rows, int columns, int depth, const float* a,
               const float* b, float before, float* c) {
    const float one = 1.0f;
    check(cublasGemmEx(blas(), turn_a, turn_b, rows, columns, depth, &one, a, CUDA_R_32F, kWidth, b, CUDA_R_32F, kWidth,
                       &before, c, CUDA_R_32F, kWidth, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT));
  }

  void update_each() {
    for (int i = 0; i < kBlocks; ++i) {
      update(matrix(weights_, i), matrix(gradients_, i), matrix(momentum_, i), matrix(mean_, i), kMatrix);
      update(bias(weights_, i), bias(gradients_, i), bias(momentum_, i), bias(mean_, i), kWidth);
    }
  }

  static void update(float* weights, float* gradient, float* momentum, float* mean, int count) {
    const float one = 1.0f, decay = kDecay, kept = kMomentum, rate = -kRate, old = kMean, fresh = 1.0f - kMean;
    check(cublasSaxpy(blas(), count, &decay, weights, 1, gradient, 1));
    check(cublasSscal(blas(), count, &kept, momentum, 1));
    check(cublasSaxpy(blas(), count, &one, gradient, 1, momentum, 1));
    check(cublasSaxpy(blas(), count, &rate, momentum, 1, weights, 1));
    check(cublasSscal(blas(), count, &old, mean, 1));
    check(cublasSaxpy(blas(), count, &fresh, weights, 1, mean, 1));
  }

  bool cured_;
  Buffer<float> weights_{kParameters, 61, -0.03f, 0.03f}, gradients_{kParameters}, momentum_{kParameters};
  Buffer<float> mean_{kParameters}, molecules_{kState, 63, -1.0f, 1.0f}, targets_{kState, 65, -1.0f, 1.0f};
  Buffer<float> ones_{kBatch, 0, 1.0f, 1.0f}, gradient_{kState}, inner_{kState};
  Buffer<float> states_[kBlocks + 1], tangents_[kBlocks];
};

int main(int count, char** words) { return run<ResidualTraining>(count, words); }
