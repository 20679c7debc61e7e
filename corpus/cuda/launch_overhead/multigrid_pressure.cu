// Multigrid V-cycles on a 256x256 grid: launch_overhead. Flaw: a thousand tiny kernels launched one by one. Cured
// by: the cycles captured as a CUDA graph.
#include "program.cuh"

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
  explicit Multigrid(bool cured) : cured_(cured) {
    for (int side = kSide; side >= 4; side /= 2) {
      const size_t cells = static_cast<size_t>(side) * side;
      levels_.push_back({side, Buffer<float>(cells), Buffer<float>(cells, 7u, -1.0f, 1.0f), Buffer<float>(cells)});
    }
    check(cudaDeviceSynchronize());
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (!cured) return;
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
    if (cured_)
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

  bool cured_;
  std::vector<Level> levels_;
  cudaGraphExec_t cycles_ = nullptr;
};

int main(int count, char** words) { return run<Multigrid>(count, words); }
