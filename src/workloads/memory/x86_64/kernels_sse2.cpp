// The stream kernels with 16-byte vectors, which every x86-64 CPU has.
#include "workloads/memory/kernels.h"

#include <immintrin.h>

namespace warpmark::workloads {
namespace {

using Vector = float __attribute__((vector_size(16), may_alias));

inline void store_past_cache(float* to, Vector value) { _mm_stream_ps(to, value); }

inline void store_fence() { _mm_sfence(); }

#include "workloads/memory/kernels.inc"

}  // namespace

extern const StreamKernels kSse2Kernels = kernels_named("sse2");

}  // namespace warpmark::workloads
