// Programs of native_cases.cu on frames of a film: colour grading and edge detection.
#pragma once

#include "native_device.cuh"

constexpr int kWide = 3840, kHigh = 2160;
constexpr size_t kPixels = size_t{kWide} * kHigh;

// --- colour grading --------------------------------------------------------------------------------------------------

__device__ inline float4 mapped(float4 pixel, float r, float g, float b) { return make_float4(r, g, b, pixel.w); }

__device__ inline float4 exposed(float4 p) { return mapped(p, 1.3f * p.x, 1.3f * p.y, 1.3f * p.z); }

__device__ inline float4 balanced(float4 p) { return mapped(p, 1.06f * p.x, p.y, 0.92f * p.z); }

__device__ inline float4 contrasted(float4 p) {
  return mapped(p, 0.5f + 1.15f * (p.x - 0.5f), 0.5f + 1.15f * (p.y - 0.5f), 0.5f + 1.15f * (p.z - 0.5f));
}

__device__ inline float4 saturated(float4 p) {
  const float grey = 0.2126f * p.x + 0.7152f * p.y + 0.0722f * p.z;
  return mapped(p, grey + 1.2f * (p.x - grey), grey + 1.2f * (p.y - grey), grey + 1.2f * (p.z - grey));
}

__device__ inline float tone(float value) {
  const float x = fmaxf(value, 0.0f);
  return x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f);
}

__device__ inline float4 toned(float4 p) { return mapped(p, tone(p.x), tone(p.y), tone(p.z)); }

__device__ inline float display(float value) { return __powf(fminf(fmaxf(value, 0.0f), 1.0f), 1.0f / 2.2f); }

__device__ inline float4 displayed(float4 p) { return mapped(p, display(p.x), display(p.y), display(p.z)); }

__device__ inline float4 shaded(float4 p, size_t i) {
  const float x = (i % kWide) * (2.0f / kWide) - 1.0f, y = (i / kWide % kHigh) * (2.0f / kHigh) - 1.0f;
  const float factor = 1.0f - 0.25f * (x * x + y * y);
  return mapped(p, factor * p.x, factor * p.y, factor * p.z);
}

__global__ void exposure(float4* pixels) { pixels[thread_index()] = exposed(pixels[thread_index()]); }
__global__ void white_balance(float4* pixels) { pixels[thread_index()] = balanced(pixels[thread_index()]); }
__global__ void contrast(float4* pixels) { pixels[thread_index()] = contrasted(pixels[thread_index()]); }
__global__ void saturation(float4* pixels) { pixels[thread_index()] = saturated(pixels[thread_index()]); }
__global__ void tone_curve(float4* pixels) { pixels[thread_index()] = toned(pixels[thread_index()]); }
__global__ void gamma_curve(float4* pixels) { pixels[thread_index()] = displayed(pixels[thread_index()]); }
__global__ void vignette(float4* pixels) { pixels[thread_index()] = shaded(pixels[thread_index()], thread_index()); }

__global__ void grade(float4* pixels) {
  const size_t i = thread_index();
  pixels[i] = shaded(displayed(toned(saturated(contrasted(balanced(exposed(pixels[i])))))), i);
}

// Adds a part of the difference from the mean of the four neighbours; frames lie one below the other.
__global__ void sharpen(const float4* in, float4* out, size_t pixels) {
  const size_t i = thread_index();
  const float4 p = in[i], left = in[i > 0 ? i - 1 : i], right = in[i + 1 < pixels ? i + 1 : i];
  const float4 above = in[i >= kWide ? i - kWide : i], below = in[i + kWide < pixels ? i + kWide : i];
  out[i] = make_float4(p.x + 0.4f * (p.x - 0.25f * (left.x + right.x + above.x + below.x)),
                       p.y + 0.4f * (p.y - 0.25f * (left.y + right.y + above.y + below.y)),
                       p.z + 0.4f * (p.z - 0.25f * (left.z + right.z + above.z + below.z)), p.w);
}

class ColourGrade : public Program {
 public:
  explicit ColourGrade(bool fixed) : fixed_(fixed) {
    over(4 * kCount, draw<float>, reinterpret_cast<float*>(film_.data()), 4 * kCount, 17u, 0.0f, 0.8f);
  }

  void step() override {
    over(kCount, sharpen, film_, graded_, kCount);
    if (fixed_) {
      over(kCount, grade, graded_);
    } else {
      for (auto* adjustment : {exposure, white_balance, contrast, saturation, tone_curve, gamma_curve, vignette})
        over(kCount, adjustment, graded_);
    }
  }

  float result() override { return first_value(reinterpret_cast<const float*>(graded_.data())); }

 private:
  static constexpr size_t kCount = 8 * kPixels;
  static_assert(kCount % 256 == 0);
  bool fixed_;
  Buffer<float4> film_{kCount}, graded_{kCount};
};

// --- edges -----------------------------------------------------------------------------------------------------------

constexpr int kFrames = 8, kRadius = 4;

struct Place {
  int x, y;
  size_t frame;  // the first pixel of the frame
  bool inside;
};

__device__ inline Place place() {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  return {x, y, blockIdx.z * kPixels, x < kWide && y < kHigh};
}

__device__ inline float pixel(const float* frames, const Place& at, int dx, int dy) {
  const int x = min(max(at.x + dx, 0), kWide - 1), y = min(max(at.y + dy, 0), kHigh - 1);
  return frames[at.frame + static_cast<size_t>(y) * kWide + x];
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
  explicit Edges(bool fixed) : kept_(fixed ? std::make_unique<Workspace>(made_workspace()) : nullptr) {}

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
