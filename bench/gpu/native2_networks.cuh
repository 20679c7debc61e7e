// Programs of native_cases2.cu with plain networks: an LSTM that transcribes speech, a residual network in training.
#pragma once

#include "native2_device.cuh"

// --- an LSTM over frames of speech -----------------------------------------------------------------------------------

constexpr int kHidden = 512, kSpeakers = 16;

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

// A gate is kSpeakers rows of kHidden columns in a matrix of 4 * kHidden columns: input, forget, output, candidate.
__device__ inline size_t in_gate(size_t i, int gate) {
  return i / kHidden * 4 * kHidden + gate * kHidden + i % kHidden;
}

__global__ void gate_sum(float* recurrent, const half* from_input, int gate) {
  const size_t i = in_gate(element(), gate);
  recurrent[i] += __half2float(from_input[i]);
}

__global__ void gate_sigmoid(float* recurrent, int gate) {
  const size_t i = in_gate(element(), gate);
  recurrent[i] = sigmoid(recurrent[i]);
}

__global__ void gate_tanh(float* recurrent, int gate) {
  const size_t i = in_gate(element(), gate);
  recurrent[i] = tanhf(recurrent[i]);
}

__global__ void next_memory(const float* gates, float* memory) {
  const size_t i = element();
  memory[i] = gates[in_gate(i, 1)] * memory[i] + gates[in_gate(i, 0)] * gates[in_gate(i, 3)];
}

__global__ void next_output(const float* gates, const float* memory, half* out) {
  const size_t i = element();
  out[i] = __float2half(gates[in_gate(i, 2)] * tanhf(memory[i]));
}

__global__ void lstm_cell(const float* recurrent, const half* from_input, float* memory, half* out) {
  const size_t i = element();
  const auto gate = [&](int k) { return recurrent[in_gate(i, k)] + __half2float(from_input[in_gate(i, k)]); };
  const float kept = sigmoid(gate(1)) * memory[i] + sigmoid(gate(0)) * tanhf(gate(3));
  memory[i] = kept;
  out[i] = __float2half(sigmoid(gate(2)) * tanhf(kept));
}

class Speech : public Program {
 public:
  explicit Speech(bool fixed) : fixed_(fixed) {
    ok(cudaDeviceSynchronize());
    ok(cudaStreamCreateWithFlags(&queue, cudaStreamNonBlocking));
    ok(cublasSetStream(blas(), queue));
    ok(cublasSetWorkspace(blas(), workspace_, workspace_.bytes()));
    if (!fixed) return;
    // Once by hand, so that every kernel is loaded before the capture.
    transcribe();
    ok(cudaStreamSynchronize(queue));
    cudaGraph_t graph = nullptr;
    ok(cudaStreamBeginCapture(queue, cudaStreamCaptureModeThreadLocal));
    transcribe();
    ok(cudaStreamEndCapture(queue, &graph));
    ok(cudaGraphInstantiate(&graph_, graph, 0));
    ok(cudaGraphDestroy(graph));
  }

  ~Speech() override {
    ok(cudaStreamSynchronize(queue));
    if (graph_ != nullptr) ok(cudaGraphExecDestroy(graph_));
    ok(cublasSetStream(blas(), nullptr));
    ok(cudaStreamDestroy(queue));
    queue = nullptr;
  }

  void step() override {
    if (fixed_)
      ok(cudaGraphLaunch(graph_, queue));
    else
      transcribe();
  }

  float result() override {
    ok(cudaStreamSynchronize(queue));
    return value_at(layers_[kLayers - 1].out + 100 * kState);
  }

 private:
  static constexpr int kFrames = 160, kLayers = 2;
  static constexpr size_t kState = size_t{kSpeakers} * kHidden;
  struct Layer {
    explicit Layer(uint32_t seed)
        : input(size_t{4} * kHidden * kHidden, seed, -0.06f, 0.06f),
          recurrent(size_t{4} * kHidden * kHidden, seed + 1, -0.06f, 0.06f) {}
    Array<half> input, recurrent;
    Array<half> from_input{4 * kFrames * kState};
    Array<half> out{(kFrames + 1) * kState};  // the state before the first frame is zero
  };

