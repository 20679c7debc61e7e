// The stream kernels for processors without kernels of their own: 16-byte vectors, which the compiler maps to what
// there is (NEON, or scalar code). Stores past the cache are ordinary ones: processors such as Neoverse notice a stream
// of whole lines by themselves and do not read them first.
#include "workloads/memory/kernels.h"

namespace warpmark::workloads {
namespace {

using Vector = float __attribute__((vector_size(16), may_alias));

inline void store_past_cache(float* to, Vector value) { *reinterpret_cast<Vector*>(to) = value; }
inline void store_fence() {}

#include "workloads/memory/kernels.inc"

constexpr StreamKernels kVectorKernels = kernels_named("16-byte vectors");

}  // namespace

std::span<const StreamKernels* const> stream_kernels() {
  static constexpr const StreamKernels* kAll[] = {&kVectorKernels};
  return kAll;
}

}  // namespace warpmark::workloads
