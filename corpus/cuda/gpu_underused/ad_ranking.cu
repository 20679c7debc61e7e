// Scoring of 4096 candidates by an FP16 MLP: gpu_underused. Flaw: candidates scored 64 at a time. Cured by: all
// candidates in one batch.
#include "program.cuh"

__global__ void half_bias_relu(half* values, const half* bias, int width, size_t count) {
  const size_t i = thread_index();
  if (i < count) values[i] = __hmax(__hadd(values[i], bias[i % width]), __float2half(0.0f));
}

class Ranking : public Program {
 public:
  explicit Ranking(bool cured) : at_once_(cured ? kCandidates : 64) {
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

int main(int count, char** words) { return run<Ranking>(count, words); }
