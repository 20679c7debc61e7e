// FDTD of Maxwell's equations in 2D, 1024x1024: cpu_gpu_sync. Flaw: cudaDeviceSynchronize after each kernel. Cured
// by: no synchronization between kernels.
#include "program.cuh"

__global__ void magnetic_field(const float* ez, float* hx, float* hy, int side) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x + 1 >= side || y + 1 >= side) return;
  const int i = y * side + x;
  hx[i] -= 0.5f * (ez[i + side] - ez[i]);
  hy[i] += 0.5f * (ez[i + 1] - ez[i]);
}

__global__ void electric_field(float* ez, const float* hx, const float* hy, const float* loss, int side) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x == 0 || y == 0 || x >= side || y >= side) return;
  const int i = y * side + x;
  ez[i] = loss[i] * ez[i] + 0.5f * (hy[i] - hy[i - 1] - hx[i] + hx[i - side]);
}

__global__ void antenna(float* ez, int side, float time) {
  ez[(side / 2) * side + side / 4 + threadIdx.x] += sinf(0.1f * time + 0.02f * threadIdx.x);
}

class Waves : public Program {
 public:
  explicit Waves(bool cured) : cured_(cured) {}

  void step() override {
    const dim3 grid(blocks_of(kSide, 32), blocks_of(kSide, 8)), block(32, 8);
    for (int i = 0; i < 120; ++i) {
      launch(magnetic_field, grid, block, ez_, hx_, hy_, kSide);
      finish();
      launch(electric_field, grid, block, ez_, hx_, hy_, loss_, kSide);
      finish();
      launch(antenna, 1, 256, ez_, kSide, time_);
      finish();
      time_ += 1.0f;
    }
  }

  float result() override { return first_value(ez_.data() + kSide * kSide / 2); }

 private:
  static constexpr int kSide = 1024;

  void finish() {
    if (!cured_) check(cudaDeviceSynchronize());
  }

  bool cured_;
  float time_ = 0.0f;
  Buffer<float> ez_{kSide * kSide}, hx_{kSide * kSide}, hy_{kSide * kSide};
  Buffer<float> loss_{kSide * kSide, 3u, 0.995f, 0.999f};
};

int main(int count, char** words) { return run<Waves>(count, words); }
