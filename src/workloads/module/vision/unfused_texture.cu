// fused_texture's baseline, one kernel a step as an eager framework runs it, and its fp64 reference.
#include "workloads/module/vision/colour.cuh"
#include "workloads/module/vision/vision_kernels.h"

namespace warpmark::workloads::vision {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ std::size_t thread_index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

unsigned blocks_for(std::size_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

__global__ void linearize_kernel(const float* __restrict__ encoded, float* __restrict__ linear, std::size_t count) {
  const std::size_t i = thread_index();
  if (i < count) linear[i] = linear_from_srgb(encoded[i]);
}

/// A pixel's place in an array of `channels` planes an image.
__device__ __forceinline__ std::size_t pixel_at(std::size_t pixel, std::size_t plane, int channels) {
  const std::size_t image = pixel / plane;
  return image * plane * channels + (pixel - image * plane);
}

__global__ void xyz_kernel(const float* __restrict__ linear, float* __restrict__ xyz, std::size_t plane,
                           std::size_t pixels) {
  const std::size_t pixel = thread_index();
  if (pixel >= pixels) return;
  const std::size_t at = pixel_at(pixel, plane, 3);
  const float r = linear[at];
  const float g = linear[at + plane];
  const float b = linear[at + 2 * plane];
  xyz[at] = xyz_over_white<0>(r, g, b);
  xyz[at + plane] = xyz_over_white<1>(r, g, b);
  xyz[at + 2 * plane] = xyz_over_white<2>(r, g, b);
}

__global__ void lab_kernel(const float* __restrict__ xyz, float* __restrict__ out, std::size_t plane,
                           std::size_t pixels) {
  const std::size_t pixel = thread_index();
  if (pixel >= pixels) return;
  const std::size_t from = pixel_at(pixel, plane, 3);
  const std::size_t to = pixel_at(pixel, plane, 5);
  const float fx = lab_curve(xyz[from]);
  const float fy = lab_curve(xyz[from + plane]);
  const float fz = lab_curve(xyz[from + 2 * plane]);
  out[to] = lightness_of(fy);
  out[to + plane] = 500.0F * (fx - fy);
  out[to + 2 * plane] = 200.0F * (fy - fz);
}

/// Sobel gradients of plane 0 into planes 3 and 4; for float and, as the reference, double.
template <typename Real>
__global__ void sobel_kernel(Real* __restrict__ out, int height, int width, std::size_t pixels) {
  const std::size_t pixel = thread_index();
  if (pixel >= pixels) return;
  const std::size_t plane = static_cast<std::size_t>(height) * width;
  Real* image = out + pixel_at(pixel, plane, 5) - pixel % plane;
  const int y = static_cast<int>(pixel % plane / width);
  const int x = static_cast<int>(pixel % plane % width);
  Real around[3][3];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const int row = min(max(y + i - 1, 0), height - 1);
      const int column = min(max(x + j - 1, 0), width - 1);
      around[i][j] = image[static_cast<std::size_t>(row) * width + column];
    }
  }
  const Real two = 2;
  const std::size_t at = pixel % plane;
  image[3 * plane + at] =
      around[0][2] + two * around[1][2] + around[2][2] - (around[0][0] + two * around[1][0] + around[2][0]);
  image[4 * plane + at] =
      around[2][0] + two * around[2][1] + around[2][2] - (around[0][0] + two * around[0][1] + around[0][2]);
}

__device__ double exact_linear(double c) {
  return c <= kSrgbThreshold ? c / kSrgbSlope : pow((c + kSrgbOffset) / (1.0 + kSrgbOffset), kSrgbExponent);
}

__device__ double exact_curve(double t) { return t > kLabThreshold ? cbrt(t) : kLabSlope * t + kLabOffset; }

template <int kRow>
__device__ double exact_xyz(double r, double g, double b) {
  constexpr double kRed = kRgbToXyz[kRow][0];
  constexpr double kGreen = kRgbToXyz[kRow][1];
  constexpr double kBlue = kRgbToXyz[kRow][2];
  constexpr double kOfWhite = kWhite[kRow];
  return (kRed * r + kGreen * g + kBlue * b) / kOfWhite;
}

