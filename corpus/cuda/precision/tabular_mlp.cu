// Train step of an MLP on tabular data: precision. Flaw: matrix products in plain FP32. Cured by: TF32 matrix
// products.
#include "mlp.cuh"
#include "program.cuh"

class TabularMlp : public Program {
 public:
  explicit TabularMlp(bool cured)
      : mlp_({512, 2048, 2048, 2048, 64}, kBatch, cured ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F) {}

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

int main(int count, char** words) { return run<TabularMlp>(count, words); }
