#include "workloads/vision/texture_cpu.h"

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace warpmark::workloads::vision {
namespace {

constexpr std::int64_t kStripRows = 32;  // L* of one more row on each side is computed twice
constexpr std::size_t kScratchRows = 7;  // 3 of L*, then a*, b*, Sobel x, Sobel y

std::size_t padded(std::int64_t w) { return (static_cast<std::size_t>(w) + 15) / 16 * 16; }

/// Where row `row` of all images' rows starts in channel `channel` of an array [n, channels, h, w].
struct Rows {
  const TextureShape& shape;
  std::size_t channels;
  [[nodiscard]] std::size_t operator()(std::int64_t row, std::size_t channel) const {
    return (static_cast<std::size_t>(row / shape.h) * channels + channel) * shape.plane() +
           static_cast<std::size_t>(row % shape.h * shape.w);
  }
};

/// Row y, the border replicated: above the first row is the first row.
std::int64_t clamp_row(std::int64_t y, const TextureShape& shape) {
  return std::clamp<std::int64_t>(y, 0, shape.h - 1);
}

/// Both Sobel filters of one row; the columns beside the border see the border column again.
void sobel_row(const SimdKernels& kernels, const SobelRow& row) {
  const std::size_t last = row.count - 1;
  for (const std::size_t x : {std::size_t{0}, last}) {
    const std::size_t left = x == 0 ? 0 : x - 1;
    const std::size_t right = x == last ? last : x + 1;
    row.gradient_x[x] = row.above[right] + 2.0F * row.here[right] + row.below[right] -
                        (row.above[left] + 2.0F * row.here[left] + row.below[left]);
    row.gradient_y[x] = row.below[left] + 2.0F * row.below[x] + row.below[right] -
                        (row.above[left] + 2.0F * row.above[x] + row.above[right]);
  }
  if (row.count < 3) return;
  kernels.sobel({.above = row.above + 1,
                 .here = row.here + 1,
                 .below = row.below + 1,
                 .gradient_x = row.gradient_x + 1,
                 .gradient_y = row.gradient_y + 1,
                 .count = row.count - 2});
}

class Strip {
 public:
  Strip(const SimdKernels& kernels, const TextureShape& shape, const TextureArrays& arrays, float* scratch)
      : kernels_(kernels), shape_(shape), arrays_(arrays), scratch_(scratch) {}

  /// Rows [first, last] of one image.
  void run(std::int64_t image, std::int64_t first, std::int64_t last) const {
    for (std::int64_t y = first - 1; y <= last + 1; ++y) {
      if (y < first || y > last) {
        lightness_only(image, y);
      } else {
        colours(image, y);
      }
      if (y > first) gradients(image, y - 1);
    }
  }

 private:
  [[nodiscard]] float* slot(std::size_t index) const { return scratch_ + index * padded(shape_.w); }
  [[nodiscard]] float* lightness(std::int64_t y) const { return slot(static_cast<std::size_t>((y + 3) % 3)); }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(shape_.w); }
  [[nodiscard]] const float* input(std::int64_t image, std::int64_t y, std::size_t channel) const {
    return arrays_.rgb + Rows{shape_, kTextureInputs}(image * shape_.h + clamp_row(y, shape_), channel);
  }
  void put(std::int64_t image, std::int64_t y, std::size_t channel, const float* row) const {
    stream_row(arrays_.out + Rows{shape_, kTextureOutputs}(image * shape_.h + y, channel), row, count());
  }

  void lightness_only(std::int64_t image, std::int64_t y) const {
    kernels_.lightness({.rgb = {input(image, y, 0), input(image, y, 1), input(image, y, 2)},
                        .lightness = lightness(y),
                        .count = count()});
  }

  void colours(std::int64_t image, std::int64_t y) const {
    kernels_.lab({.rgb = {input(image, y, 0), input(image, y, 1), input(image, y, 2)},
                  .lab = {lightness(y), slot(3), slot(4)},
                  .count = count()});
    put(image, y, 0, lightness(y));
    put(image, y, 1, slot(3));
    put(image, y, 2, slot(4));
  }

  void gradients(std::int64_t image, std::int64_t y) const {
    sobel_row(kernels_, {.above = lightness(y - 1),
                         .here = lightness(y),
                         .below = lightness(y + 1),
                         .gradient_x = slot(5),
                         .gradient_y = slot(6),
                         .count = count()});
    put(image, y, 3, slot(5));
    put(image, y, 4, slot(6));
  }

  const SimdKernels& kernels_;
  const TextureShape& shape_;
  const TextureArrays& arrays_;
  float* scratch_;
};

}  // namespace

std::size_t texture_scratch(const TextureShape& shape) { return kScratchRows * padded(shape.w); }

void fused_texture_cpu(const SimdKernels& kernels, const TextureShape& shape, const TextureArrays& arrays,
                       std::span<std::vector<float>> scratch) {
  const std::int64_t strips = (shape.h + kStripRows - 1) / kStripRows;
#pragma omp parallel num_threads(static_cast <int>(scratch.size()))
  {
    const Strip strip(kernels, shape, arrays, scratch[static_cast<std::size_t>(omp_get_thread_num())].data());
#pragma omp for schedule(static)
    for (std::int64_t item = 0; item < shape.n * strips; ++item) {
      const std::int64_t first = item % strips * kStripRows;
      strip.run(item / strips, first, std::min(first + kStripRows, shape.h) - 1);
    }
    store_fence();
  }
}

void unfused_texture_cpu(const SimdKernels& kernels, const TextureShape& shape, const TextureArrays& arrays,
                         int threads) {
  const Rows three{shape, 3};
  const Rows five{shape, kTextureOutputs};
  const auto w = static_cast<std::size_t>(shape.w);
  const std::int64_t rows = shape.n * shape.h;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t at = three(row, c);
        kernels.linearize({.encoded = arrays.rgb + at, .linear = arrays.linear + at, .count = w});
      }
    }
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::size_t at[] = {three(row, 0), three(row, 1), three(row, 2)};
      kernels.xyz({.linear = {arrays.linear + at[0], arrays.linear + at[1], arrays.linear + at[2]},
                   .xyz = {arrays.xyz + at[0], arrays.xyz + at[1], arrays.xyz + at[2]},
                   .count = w});
    }
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      kernels.lab_from_xyz({.xyz = {arrays.xyz + three(row, 0), arrays.xyz + three(row, 1), arrays.xyz + three(row, 2)},
                            .lab = {arrays.out + five(row, 0), arrays.out + five(row, 1), arrays.out + five(row, 2)},
                            .count = w});
    }
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t y = row % shape.h;
      const float* lightness = arrays.out + five(row - y, 0);
      sobel_row(kernels, {.above = lightness + clamp_row(y - 1, shape) * shape.w,
                          .here = lightness + y * shape.w,
                          .below = lightness + clamp_row(y + 1, shape) * shape.w,
                          .gradient_x = arrays.out + five(row, 3),
                          .gradient_y = arrays.out + five(row, 4),
                          .count = w});
    }
  }
}

}  // namespace warpmark::workloads::vision