__global__ void exact_lab_kernel(const float* __restrict__ rgb, double* __restrict__ out, std::size_t plane,
                                 std::size_t pixels) {
  const std::size_t pixel = thread_index();
  if (pixel >= pixels) return;
  const std::size_t from = pixel_at(pixel, plane, 3);
  const std::size_t to = pixel_at(pixel, plane, 5);
  const double r = exact_linear(rgb[from]);
  const double g = exact_linear(rgb[from + plane]);
  const double b = exact_linear(rgb[from + 2 * plane]);
  const double fx = exact_curve(exact_xyz<0>(r, g, b));
  const double fy = exact_curve(exact_xyz<1>(r, g, b));
  const double fz = exact_curve(exact_xyz<2>(r, g, b));
  out[to] = 116.0 * fy - 16.0;
  out[to + plane] = 500.0 * (fx - fy);
  out[to + 2 * plane] = 200.0 * (fy - fz);
}

__global__ void channel_squares_kernel(const float* __restrict__ out, const double* __restrict__ reference,
                                       std::size_t plane, std::size_t pixels, ChannelSquares* __restrict__ squares) {
  __shared__ double differences[kThreads];
  __shared__ double references[kThreads];
  double difference_sum = 0;
  double reference_sum = 0;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t pixel = thread_index(); pixel < pixels; pixel += step) {
    const std::size_t at = pixel_at(pixel, plane, 5) + blockIdx.y * plane;
    const double difference = static_cast<double>(out[at]) - reference[at];
    difference_sum += difference * difference;
    reference_sum += reference[at] * reference[at];
  }
  differences[threadIdx.x] = difference_sum;
  references[threadIdx.x] = reference_sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  ChannelSquares total{};
  for (int i = 0; i < kThreads; ++i) {
    total.difference += differences[i];
    total.reference += references[i];
  }
  squares[blockIdx.y * gridDim.x + blockIdx.x] = total;
}

}  // namespace

cudaError_t launch_unfused_texture(cudaStream_t stream, const TextureShape& shape, const TextureBuffers& buffers) {
  const std::size_t pixels = shape.pixels();
  const std::size_t plane = shape.plane();
  const unsigned blocks = blocks_for(pixels);
  linearize_kernel<<<blocks_for(3 * pixels), kThreads, 0, stream>>>(buffers.rgb, buffers.linear, 3 * pixels);
  xyz_kernel<<<blocks, kThreads, 0, stream>>>(buffers.linear, buffers.xyz, plane, pixels);
  lab_kernel<<<blocks, kThreads, 0, stream>>>(buffers.xyz, buffers.out, plane, pixels);
  sobel_kernel<float>
      <<<blocks, kThreads, 0, stream>>>(buffers.out, static_cast<int>(shape.h), static_cast<int>(shape.w), pixels);
  return cudaGetLastError();
}

cudaError_t launch_texture_reference(cudaStream_t stream, const TextureShape& shape, const float* rgb, double* out) {
  const std::size_t pixels = shape.pixels();
  const unsigned blocks = blocks_for(pixels);
  exact_lab_kernel<<<blocks, kThreads, 0, stream>>>(rgb, out, shape.plane(), pixels);
  sobel_kernel<double>
      <<<blocks, kThreads, 0, stream>>>(out, static_cast<int>(shape.h), static_cast<int>(shape.w), pixels);
  return cudaGetLastError();
}

cudaError_t launch_channel_squares(cudaStream_t stream, const TextureShape& shape, const float* out,
                                   const double* reference, ChannelSquares* squares) {
  const dim3 grid(kSquareParts, kTextureOutputs);
  channel_squares_kernel<<<grid, kThreads, 0, stream>>>(out, reference, shape.plane(), shape.pixels(), squares);
  return cudaGetLastError();
}

}  // namespace warpmark::workloads::vision
