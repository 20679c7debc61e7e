// Colour grading of eight 4K frames: memory_bandwidth. Flaw: each adjustment in its own kernel over all pixels.
// Cured by: the adjustments in one kernel.
#include "frames.cuh"
#include "program.cuh"

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
  explicit ColourGrade(bool cured) : cured_(cured) {
    over(4 * kCount, draw<float>, reinterpret_cast<float*>(film_.data()), 4 * kCount, 17u, 0.0f, 0.8f);
  }

  void step() override {
    over(kCount, sharpen, film_, graded_, kCount);
    if (cured_) {
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
  bool cured_;
  Buffer<float4> film_{kCount}, graded_{kCount};
};

int main(int count, char** words) { return run<ColourGrade>(count, words); }