  template <typename T>
  void product(int rows, int columns, const half* in, const half* weights, T* out) {
    const float one = 1.0f, zero = 0.0f;
    ok(cublasGemmEx(blas(), CUBLAS_OP_N, CUBLAS_OP_N, columns, rows, kHidden, &one, weights, CUDA_R_16F, 4 * kHidden,
                    in, CUDA_R_16F, kHidden, &zero, out, sizeof(T) == 2 ? CUDA_R_16F : CUDA_R_32F, 4 * kHidden,
                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  void transcribe() {
    const half* in = speech_;
    for (Layer& layer : layers_) {
      product<half>(kFrames * kSpeakers, 4 * kHidden, in, layer.input, layer.from_input);
      ok(cudaMemsetAsync(memory_, 0, memory_.bytes(), queue));
      for (size_t frame = 0; frame < kFrames; ++frame) {
        const half *before = layer.out + frame * kState, *input = layer.from_input + 4 * frame * kState;
        if (fixed_)
          fused_frame(layer, before, input, layer.out + (frame + 1) * kState);
        else
          next_frame(layer, before, input, layer.out + (frame + 1) * kState);
      }
      in = layer.out + kState;
    }
  }

  void next_frame(const Layer& layer, const half* before, const half* input, half* out) {
    for (int gate = 0; gate < 4; ++gate) {
      product<float>(kSpeakers, kHidden, before, layer.recurrent + gate * kHidden, gates_ + gate * kHidden);
      for_each(kState, gate_sum, gates_, input, gate);
      for_each(kState, gate < 3 ? gate_sigmoid : gate_tanh, gates_, gate);
    }
    for_each(kState, next_memory, gates_, memory_);
    for_each(kState, next_output, gates_, memory_, out);
  }

  void fused_frame(const Layer& layer, const half* before, const half* input, half* out) {
    product<float>(kSpeakers, 4 * kHidden, before, layer.recurrent, gates_);
    for_each(kState, lstm_cell, gates_, input, memory_, out);
  }

  bool fixed_;
  cudaGraphExec_t graph_ = nullptr;
  Array<char> workspace_{size_t{32} << 20};
  Layer layers_[kLayers] = {Layer(51), Layer(53)};
  Array<half> speech_{kFrames * kState, 55, -1.0f, 1.0f};
  Array<float> gates_{4 * kState}, memory_{kState};
};

// --- a residual network in training ----------------------------------------------------------------------------------

// x + tanh(z + bias), with the tangent kept for the way back.
__global__ void residual_forward(const float* in, const float* bias, float* tangent, float* out, int width) {
  const size_t i = element();
  tangent[i] = tanhf(tangent[i] + bias[i % width]);
  out[i] = in[i] + tangent[i];
}

__global__ void residual_backward(const float* tangent, const float* gradient, float* inner) {
  const size_t i = element();
  inner[i] = gradient[i] * (1.0f - tangent[i] * tangent[i]);
}

__global__ void error_gradient(const float* out, const float* target, float* gradient, float factor) {
  const size_t i = element();
  gradient[i] = factor * (out[i] - target[i]);
}

constexpr float kDecay = 1e-4f, kMomentum = 0.9f, kRate = 1e-6f, kMean = 0.999f;

// Momentum with weight decay, and the running mean of the weights.
__global__ void momentum_and_mean(float* weights, const float* gradient, float* momentum, float* mean, size_t count) {
  const size_t i = element();
  if (i >= count) return;
  const float push = kMomentum * momentum[i] + gradient[i] + kDecay * weights[i];
  const float moved = weights[i] - kRate * push;
  momentum[i] = push;
  weights[i] = moved;
  mean[i] = kMean * mean[i] + (1.0f - kMean) * moved;
}

class ResidualTraining : public Program {
 public:
  explicit ResidualTraining(bool fixed) : fixed_(fixed) {
    for (Array<float>& state : states_) state = Array<float>(kState);
    for (Array<float>& tangent : tangents_) tangent = Array<float>(kState);
  }

  void step() override {
    ok(cudaMemcpyAsync(states_[0], molecules_, molecules_.bytes(), cudaMemcpyDeviceToDevice, queue));
    for (int i = 0; i < kBlocks; ++i) {
      product(CUBLAS_OP_N, CUBLAS_OP_N, kWidth, kBatch, kWidth, matrix(weights_, i), states_[i], 0.0f, tangents_[i]);
      for_each(kState, residual_forward, states_[i], bias(weights_, i), tangents_[i], states_[i + 1], kWidth);
    }
    for_each(kState, error_gradient, states_[kBlocks], targets_, gradient_, 1.0f / kBatch);
    for (int i = kBlocks - 1; i >= 0; --i) {
      const float one = 1.0f, zero = 0.0f;
      for_each(kState, residual_backward, tangents_[i], gradient_, inner_);
      product(CUBLAS_OP_N, CUBLAS_OP_T, kWidth, kWidth, kBatch, inner_, states_[i], 0.0f, matrix(gradients_, i));
      ok(cublasSgemv(blas(), CUBLAS_OP_N, kWidth, kBatch, &one, inner_, kWidth, ones_, 1, &zero, bias(gradients_, i),
                     1));
      product(CUBLAS_OP_T, CUBLAS_OP_N, kWidth, kBatch, kWidth, matrix(weights_, i), inner_, 1.0f, gradient_);
    }
    if (fixed_)
      for_each(kParameters, momentum_and_mean, weights_, gradients_, momentum_, mean_, kParameters);
    else
      update_each();
  }

  float result() override { return value_at(mean_ + 9) + value_at(states_[kBlocks] + 9); }

 private:
  static constexpr int kBlocks = 48, kWidth = 256, kBatch = 4096;
  static constexpr size_t kState = size_t{kBatch} * kWidth, kMatrix = size_t{kWidth} * kWidth;
  static constexpr size_t kParameters = kBlocks * (kMatrix + kWidth);

  static float* matrix(const Array<float>& all, int block) { return all + block * (kMatrix + kWidth); }
  static float* bias(const Array<float>& all, int block) { return matrix(all, block) + kMatrix; }

  // Column-major, as cuBLAS has it: a row of the batch is a column of width kWidth.
  void product(cublasOperation_t turn_a, cublasOperation_t turn_b, int rows, int columns, int depth, const float* a,
               const float* b, float before, float* c) {
    const float one = 1.0f;
    ok(cublasGemmEx(blas(), turn_a, turn_b, rows, columns, depth, &one, a, CUDA_R_32F, kWidth, b, CUDA_R_32F, kWidth,
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
    ok(cublasSaxpy(blas(), count, &decay, weights, 1, gradient, 1));
    ok(cublasSscal(blas(), count, &kept, momentum, 1));
    ok(cublasSaxpy(blas(), count, &one, gradient, 1, momentum, 1));
    ok(cublasSaxpy(blas(), count, &rate, momentum, 1, weights, 1));
    ok(cublasSscal(blas(), count, &old, mean, 1));
    ok(cublasSaxpy(blas(), count, &fresh, weights, 1, mean, 1));
  }

  bool fixed_;
  Array<float> weights_{kParameters, 61, -0.03f, 0.03f}, gradients_{kParameters}, momentum_{kParameters};
  Array<float> mean_{kParameters}, molecules_{kState, 63, -1.0f, 1.0f}, targets_{kState, 65, -1.0f, 1.0f};
  Array<float> ones_{kBatch, 0, 1.0f, 1.0f}, gradient_{kState}, inner_{kState};
  Array<float> states_[kBlocks + 1], tangents_[kBlocks];
};
