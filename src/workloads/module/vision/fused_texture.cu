// fused_texture in one kernel. A block takes a tile of kTileRows rows: it reads the tile's RGB and one row more on each
// side with 16-byte loads that are all in flight at once, writes L*, a*, b*, keeps L* in shared memory, and after one
// barrier writes both Sobel gradients from there. Only L* of the halo is computed twice; its RGB comes from the L2
// cache.
#include "workloads/module/vision/colour.cuh"
#include "workloads/module/vision/vision_kernels.h"

namespace warpmark::workloads::vision {
namespace {

constexpr int kTileRows = 8;
constexpr int kThreadRows = 2;  // rows of one thread, halo included
constexpr int kBlockRows = (kTileRows + 2) / kThreadRows;
constexpr int kMaxBlockColumns = 64;  // vectors
constexpr int kMargin = 4;            // floats before a row in shared memory, so that vectors are aligned

template <int kWidth>
struct Pixels {
  float value[kWidth];
};

template <int kWidth>
__device__ __forceinline__ Pixels<kWidth> load(const float* from) {
  Pixels<kWidth> pixels;
  if constexpr (kWidth == 4) {
    const float4 four = __ldg(reinterpret_cast<const float4*>(from));
    pixels.value[0] = four.x;
    pixels.value[1] = four.y;
    pixels.value[2] = four.z;
    pixels.value[3] = four.w;
  } else {
    pixels.value[0] = __ldg(from);
  }
  return pixels;
}

/// Written once and not read again: evicted first, so that inputs shared by tiles stay in the cache.
template <int kWidth>
__device__ __forceinline__ void store(float* to, const Pixels<kWidth>& pixels) {
  if constexpr (kWidth == 4) {
    __stcs(reinterpret_cast<float4*>(to),
           make_float4(pixels.value[0], pixels.value[1], pixels.value[2], pixels.value[3]));
  } else {
    __stcs(to, pixels.value[0]);
  }
}

/// A row of L* in shared memory: `width` pixels with one more on each side.
template <int kWidth>
struct Neighbourhood {
  float value[kWidth + 2];
};

template <int kWidth>
__device__ __forceinline__ Neighbourhood<kWidth> neighbourhood(const float* row) {
  Neighbourhood<kWidth> around;
  around.value[0] = row[-1];
  if constexpr (kWidth == 4) {
    const float4 four = *reinterpret_cast<const float4*>(row);
    around.value[1] = four.x;
    around.value[2] = four.y;
    around.value[3] = four.z;
    around.value[4] = four.w;
  } else {
    around.value[1] = row[0];
  }
  around.value[kWidth + 1] = row[kWidth];
  return around;
}

struct Tiles {
  int height;
  int width;
  int across;  ///< tiles in a row of tiles
  int down;
  int columns;  ///< pixels of a tile's row
};

__device__ __forceinline__ float lightness_at(const float* rgb, std::size_t plane) {
  const float y = xyz_over_white<1>(linear_from_srgb(__ldg(rgb)), linear_from_srgb(__ldg(rgb + plane)),
                                    linear_from_srgb(__ldg(rgb + 2 * plane)));
  return lightness_of(lab_curve(y));
}

template <int kWidth>
using SharedRows = float[kTileRows + 2][kMaxBlockColumns * kWidth + 2 * kMargin];

/// Both Sobel gradients of this thread's pixels at (column, row of the thread) of the tile, from L* in shared memory.
template <int kWidth>
__device__ __forceinline__ void write_gradients(const SharedRows<kWidth>& shared, float* __restrict__ out,
                                                const Tiles& tiles, int first_row, int column, int x) {
  const std::size_t plane = static_cast<std::size_t>(tiles.height) * tiles.width;
#pragma unroll
  for (int i = 0; i < kThreadRows; ++i) {
    const int slot = static_cast<int>(threadIdx.y) + i * kBlockRows;
    const int row = first_row - 1 + slot;
    if (slot < 1 || slot > kTileRows || row >= tiles.height) continue;
    const auto above = neighbourhood<kWidth>(&shared[slot - 1][kMargin + column]);
    const auto here = neighbourhood<kWidth>(&shared[slot][kMargin + column]);
    const auto below = neighbourhood<kWidth>(&shared[slot + 1][kMargin + column]);
    float smooth[kWidth + 2];  // down the columns
    float slope[kWidth + 2];
#pragma unroll
    for (int j = 0; j < kWidth + 2; ++j) {
      smooth[j] = fmaf(2.0F, here.value[j], above.value[j] + below.value[j]);
      slope[j] = below.value[j] - above.value[j];
    }
    Pixels<kWidth> gradient_x;
    Pixels<kWidth> gradient_y;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      gradient_x.value[j] = smooth[j + 2] - smooth[j];
      gradient_y.value[j] = fmaf(2.0F, slope[j + 1], slope[j] + slope[j + 2]);
    }
    const std::size_t offset = static_cast<std::size_t>(row) * tiles.width + x;
    store<kWidth>(out + 3 * plane + offset, gradient_x);
    store<kWidth>(out + 4 * plane + offset, gradient_y);
  }
}

template <int kWidth>
__global__ void __launch_bounds__(kMaxBlockColumns* kBlockRows)
    fused_texture_kernel(const float* __restrict__ rgb, float* __restrict__ out, Tiles tiles) {
  __shared__ __align__(16) SharedRows<kWidth> shared;
  const int image = static_cast<int>(blockIdx.x) / (tiles.across * tiles.down);
  const int tile = static_cast<int>(blockIdx.x) - image * tiles.across * tiles.down;
  const int tile_y = tile / tiles.across;
  const int tile_x = tile - tile_y * tiles.across;
  const int first_row = tile_y * kTileRows;
  const int column = static_cast<int>(threadIdx.x) * kWidth;  // in the tile
  const int x = tile_x * tiles.columns + column;
  const std::size_t plane = static_cast<std::size_t>(tiles.height) * tiles.width;
  rgb += static_cast<std::size_t>(image) * 3 * plane;
  out += static_cast<std::size_t>(image) * 5 * plane;
  const bool inside = x < tiles.width;

  if (inside) {
    Pixels<kWidth> input[kThreadRows][3];
    std::size_t offset[kThreadRows];
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
      const int row = first_row - 1 + static_cast<int>(threadIdx.y) + i * kBlockRows;
      const int clamped = min(max(row, 0), tiles.height - 1);
      offset[i] = static_cast<std::size_t>(clamped) * tiles.width + x;
#pragma unroll
      for (int c = 0; c < 3; ++c) input[i][c] = load<kWidth>(rgb + c * plane + offset[i]);
    }
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
      const int slot = static_cast<int>(threadIdx.y) + i * kBlockRows;  // row of `shared`
      const int row = first_row - 1 + slot;
      const bool own = slot >= 1 && slot <= kTileRows && row < tiles.height;
      Pixels<kWidth> lightness;
      Pixels<kWidth> a;
      Pixels<kWidth> b;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        const float red = linear_from_srgb(input[i][0].value[j]);
        const float green = linear_from_srgb(input[i][1].value[j]);
        const float blue = linear_from_srgb(input[i][2].value[j]);
        const float fy = lab_curve(xyz_over_white<1>(red, green, blue));
        lightness.value[j] = lightness_of(fy);
        if (own) {
          a.value[j] = 500.0F * (lab_curve(xyz_over_white<0>(red, green, blue)) - fy);
          b.value[j] = 200.0F * (fy - lab_curve(xyz_over_white<2>(red, green, blue)));
        }
      }
      float* to = &shared[slot][kMargin + column];
      if constexpr (kWidth == 4) {
        *reinterpret_cast<float4*>(to) =
            make_float4(lightness.value[0], lightness.value[1], lightness.value[2], lightness.value[3]);
      } else {
        *to = lightness.value[0];
      }
      // The column on each side of the tile: the neighbouring tile's, or the border again.
      const float* here = rgb + offset[i];
      if (column == 0) to[-1] = x == 0 ? lightness.value[0] : lightness_at(here - 1, plane);
      if (column + kWidth == tiles.columns || x + kWidth == tiles.width) {
        to[kWidth] = x + kWidth == tiles.width ? lightness.value[kWidth - 1] : lightness_at(here + kWidth, plane);
      }
      if (own) {
        store<kWidth>(out + offset[i], lightness);
        store<kWidth>(out + plane + offset[i], a);
        store<kWidth>(out + 2 * plane + offset[i], b);
      }
    }
  }
  __syncthreads();
  if (inside) write_gradients<kWidth>(shared, out, tiles, first_row, column, x);
}

