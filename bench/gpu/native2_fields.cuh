// Programs of native_cases2.cu on grids in space: a seismic shot and drops moved by a level set.
#pragma once

#include <algorithm>

#include "native2_device.cuh"

// --- acoustic waves in the ground ------------------------------------------------------------------------------------

constexpr int kGround = 256, kHalo = 4, kDeep = 32;  // kDeep: the layers a block walks through
constexpr size_t kLayer = size_t{kGround} * kGround;

// The speed of sound grows with depth; squared, in cells a time step.
__global__ void sound_speed(float* squared) {
  const size_t i = element();
  const float depth = static_cast<float>(i / kLayer) / kGround;
  squared[i] = 0.04f + 0.08f * depth + 0.02f * uniform(i / 4096, 3);
}

// The eighth-order Laplacian, with the column of nine layers in registers; previous becomes next.
__global__ void __launch_bounds__(256)
    acoustic_wave(const float* __restrict__ current, float* __restrict__ previous, const float* __restrict__ speed) {
  constexpr float kWeight[5] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const int top = blockIdx.z * kDeep;
  if (x < kHalo || x >= kGround - kHalo || y < kHalo || y >= kGround - kHalo) return;
  const int edge = min(min(x, kGround - 1 - x), min(y, kGround - 1 - y));
  const float* at = current + static_cast<size_t>(y) * kGround + x;
  float column[9];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const int z = top + k - kHalo;
    column[k + 1] = z < 0 ? 0.0f : at[z * kLayer];
  }
  for (int z = top; z < top + kDeep; ++z) {
#pragma unroll
    for (int k = 0; k < 8; ++k) column[k] = column[k + 1];
    column[8] = z + kHalo < kGround ? at[(z + kHalo) * kLayer] : 0.0f;
    const float* here = at + z * kLayer;
    float laplacian = 3.0f * kWeight[0] * column[4];
#pragma unroll
    for (int k = 1; k <= 4; ++k)
      laplacian +=
          kWeight[k] * (column[4 - k] + column[4 + k] + here[k] + here[-k] + here[k * kGround] + here[-k * kGround]);
    const size_t i = here - current;
    const float absorbed = min(edge, kGround - 1 - z) < 24 ? 0.985f : 1.0f;
    previous[i] = absorbed * (2.0f * column[4] - previous[i] + speed[i] * laplacian);
  }
}

__global__ void fire_source(float* pressure, int time) {
  const float phase = 0.06f * (time % 400) - 3.0f, squared = phase * phase;
  pressure[8 * kLayer + (kGround / 2) * kGround + kGround / 2] += (1.0f - 2.0f * squared) * __expf(-squared);
}

class SeismicShot : public Program {
 public:
  explicit SeismicShot(bool fixed) : fixed_(fixed), wavefield_(fixed ? 0 : kGround * kLayer) {
    for_each(speed_.size(), sound_speed, speed_);
    ok(cudaMallocHost(reinterpret_cast<void**>(&receivers_), kLayer * sizeof(float)));
  }

  ~SeismicShot() override { ok(cudaFreeHost(receivers_)); }

  // The receivers lie in one layer below the surface; each step records what they hear.
  void step() override {
    for (int i = 0; i < 40; ++i) {
      launch(acoustic_wave, dim3(kGround / 32, kGround / 8, kGround / kDeep), dim3(32, 8), current_, previous_, speed_);
      std::swap(current_, previous_);
      launch(fire_source, 1, 1, current_, time_++);
    }
    const float* heard = receivers_;
    if (fixed_) {
      ok(cudaMemcpyAsync(receivers_, current_ + kReceiverLayer * kLayer, kLayer * sizeof(float), cudaMemcpyDeviceToHost,
                         queue));
      ok(cudaStreamSynchronize(queue));
    } else {
      ok(cudaMemcpy(wavefield_.data(), current_, current_.bytes(), cudaMemcpyDeviceToHost));
      heard = wavefield_.data() + kReceiverLayer * kLayer;
    }
    record(heard);
  }

  float result() override { return loudest_ + value_at(current_ + kLayer * 100 + 40000); }

 private:
  static constexpr int kReceiverLayer = 6, kReceivers = 64;

  void record(const float* heard) {
    for (int i = 0; i < kReceivers; ++i)
      loudest_ = std::max(loudest_, std::fabs(heard[kGround / 2 * kGround + i * (kGround / kReceivers)]));
  }

  bool fixed_;
  int time_ = 0;
  float loudest_ = 0.0f;
  float* receivers_ = nullptr;
  std::vector<float> wavefield_;
  Array<float> current_{kGround * kLayer}, previous_{kGround * kLayer}, speed_{kGround * kLayer};
};

// --- a level set -----------------------------------------------------------------------------------------------------

constexpr int kSpace = 320;
constexpr float kTimeStep = 0.05f, kTension = 0.2f;

struct Cell {
  int x, y, z;
  __device__ size_t index() const { return (static_cast<size_t>(z) * kSpace + y) * kSpace + x; }
};

__device__ inline Cell own_cell() {
  return {static_cast<int>(blockIdx.x * 32 + threadIdx.x), static_cast<int>(blockIdx.y * 8 + threadIdx.y),
          static_cast<int>(blockIdx.z)};
}

