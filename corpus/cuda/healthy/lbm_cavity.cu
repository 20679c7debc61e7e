// Lattice Boltzmann D2Q9, 4096x4096: healthy.
#include <algorithm>

#include "program.cuh"

// Streams the nine populations in and relaxes them towards equilibrium; the grid is a torus.
__global__ void __launch_bounds__(256) stream_and_collide(const float* in, float* out, int side) {
  constexpr int kX[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, kY[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  constexpr float kWeight[9] = {4.0f / 9,  1.0f / 9,  1.0f / 9,  1.0f / 9, 1.0f / 9,
                                1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  const size_t cells = static_cast<size_t>(side) * side;
  float f[9], density = 0.0f, u = 0.0f, v = 0.0f;
#pragma unroll
  for (int k = 0; k < 9; ++k) {
    const int from_x = (x - kX[k]) & (side - 1), from_y = (y - kY[k]) & (side - 1);
    f[k] = in[k * cells + static_cast<size_t>(from_y) * side + from_x];
    density += f[k];
    u += kX[k] * f[k];
    v += kY[k] * f[k];
  }
  u /= density;
  v /= density;
  const float speed = 1.5f * (u * u + v * v);
#pragma unroll
  for (int k = 0; k < 9; ++k) {
    const float along = 3.0f * (kX[k] * u + kY[k] * v);
    const float rest = kWeight[k] * density * (1.0f + along + 0.5f * along * along - speed);
    out[k * cells + static_cast<size_t>(y) * side + x] = f[k] + 1.2f * (rest - f[k]);
  }
}

class LatticeBoltzmann : public Program {
 public:
  explicit LatticeBoltzmann(bool) {}

  void step() override {
    for (int i = 0; i < 8; ++i) {
      launch(stream_and_collide, dim3(kSide / 256, kSide), 256, now_, next_, kSide);
      std::swap(now_, next_);
    }
  }

  float result() override { return first_value(now_.data()); }

 private:
  static constexpr int kSide = 4096;
  Buffer<float> now_{size_t{9} * kSide * kSide, 5u, 0.10f, 0.12f}, next_{size_t{9} * kSide * kSide};
};

int main(int count, char** words) { return run<LatticeBoltzmann>(count, words); }
