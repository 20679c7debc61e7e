// Edge detection in 4K frames: memory_allocation. Flaw: cudaMalloc and cudaFree of the intermediate pictures in each
// call. Cured by: intermediate pictures allocated once.
#include "frames.cuh"
#include "program.cuh"

constexpr int kFrames = 8, kRadius = 4;

__device__ inline Place place() {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  return {x, y, blockIdx.z * kPixels, x < kWide && y < kHigh};
}

__device__ inline size_t index_of(const Place& at) { return at.frame + static_cast<size_t>(at.y) * kWide + at.x; }

// A Gaussian along one direction.
__global__ void blur(const float* in, float* out, int dx, int dy) {
  const Place at = place();
  if (!at.inside) return;
  float sum = 0.0f, weights = 0.0f;
#pragma unroll
  for (int k = -kRadius; k <= kRadius; ++k) {
    const float weight = __expf(-0.125f * k * k);
    sum += weight * pixel(in, at, k * dx, k * dy);
    weights += weight;
  }
  out[index_of(at)] = sum / weights;
}

__global__ void slopes(const float* in, float* across, float* down) {
  const Place at = place();
  if (!at.inside) return;
  const float a = pixel(in, at, -1, -1), b = pixel(in, at, 0, -1), c = pixel(in, at, 1, -1);
  const float d = pixel(in, at, -1, 0), e = pixel(in, at, 1, 0);
  const float f = pixel(in, at, -1, 1), g = pixel(in, at, 0, 1), h = pixel(in, at, 1, 1);
  across[index_of(at)] = c + 2.0f * e + h - a - 2.0f * d - f;
  down[index_of(at)] = f + 2.0f * g + h - a - 2.0f * b - c;
}

__global__ void steepness(const float* across, const float* down, float* out) {
  const Place at = place();
  if (!at.inside) return;
  const size_t i = index_of(at);
  out[i] = sqrtf(across[i] * across[i] + down[i] * down[i]);
}

// Keeps the ridges: pixels at least as steep as both neighbours along the slope.
__global__ void ridges(const float* steep, const float* across, const float* down, float* out) {
  const Place at = place();
  if (!at.inside) return;
  const size_t i = index_of(at);
  const bool level = fabsf(across[i]) > fabsf(down[i]);
  const float before = pixel(steep, at, level ? -1 : 0, level ? 0 : -1);
  const float after = pixel(steep, at, level ? 1 : 0, level ? 0 : 1);
  out[i] = steep[i] >= before && steep[i] >= after ? steep[i] : 0.0f;
}

__global__ void mark_edges(const float* ridge, unsigned char* edges) {
  const Place at = place();
  if (!at.inside) return;
  float strongest = 0.0f;
  for (int k = 0; k < 9; ++k) strongest = fmaxf(strongest, pixel(ridge, at, k % 3 - 1, k / 3 - 1));
  const float own = ridge[index_of(at)];
  edges[index_of(at)] = own > 0.2f || (own > 0.1f && strongest > 0.2f) ? 255 : 0;
}

// The pictures between the film and its edges.
struct Workspace {
  Buffer<float> rows, smooth, across, down, steep, ridge;
};

class Edges : public Program {
 public:
  explicit Edges(bool cured) : kept_(cured ? std::make_unique<Workspace>(made_workspace()) : nullptr) {}

  void step() override {
    for (int batch = 0; batch < 2; ++batch)
      detect(film_ + batch * kFrames * kPixels, edges_ + batch * kFrames * kPixels);
  }

  float result() override { return first_value(edges_.data()); }

 private:
  static Buffer<float> picture() { return Buffer<float>::uninitialized(kFrames * kPixels); }

  static Workspace made_workspace() { return {picture(), picture(), picture(), picture(), picture(), picture()}; }

  void detect(const float* film, unsigned char* edges) {
    if (kept_ != nullptr) return detect(film, edges, *kept_);
    Workspace workspace = made_workspace();
    detect(film, edges, workspace);
  }

  static void detect(const float* film, unsigned char* edges, Workspace& work) {
    const dim3 grid(blocks_of(kWide, 32), blocks_of(kHigh, 8), kFrames), block(32, 8);
    launch(blur, grid, block, film, work.rows, 1, 0);
    launch(blur, grid, block, work.rows, work.smooth, 0, 1);
    launch(slopes, grid, block, work.smooth, work.across, work.down);
    launch(steepness, grid, block, work.across, work.down, work.steep);
    launch(ridges, grid, block, work.steep, work.across, work.down, work.ridge);
    launch(mark_edges, grid, block, work.ridge, edges);
  }

  std::unique_ptr<Workspace> kept_;
  Buffer<float> film_{2 * kFrames * kPixels, 19u, 0.0f, 1.0f};
  Buffer<unsigned char> edges_{2 * kFrames * kPixels};
};

int main(int count, char** words) { return run<Edges>(count, words); }
