// Smoothed particle hydrodynamics, 512k particles: memory_allocation. Flaw: cudaMalloc and cudaFree of the work
// arrays in each time step. Cured by: work arrays allocated once.
#include "program.cuh"

__device__ inline int along(float x, float cell, int cells) {
  return min(max(static_cast<int>(x / cell), 0), cells - 1);
}

__device__ inline int cell_at(float4 p, float cell, int cells) {
  return (along(p.z, cell, cells) * cells + along(p.y, cell, cells)) * cells + along(p.x, cell, cells);
}

// Counts the particles of each cell; a particle's rank is its place within the cell.
__global__ void count_cells(const float4* positions, int* cell_of, int* rank, int* counts, int count, float cell,
                            int cells) {
  const size_t i = thread_index();
  if (i >= count) return;
  const int own = cell_at(positions[i], cell, cells);
  cell_of[i] = own;
  rank[i] = atomicAdd(&counts[own], 1);
}

// The first place of each cell, by one block of 1024 threads; total is a multiple of 1024.
__global__ void __launch_bounds__(1024) first_places(const int* counts, int* starts, int total) {
  __shared__ int warps[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int before = 0;
  for (int first = 0; first < total; first += 1024) {
    const int own = counts[first + threadIdx.x];
    int sum = own;
    for (int apart = 1; apart < 32; apart *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, sum, apart);
      if (lane >= apart) sum += other;
    }
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    int below = 0, all = 0;
    for (int k = 0; k < 32; ++k) {
      if (k < warp) below += warps[k];
      all += warps[k];
    }
    starts[first + threadIdx.x] = before + below + sum - own;
    before += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) starts[total] = before;
}

__global__ void sort_particles(const float4* positions, const float4* velocities, const int* cell_of, const int* rank,
                               const int* starts, float4* sorted_positions, float4* sorted_velocities, int count) {
  const size_t i = thread_index();
  if (i >= count) return;
  const int to = starts[cell_of[i]] + rank[i];
  sorted_positions[to] = positions[i];
  sorted_velocities[to] = velocities[i];
}

__global__ void cubic_lattice(float4* positions, float4* velocities, int side, float spacing, float heat) {
  const size_t i = thread_index();
  if (i >= static_cast<size_t>(side) * side * side) return;
  const float x = i % side + 0.5f, y = i / side % side + 0.5f, z = i / (side * side) + 0.5f;
  positions[i] = make_float4(x * spacing, y * spacing, z * spacing, 0.0f);
  velocities[i] = make_float4(heat * (uniform(3 * i, 1) - 0.5f), heat * (uniform(3 * i + 1, 1) - 0.5f),
                              heat * (uniform(3 * i + 2, 1) - 0.5f), 0.0f);
}

struct CellWork {
  Buffer<int> cell_of, rank, counts, starts;
  Buffer<float4> positions, velocities;

  CellWork(int count, int cells)
      : cell_of(Buffer<int>::uninitialized(count)),
        rank(Buffer<int>::uninitialized(count)),
        counts(Buffer<int>::uninitialized(size_t(cells) * cells * cells)),
        starts(Buffer<int>::uninitialized(counts.size() + 1)),
        positions(Buffer<float4>::uninitialized(count)),
        velocities(Buffer<float4>::uninitialized(count)) {}

  void sort(const float4* from_positions, const float4* from_velocities, int count, float cell, int cells) {
    check(cudaMemsetAsync(counts, 0, counts.bytes(), stream));
    over(count, count_cells, from_positions, cell_of, rank, counts, count, cell, cells);
    launch(first_places, 1, 1024, counts, starts, counts.size());
    over(count, sort_particles, from_positions, from_velocities, cell_of, rank, starts, positions, velocities, count);
  }
};

constexpr int kTankCells = 32, kTankSide = 80;
constexpr float kReach = 1.0f / kTankCells, kMass = 1000.0f / (kTankSide * kTankSide * kTankSide);

template <typename Visit>
__device__ inline void visit_neighbours(float4 own, const float4* positions, const int* starts, Visit visit) {
  const int x = along(own.x, kReach, kTankCells), y = along(own.y, kReach, kTankCells);
  const int z = along(own.z, kReach, kTankCells);
  for (int cz = max(z - 1, 0); cz <= min(z + 1, kTankCells - 1); ++cz)
    for (int cy = max(y - 1, 0); cy <= min(y + 1, kTankCells - 1); ++cy) {
      const int row = (cz * kTankCells + cy) * kTankCells;
      const int last = starts[row + min(x + 1, kTankCells - 1) + 1];
      for (int j = starts[row + max(x - 1, 0)]; j < last; ++j) {
        const float ax = own.x - positions[j].x, ay = own.y - positions[j].y, az = own.z - positions[j].z;
        const float squared = ax * ax + ay * ay + az * az;
        if (squared < kReach * kReach) visit(j, ax, ay, az, squared);
      }
    }
}

