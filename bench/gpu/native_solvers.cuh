// Programs of native_cases.cu on grids: conjugate gradients, waves, multigrid and lattice Boltzmann.
#pragma once

#include "native_device.cuh"

// --- conjugate gradients on a Poisson problem ------------------------------------------------------------------------

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
  explicit ConjugateGradients(bool fixed) : fixed_(fixed) {
    check(cublasSetPointerMode(blas(), fixed ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
  }

  void step() override {
    check(cudaMemsetAsync(solution_, 0, solution_.bytes(), stream));
    check(cudaMemcpyAsync(residual_, right_, right_.bytes(), cudaMemcpyDeviceToDevice, stream));
    check(cudaMemcpyAsync(direction_, right_, right_.bytes(), cudaMemcpyDeviceToDevice, stream));
    if (fixed_)
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

  bool fixed_;
  float norm_ = 0.0f;
  Buffer<float> right_{kCount, 1u, -1.0f, 1.0f}, solution_{kCount}, residual_{kCount}, direction_{kCount};
  Buffer<float> image_{kCount}, scalars_{8};
};

// --- waves: Maxwell's equations on a staggered grid ------------------------------------------------------------------

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
  explicit Waves(bool fixed) : fixed_(fixed) {}

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
    if (!fixed_) check(cudaDeviceSynchronize());
  }

  bool fixed_;
  float time_ = 0.0f;
  Buffer<float> ez_{kSide * kSide}, hx_{kSide * kSide}, hy_{kSide * kSide};
  Buffer<float> loss_{kSide * kSide, 3u, 0.995f, 0.999f};
};

// --- multigrid -------------------------------------------------------------------------------------------------------

// The grids have side 2^k and a border of zeros that is not stored.
__device__ inline float cell(const float* grid, int side, int x, int y) {
  return x < 0 || y < 0 || x >= side || y >= side ? 0.0f : grid[y * side + x];
}

__device__ inline float around(const float* grid, int side, int x, int y) {
  return cell(grid, side, x - 1, y) + cell(grid, side, x + 1, y) + cell(grid, side, x, y - 1) +
         cell(grid, side, x, y + 1);
}

// One colour of a red-black Gauss-Seidel sweep.
__global__ void relax(float* pressure, const float* right, int side, int colour) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= side || y >= side || ((x + y) & 1) != colour) return;
  pressure[y * side + x] = 0.25f * (around(pressure, side, x, y) + right[y * side + x]);
}

__global__ void defect(const float* pressure, const float* right, float* out, int side) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= side || y >= side) return;
  const int i = y * side + x;
  out[i] = right[i] - 4.0f * pressure[i] + around(pressure, side, x, y);
}

// The sum of four cells, as the coarse cell is four times as large; the correction starts at zero.
__global__ void restrict_defect(const float* fine, float* coarse_right, float* coarse_pressure, int side) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= side || y >= side) return;
  const float* at = fine + 4 * side * y + 2 * x;
  coarse_right[y * side + x] = at[0] + at[1] + at[2 * side] + at[2 * side + 1];
  coarse_pressure[y * side + x] = 0.0f;
}

__global__ void add_correction(const float* coarse, float* pressure, int side) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < side && y < side) pressure[y * side + x] += 0.5f * coarse[(y / 2) * (side / 2) + x / 2];
}

class Multigrid : public Program {
 public:
  explicit Multigrid(bool fixed) : fixed_(fixed) {
    for (int side = kSide; side >= 4; side /= 2) {
      const size_t cells = static_cast<size_t>(side) * side;
      levels_.push_back({side, Buffer<float>(cells), Buffer<float>(cells, 7u, -1.0f, 1.0f), Buffer<float>(cells)});
    }
    check(cudaDeviceSynchronize());
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (!fixed) return;
    // Once without capture, so that all kernels are loaded when it begins.
    cycles();
    check(cudaStreamSynchronize(stream));
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cycles();
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&cycles_, graph, 0));
    check(cudaGraphDestroy(graph));
  }

  ~Multigrid() override {
    if (cycles_ != nullptr) check(cudaGraphExecDestroy(cycles_));
    check(cudaStreamDestroy(stream));
    stream = nullptr;
  }

  void step() override {
    if (fixed_)
      check(cudaGraphLaunch(cycles_, stream));
    else
      cycles();
  }

  float result() override { return first_value(levels_[0].pressure.data() + kSide * kSide / 3); }

 private:
  static constexpr int kSide = 256, kCycles = 16;
  struct Level {
    int side;
    Buffer<float> pressure, right, defect;
  };

  void cycles() {
    check(cudaMemsetAsync(levels_[0].pressure, 0, levels_[0].pressure.bytes(), stream));
    for (int i = 0; i < kCycles; ++i) cycle(0);
  }

  static dim3 grid(int side) { return dim3(blocks_of(side, 32), blocks_of(side, 8)); }

  void smooth(Level& level, int sweeps) {
    for (int i = 0; i < 2 * sweeps; ++i)
      launch(relax, grid(level.side), dim3(32, 8), level.pressure, level.right, level.side, i & 1);
  }

  void cycle(size_t depth) {
    Level& fine = levels_[depth];
    if (depth + 1 == levels_.size()) return smooth(fine, 4);
    Level& coarse = levels_[depth + 1];
    smooth(fine, 2);
    launch(defect, grid(fine.side), dim3(32, 8), fine.pressure, fine.right, fine.defect, fine.side);
    launch(restrict_defect, grid(coarse.side), dim3(32, 8), fine.defect, coarse.right, coarse.pressure, coarse.side);
    cycle(depth + 1);
    launch(add_correction, grid(fine.side), dim3(32, 8), coarse.pressure, fine.pressure, fine.side);
    smooth(fine, 2);
  }

  bool fixed_;
  std::vector<Level> levels_;
  cudaGraphExec_t cycles_ = nullptr;
};

// --- lattice Boltzmann -----------------------------------------------------------------------------------------------

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
