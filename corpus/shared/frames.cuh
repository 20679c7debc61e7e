// The size of a 4K frame and what its kernels share.
#pragma once

#include "device.cuh"

constexpr int kWide = 3840, kHigh = 2160;
constexpr size_t kPixels = size_t{kWide} * kHigh;

struct Place {
  int x, y;
  size_t frame;  // the first pixel of the frame
  bool inside;
};

__device__ inline float pixel(const float* frames, const Place& at, int dx, int dy) {
  const int x = min(max(at.x + dx, 0), kWide - 1), y = min(max(at.y + dy, 0), kHigh - 1);
  return frames[at.frame + static_cast<size_t>(y) * kWide + x];
}