__global__ void __launch_bounds__(128)
    sph_density(const float4* positions, const int* starts, float* density, float* pressure, int count) {
  const size_t i = thread_index();
  if (i >= count) return;
  float sum = 0.0f;
  visit_neighbours(positions[i], positions, starts, [&](int, float, float, float, float squared) {
    const float inside = 1.0f - squared / (kReach * kReach);
    sum += inside * inside * inside;
  });
  const float own = sum * kMass * 1.5666815f / (kReach * kReach * kReach);
  density[i] = own;
  pressure[i] = fmaxf(100.0f * (own - 1000.0f), 0.0f);
}

__global__ void __launch_bounds__(128)
    sph_forces(const float4* positions, const float4* velocities, const int* starts, const float* density,
               const float* pressure, float4* forces, int count) {
  const size_t i = thread_index();
  if (i >= count) return;
  const float4 velocity = velocities[i];
  const float own_pressure = pressure[i];
  float fx = 0.0f, fy = 0.0f, fz = 0.0f;
  visit_neighbours(positions[i], positions, starts, [&](int j, float ax, float ay, float az, float squared) {
    if (j == static_cast<int>(i)) return;
    const float distance = sqrtf(squared) + 1e-7f, inside = kReach - distance;
    const float volume = kMass * 14.3239f / (kReach * kReach * kReach * kReach * kReach * kReach) / density[j];
    const float push = volume * 0.5f * (own_pressure + pressure[j]) * inside * inside / distance;
    const float drag = volume * 2.0f * inside;
    fx += push * ax + drag * (velocities[j].x - velocity.x);
    fy += push * ay + drag * (velocities[j].y - velocity.y);
    fz += push * az + drag * (velocities[j].z - velocity.z);
  });
  const float inverse = 1.0f / density[i];
  forces[i] = make_float4(fx * inverse, fy * inverse, fz * inverse - 9.81f, 0.0f);
}

__device__ inline void advance(float& place, float& speed, float force, float time) {
  speed = fminf(fmaxf(speed + time * force, -20.0f), 20.0f);
  place += time * speed;
  if (place < 1e-4f || place > 1.0f - 1e-4f) speed *= -0.3f;
  place = fminf(fmaxf(place, 1e-4f), 1.0f - 1e-4f);
}

__global__ void move_water(const float4* sorted_positions, const float4* sorted_velocities, const float4* forces,
                           float4* positions, float4* velocities, float time, int count) {
  const size_t i = thread_index();
  if (i >= count) return;
  float4 p = sorted_positions[i], v = sorted_velocities[i];
  advance(p.x, v.x, forces[i].x, time);
  advance(p.y, v.y, forces[i].y, time);
  advance(p.z, v.z, forces[i].z, time);
  positions[i] = p;
  velocities[i] = v;
}

class WaterTank : public Program {
 public:
  explicit WaterTank(bool cured) : kept_(cured ? std::make_unique<Work>() : nullptr) {
    over(kCount, cubic_lattice, positions_, velocities_, kTankSide, 1.0f / kTankSide, 0.1f);
  }

  void step() override {
    if (kept_ != nullptr) return advance_water(*kept_);
    Work work;
    advance_water(work);
  }

  float result() override { return first_value(&positions_[0].x); }

 private:
  static constexpr int kCount = kTankSide * kTankSide * kTankSide;
  struct Work {
    CellWork cells{kCount, kTankCells};
    Buffer<float> density = Buffer<float>::uninitialized(kCount), pressure = Buffer<float>::uninitialized(kCount);
    Buffer<float4> forces = Buffer<float4>::uninitialized(kCount);
  };

  void advance_water(Work& work) {
    CellWork& cells = work.cells;
    cells.sort(positions_, velocities_, kCount, kReach, kTankCells);
    const unsigned blocks = blocks_of(kCount, 128);
    launch(sph_density, blocks, 128, cells.positions, cells.starts, work.density, work.pressure, kCount);
    launch(sph_forces, blocks, 128, cells.positions, cells.velocities, cells.starts, work.density, work.pressure,
           work.forces, kCount);
    over(kCount, move_water, cells.positions, cells.velocities, work.forces, positions_, velocities_, 2e-5f, kCount);
  }

  std::unique_ptr<Work> kept_;
  Buffer<float4> positions_{kCount}, velocities_{kCount};
};

int main(int count, char** words) { return run<WaterTank>(count, words); }
