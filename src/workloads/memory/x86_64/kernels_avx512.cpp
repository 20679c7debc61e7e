// The stream kernels with 64-byte vectors. The instruction set holds for this file alone: nothing inline from a shared
// header may be compiled under it, as the linker could keep that copy for CPUs without it.
#include "workloads/memory/kernels.h"

#include <immintrin.h>

#pragma GCC target("avx512f")  // NOLINT(clang-diagnostic-unknown-pragmas): it is GCC that compiles this

namespace warpmark::workloads {
namespace {

using Vector = float __attribute__((vector_size(64), may_alias));

inline void store_past_cache(float* to, Vector value) { _mm512_stream_ps(to, value); }

inline void store_fence() { _mm_sfence(); }

#include "workloads/memory/kernels.inc"

}  // namespace

extern const StreamKernels kAvx512Kernels = kernels_named("avx512f");

}  // namespace warpmark::workloads
