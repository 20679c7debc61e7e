// The reference of conv2d: direct convolution in fp64 from the definition. A warp computes one output.
#include "workloads/module/array_kernels.cuh"
#include "workloads/module/dnn/convolution.h"

namespace warpmark::workloads::dnn {
namespace {

constexpr int kThreads = 256;

struct Position {
  std::int64_t index[4];  ///< image, channel, height, width
};

/// Inverse of the memory order.
__device__ Position position_of(std::int64_t offset, const std::array<std::int64_t, 4>& d, bool channels_last) {
  Position p;
  if (channels_last) {
    p.index[1] = offset % d[1];
    p.index[3] = offset / d[1] % d[3];
    p.index[2] = offset / (d[1] * d[3]) % d[2];
  } else {
    p.index[3] = offset % d[3];
    p.index[2] = offset / d[3] % d[2];
    p.index[1] = offset / (d[3] * d[2]) % d[1];
  }
  p.index[0] = offset / (d[1] * d[2] * d[3]);
  return p;
}

/// An element of an image tensor; outside the image it is zero.
struct Image {
  const void* data;
  ElementType type;
  std::array<std::int64_t, 4> dimensions, strides;
  __device__ double at(std::int64_t image, std::int64_t channel, std::int64_t y, std::int64_t x) const {
    if (y < 0 || x < 0 || y >= dimensions[2] || x >= dimensions[3]) return 0;
    return load_element(data, type, image * strides[0] + channel * strides[1] + y * strides[2] + x * strides[3]);
  }
};

struct Tensors {
  Image x, weights, y;
};

/// Sum over input channels and window, every 32nd term from `lane` on.
__device__ double forward(const Convolution& c, const Tensors& t, const Position& at, int lane) {
  double sum = 0;
  for (std::int64_t term = lane; term < c.c * c.r * c.r; term += 32) {
    const std::int64_t j = term % c.r, i = term / c.r % c.r, channel = term / (c.r * c.r);
    sum = fma(t.x.at(at.index[0], channel, at.index[2] * c.stride - c.pad + i, at.index[3] * c.stride - c.pad + j),
              t.weights.at(at.index[1], channel, i, j), sum);
  }
  return sum;
}

/// Sum over the outputs that this input reached.
__device__ double backward_data(const Convolution& c, const Tensors& t, const Position& at, int lane) {
  double sum = 0;
  for (std::int64_t term = lane; term < c.k * c.r * c.r; term += 32) {
    const std::int64_t j = term % c.r, i = term / c.r % c.r, k = term / (c.r * c.r);
    const std::int64_t y = at.index[2] + c.pad - i, x = at.index[3] + c.pad - j;
    if (y < 0 || x < 0 || y % c.stride != 0 || x % c.stride != 0) continue;
    sum = fma(t.y.at(at.index[0], k, y / c.stride, x / c.stride), t.weights.at(k, at.index[1], i, j), sum);
  }
  return sum;
}

/// Sum over images and output positions.
__device__ double backward_weights(const Convolution& c, const Tensors& t, const Position& at, int lane) {
  const std::int64_t y_h = c.y_h(), y_w = c.y_w();
  double sum = 0;
  for (std::int64_t term = lane; term < c.n * y_h * y_w; term += 32) {
    const std::int64_t x = term % y_w, y = term / y_w % y_h, image = term / (y_h * y_w);
    sum = fma(t.y.at(image, at.index[0], y, x),
              t.x.at(image, at.index[1], y * c.stride - c.pad + at.index[2], x * c.stride - c.pad + at.index[3]), sum);
  }
  return sum;
}

__global__ void __launch_bounds__(kThreads) convolution_check(const ConvolutionCheck check, const Tensors tensors) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Image& tested = check.pass == Pass::forward         ? tensors.y
                        : check.pass == Pass::backward_data ? tensors.x
                                                            : tensors.weights;
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (kThreads / 32);
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 32;
  for (std::int64_t sample = first; sample < check.samples; sample += warps) {
    std::int64_t offset = sample;
    if (check.samples != check.outputs) {
      const std::uint64_t random = mix64(check.seed ^ mix64(static_cast<std::uint64_t>(sample)));
      offset = static_cast<std::int64_t>(random % static_cast<std::uint64_t>(check.outputs));
    }
    const Position at = position_of(offset, tested.dimensions, check.convolution.channels_last);
    double sum = 0;
    if (check.pass == Pass::forward)
      sum = forward(check.convolution, tensors, at, lane);
    else if (check.pass == Pass::backward_data)
      sum = backward_data(check.convolution, tensors, at, lane);
    else
      sum = backward_weights(check.convolution, tensors, at, lane);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, step);
    if (lane == 0) {
      check.expected[sample] = sum;
      check.actual[sample] = load_element(tested.data, check.type, offset);
    }
  }
}

}  // namespace

cudaError_t launch_convolution_check(const ConvolutionCheck& check, cudaStream_t stream) {
  const Convolution& c = check.convolution;
  const auto image = [&](const void* data, const std::array<std::int64_t, 4>& dimensions) {
    return Image{data, check.type, dimensions, c.strides(dimensions)};
  };
  const Tensors tensors{image(check.x, c.x_dimensions()), image(check.weights, c.weights_dimensions()),
                        image(check.y, c.y_dimensions())};
  constexpr int kBlocks = 4096;
  convolution_check<<<kBlocks, kThreads, 0, stream>>>(check, tensors);
  return cudaGetLastError();
}

}  // namespace warpmark::workloads::dnn
