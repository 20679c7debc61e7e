// LSTM of two layers over 160 frames, 16 speakers: launch_overhead. Flaw: fourteen tiny launches a frame and layer,
// one by one. Cured by: one product and one kernel a frame and layer, captured as a CUDA graph.
#include "program.cuh"

constexpr int kHidden = 512, kSpeakers = 16;

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

// A gate is kSpeakers rows of kHidden columns in a matrix of 4 * kHidden columns: input, forget, output, candidate.
__device__ inline size_t in_gate(size_t i, int gate) {
  return i / kHidden * 4 * kHidden + gate * kHidden + i % kHidden;
}

__global__ void gate_sum(float* recurrent, const half* from_input, int gate) {
  const size_t i = in_gate(thread_index(), gate);
  recurrent[i] += __half2float(from_input[i]);
}

__global__ void gate_sigmoid(float* recurrent, int gate) {
  const size_t i = in_gate(thread_index(), gate);
  recurrent[i] = sigmoid(recurrent[i]);
}

__global__ void gate_tanh(float* recurrent, int gate) {
  const size_t i = in_gate(thread_index(), gate);
  recurrent[i] = tanhf(recurrent[i]);
}

__global__ void next_memory(const float* gates, float* memory) {
  const size_t i = thread_index();
  memory[i] = gates[in_gate(i, 1)] * memory[i] + gates[in_gate(i, 0)] * gates[in_gate(i, 3)];
}

__global__ void next_output(const float* gates, const float* memory, half* out) {
  const size_t i = thread_index();
  out[i] = __float2half(gates[in_gate(i, 2)] * tanhf(memory[i]));
}

__global__ void lstm_cell(const float* recurrent, const half* from_input, float* memory, half* out) {
  const size_t i = thread_index();
  const auto gate = [&](int k) { return recurrent[in_gate(i, k)] + __half2float(from_input[in_gate(i, k)]); };
  const float kept = sigmoid(gate(1)) * memory[i] + sigmoid(gate(0)) * tanhf(gate(3));
  memory[i] = kept;
  out[i] = __float2half(sigmoid(gate(2)) * tanhf(kept));
}

class Speech : public Program {
 public:
  explicit Speech(bool cured) : cured_(cured) {
    check(cudaDeviceSynchronize());
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    check(cublasSetStream(blas(), stream));
    check(cublasSetWorkspace(blas(), workspace_, workspace_.bytes()));
    if (!cured) return;
    // Once by hand, so that every kernel is loaded before the capture.
    transcribe();
    check(cudaStreamSynchronize(stream));
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    transcribe();
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&graph_, graph, 0));
    check(cudaGraphDestroy(graph));
  }

  ~Speech() override {
    check(cudaStreamSynchronize(stream));
    if (graph_ != nullptr) check(cudaGraphExecDestroy(graph_));
    check(cublasSetStream(blas(), nullptr));
    check(cudaStreamDestroy(stream));
    stream = nullptr;
  }

  void step() override {
    if (cured_)
      check(cudaGraphLaunch(graph_, stream));
    else
      transcribe();
  }

  float result() override {
    check(cudaStreamSynchronize(stream));
    return first_value(layers_[kLayers - 1].out + 100 * kState);
  }

 private:
  static constexpr int kFrames = 160, kLayers = 2;
  static constexpr size_t kState = size_t{kSpeakers} * kHidden;
  struct Layer {
    explicit Layer(uint32_t seed)
        : input(size_t{4} * kHidden * kHidden, seed, -0.06f, 0.06f),
          recurrent(size_t{4} * kHidden * kHidden, seed + 1, -0.06f, 0.06f) {}
    Buffer<half> input, recurrent;
    Buffer<half> from_input{4 * kFrames * kState};
    Buffer<half> out{(kFrames + 1) * kState};  // the state before the first frame is zero
  };

  template <typename T>
  void product(int rows, int columns, const half* in, const half* weights, T* out) {
    const float one = 1.0f, zero = 0.0f;
    check(cublasGemmEx(blas(), CUBLAS_OP_N, CUBLAS_OP_N, columns, rows, kHidden, &one, weights, CUDA_R_16F, 4 * kHidden,
                       in, CUDA_R_16F, kHidden, &zero, out, sizeof(T) == 2 ? CUDA_R_16F : CUDA_R_32F, 4 * kHidden,
                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  void transcribe() {
    const half* in = speech_;
    for (Layer& layer : layers_) {
      product<half>(kFrames * kSpeakers, 4 * kHidden, in, layer.input, layer.from_input);
      check(cudaMemsetAsync(memory_, 0, memory_.bytes(), stream));
      for (size_t frame = 0; frame < kFrames; ++frame) {
        const half *before = layer.out + frame * kState, *input = layer.from_input + 4 * frame * kState;
        if (cured_)
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
      over(kState, gate_sum, gates_, input, gate);
      over(kState, gate < 3 ? gate_sigmoid : gate_tanh, gates_, gate);
    }
    over(kState, next_memory, gates_, memory_);
    over(kState, next_output, gates_, memory_, out);
  }

  void fused_frame(const Layer& layer, const half* before, const half* input, half* out) {
    product<float>(kSpeakers, 4 * kHidden, before, layer.recurrent, gates_);
    over(kState, lstm_cell, gates_, input, memory_, out);
  }

  bool cured_;
  cudaGraphExec_t graph_ = nullptr;
  Buffer<char> workspace_{size_t{32} << 20};
  Layer layers_[kLayers] = {Layer(51), Layer(53)};
  Buffer<half> speech_{kFrames * kState, 55, -1.0f, 1.0f};
  Buffer<float> gates_{4 * kState}, memory_{kState};
};

int main(int count, char** words) { return run<Speech>(count, words); }