int vector_width(const TextureShape& shape) { return shape.w % 4 == 0 ? 4 : 1; }

/// Tiles of equal width that cover a row, each at most kMaxBlockColumns vectors.
Tiles tiles_of(const TextureShape& shape) {
  const int width = vector_width(shape);
  const std::int64_t vectors = shape.w / width;
  const std::int64_t across = (vectors + kMaxBlockColumns - 1) / kMaxBlockColumns;
  const std::int64_t columns = (vectors + across - 1) / across * width;
  return {.height = static_cast<int>(shape.h),
          .width = static_cast<int>(shape.w),
          .across = static_cast<int>(across),
          .down = static_cast<int>((shape.h + kTileRows - 1) / kTileRows),
          .columns = static_cast<int>(columns)};
}

}  // namespace

cudaError_t launch_fused_texture(cudaStream_t stream, const TextureShape& shape, const TextureBuffers& buffers) {
  const Tiles tiles = tiles_of(shape);
  const auto blocks = static_cast<unsigned>(shape.n * tiles.across * tiles.down);
  const int width = vector_width(shape);
  const dim3 threads(static_cast<unsigned>(tiles.columns / width), kBlockRows);
  if (width == 4) {
    fused_texture_kernel<4><<<blocks, threads, 0, stream>>>(buffers.rgb, buffers.out, tiles);
  } else {
    fused_texture_kernel<1><<<blocks, threads, 0, stream>>>(buffers.rgb, buffers.out, tiles);
  }
  return cudaGetLastError();
}

}  // namespace warpmark::workloads::vision
