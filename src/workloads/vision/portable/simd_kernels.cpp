// The vision loops for processors without kernels of their own: what the compiler makes of them for its target.
#include "workloads/vision/simd_kernels.h"

#include <algorithm>
#include <cstdint>

#include "workloads/vision/constants.h"
#include "workloads/vision/simd_math.h"

namespace warpmark::workloads::vision {
namespace {

#include "workloads/vision/simd_loops.inc"

template <typename Job>
void run(const Job& job) {
  apply<false>(job);
}

constexpr SimdKernels kKernels[] = {{"portable", run, run, run, run, run, run, run, run}};

}  // namespace

std::span<const SimdKernels> simd_kernels() { return kKernels; }

void stream_row(float* to, const float* from, std::size_t count) { std::copy_n(from, count, to); }

void store_fence() {}

}  // namespace warpmark::workloads::vision
