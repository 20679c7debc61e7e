// Conjugate gradients on a 1536x1536 Poisson problem: cpu_gpu_sync. Flaw: every dot product returns its value to the
// host. Cured by: dot products and scalars stay on the GPU.
#include "program.cuh"

__global__ void apply_laplacian(const float* in, float* out, int side) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= side || y >= side) return;
  const int i = y * side + x;
  float value = 4.0f * in[i];
  if (x > 0) value -= in[i - 1];
  if (x + 1 < side) value -= in[i + 1];
  if (y > 0) value -= in[i - side];
  if (y + 1 < side) value -= in[i + side];
  out[i] = value;
}

__global__ void next_direction(const float* residual, float* direction, float beta, int count) {
  const size_t i = thread_index();
  if (i < count) direction[i] = residual[i] + beta * direction[i];
}

__global__ void next_direction_of(const float* residual, float* direction, const float* beta, int count) {
  const size_t i = thread_index();
  if (i < count) direction[i] = residual[i] + *beta * direction[i];
}

// scalars: 0 residual squared, 1 the one before, 2 direction times its image, 3 alpha, 4 minus alpha, 5 beta
__global__ void step_length(float* scalars) {
  scalars[3] = scalars[0] / scalars[2];
  scalars[4] = -scalars[3];
  scalars[1] = scalars[0];
}

__global__ void direction_weight(float* scalars) { scalars[5] = scalars[0] / scalars[1]; }

class ConjugateGradients : public Program {
 public:
  explicit ConjugateGradients(bool cured) : cured_(cured) {
    check(cublasSetPointerMode(blas(), cured ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
  }

  void step() override {
    check(cudaMemsetAsync(solution_, 0, solution_.bytes(), stream));
    check(cudaMemcpyAsync(residual_, right_, right_.bytes(), cudaMemcpyDeviceToDevice, stream));
    check(cudaMemcpyAsync(direction_, right_, right_.bytes(), cudaMemcpyDeviceToDevice, stream));
    if (cured_)
      solve_on_device();
    else
      solve();
  }

  float result() override { return first_value(solution_.data() + kCount / 2) + norm_; }

 private:
  static constexpr int kSide = 1536, kCount = kSide * kSide, kIterations = 100;

  void apply() {
    launch(apply_laplacian, dim3(blocks_of(kSide, 32), blocks_of(kSide, 8)), dim3(32, 8), direction_, image_, kSide);
  }

  void solve() {
    float squared = 0.0f;
    check(cublasSdot(blas(), kCount, residual_, 1, residual_, 1, &squared));
    for (int i = 0; i < kIterations && squared > 1e-12f; ++i) {
      apply();
      float along = 0.0f, next = 0.0f;
      check(cublasSdot(blas(), kCount, direction_, 1, image_, 1, &along));
      const float alpha = squared / along, minus = -alpha;
      check(cublasSaxpy(blas(), kCount, &alpha, direction_, 1, solution_, 1));
      check(cublasSaxpy(blas(), kCount, &minus, image_, 1, residual_, 1));
      check(cublasSdot(blas(), kCount, residual_, 1, residual_, 1, &next));
      over(kCount, next_direction, residual_, direction_, next / squared, kCount);
      squared = next;
    }
    norm_ = std::sqrt(squared);
  }

  void solve_on_device() {
    check(cublasSdot(blas(), kCount, residual_, 1, residual_, 1, scalars_));
    for (int i = 0; i < kIterations; ++i) {
      apply();
      check(cublasSdot(blas(), kCount, direction_, 1, image_, 1, scalars_ + 2));
      launch(step_length, 1, 1, scalars_);
      check(cublasSaxpy(blas(), kCount, scalars_ + 3, direction_, 1, solution_, 1));
      check(cublasSaxpy(blas(), kCount, scalars_ + 4, image_, 1, residual_, 1));
      check(cublasSdot(blas(), kCount, residual_, 1, residual_, 1, scalars_));
      launch(direction_weight, 1, 1, scalars_);
      over(kCount, next_direction_of, residual_, direction_, scalars_ + 5, kCount);
    }
    // The one value that a solve must know.
    norm_ = std::sqrt(first_value(scalars_.data()));
  }

  bool cured_;
  float norm_ = 0.0f;
  Buffer<float> right_{kCount, 1u, -1.0f, 1.0f}, solution_{kCount}, residual_{kCount}, direction_{kCount};
  Buffer<float> image_{kCount}, scalars_{8};
};

int main(int count, char** words) { return run<ConjugateGradients>(count, words); }