// The neighbour in a direction; space ends in mirrors.
__device__ inline float beside(const float* phi, Cell at, int dx, int dy, int dz) {
  const auto inside = [](int x) { return min(max(x, 0), kSpace - 1); };
  return phi[Cell{inside(at.x + dx), inside(at.y + dy), inside(at.z + dz)}.index()];
}

__device__ inline float slope(const float* phi, Cell at, int dx, int dy, int dz) {
  return 0.5f * (beside(phi, at, dx, dy, dz) - beside(phi, at, -dx, -dy, -dz));
}

__device__ inline float steepness(float x, float y, float z) { return sqrtf(x * x + y * y + z * z + 1e-8f); }

__device__ inline float curvature(const float* phi, Cell at, float x, float y, float z, float steep) {
  const float middle = 2.0f * phi[at.index()];
  const float xx = beside(phi, at, 1, 0, 0) + beside(phi, at, -1, 0, 0) - middle;
  const float yy = beside(phi, at, 0, 1, 0) + beside(phi, at, 0, -1, 0) - middle;
  const float zz = beside(phi, at, 0, 0, 1) + beside(phi, at, 0, 0, -1) - middle;
  const float xy = 0.5f * (slope(phi, {at.x, min(at.y + 1, kSpace - 1), at.z}, 1, 0, 0) -
                           slope(phi, {at.x, max(at.y - 1, 0), at.z}, 1, 0, 0));
  const float xz = 0.5f * (slope(phi, {at.x, at.y, min(at.z + 1, kSpace - 1)}, 1, 0, 0) -
                           slope(phi, {at.x, at.y, max(at.z - 1, 0)}, 1, 0, 0));
  const float yz = 0.5f * (slope(phi, {at.x, at.y, min(at.z + 1, kSpace - 1)}, 0, 1, 0) -
                           slope(phi, {at.x, at.y, max(at.z - 1, 0)}, 0, 1, 0));
  const float sum = xx * (y * y + z * z) + yy * (x * x + z * z) + zz * (x * x + y * y) -
                    2.0f * (x * y * xy + x * z * xz + y * z * yz);
  return fminf(fmaxf(sum / (steep * steep * steep), -1.0f), 1.0f);
}

__device__ inline float front_speed(float bend, float steep) { return (0.02f - kTension * bend) * steep; }

__global__ void phi_slopes(const float* phi, float* x, float* y, float* z) {
  const Cell at = own_cell();
  x[at.index()] = slope(phi, at, 1, 0, 0);
  y[at.index()] = slope(phi, at, 0, 1, 0);
  z[at.index()] = slope(phi, at, 0, 0, 1);
}

__global__ void phi_steepness(const float* x, const float* y, const float* z, float* steep) {
  const size_t i = own_cell().index();
  steep[i] = steepness(x[i], y[i], z[i]);
}

__global__ void phi_curvature(const float* phi, const float* x, const float* y, const float* z, const float* steep,
                              float* bend) {
  const Cell at = own_cell();
  const size_t i = at.index();
  bend[i] = curvature(phi, at, x[i], y[i], z[i], steep[i]);
}

__global__ void phi_speed(const float* bend, const float* steep, float* speed) {
  const size_t i = own_cell().index();
  speed[i] = front_speed(bend[i], steep[i]);
}

__global__ void phi_advance(float* phi, const float* speed) {
  const size_t i = own_cell().index();
  phi[i] -= kTimeStep * speed[i];
}

__global__ void phi_evolve(const float* __restrict__ phi, float* __restrict__ next) {
  const Cell at = own_cell();
  const float x = slope(phi, at, 1, 0, 0), y = slope(phi, at, 0, 1, 0), z = slope(phi, at, 0, 0, 1);
  const float steep = steepness(x, y, z);
  next[at.index()] = phi[at.index()] - kTimeStep * front_speed(curvature(phi, at, x, y, z, steep), steep);
}

// The distance from the nearest of 27 drops.
__global__ void place_drops(float* phi) {
  const Cell at = own_cell();
  const auto within = [](int x) { return static_cast<float>(x % (kSpace / 3)) - kSpace / 6; };
  phi[at.index()] = steepness(within(at.x), within(at.y), within(at.z)) - 30.0f;
}

class LevelSet : public Program {
 public:
  explicit LevelSet(bool fixed) : fixed_(fixed) {
    launch(place_drops, kGrid, kBlock, phi_);
    if (fixed)
      next_ = Array<float>(kCells);
    else
      for (Array<float>& field : fields_) field = Array<float>(kCells);
  }

  void step() override {
    for (int i = 0; i < 4; ++i)
      if (fixed_) {
        launch(phi_evolve, kGrid, kBlock, phi_, next_);
        std::swap(phi_, next_);
      } else {
        auto& [x, y, z, steep, bend, speed] = fields_;
        launch(phi_slopes, kGrid, kBlock, phi_, x, y, z);
        launch(phi_steepness, kGrid, kBlock, x, y, z, steep);
        launch(phi_curvature, kGrid, kBlock, phi_, x, y, z, steep, bend);
        launch(phi_speed, kGrid, kBlock, bend, steep, speed);
        launch(phi_advance, kGrid, kBlock, phi_, speed);
      }
  }

  float result() override { return value_at(phi_ + kCells / 2); }

 private:
  static constexpr size_t kCells = size_t{kSpace} * kSpace * kSpace;
  const dim3 kGrid{kSpace / 32, kSpace / 8, kSpace}, kBlock{32, 8};
  bool fixed_;
  Array<float> phi_{kCells}, next_, fields_[6];
};
