// Hopper's asynchronous machinery as functions: mbarriers, tensor copies (TMA), warpgroup matrix multiply (wgmma).
// One PTX instruction each; names and operand orders follow the PTX ISA, chapters on mbarrier, cp.async.bulk.tensor and
// asynchronous warpgroup matrix multiply. Only for sm_90a.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "workloads/module/attention/fragments.cuh"

namespace warpmark::workloads::hopper {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void barrier_init(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

__device__ __forceinline__ void barrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/// Arrives and announces `bytes` of tensor copies that complete on this barrier.
__device__ __forceinline__ void barrier_expect(std::uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

/// Waits until the phase of this parity is complete.
__device__ __forceinline__ void barrier_wait(std::uint64_t* barrier, std::uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;\n"
      "@complete bra DONE;\n"
      "bra WAIT;\n"
      "DONE:\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

/// Copies one box of a rank-3 tensor to shared memory; elements outside the tensor arrive as zero.
__device__ __forceinline__ void tensor_load(void* to, const CUtensorMap* map, std::uint64_t* barrier, int x, int y,
                                            int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z)
      : "memory");
}

__device__ __forceinline__ void tensor_map_prefetch(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Named barriers: `sync` waits for `threads` arrivals, its own included; `arrive` only counts.
__device__ __forceinline__ void named_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void named_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

template <int kRegisters>
__device__ __forceinline__ void registers_grow() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void registers_shrink() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// Keeps the compiler from moving accesses of registers that an asynchronous multiply owns.
template <int kCount>
__device__ __forceinline__ void hold(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <int kCount>
__device__ __forceinline__ void hold(std::uint32_t (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

/// Shared-memory matrix of 128-byte rows in the 128-byte swizzle. `stride` is the distance in bytes between groups of 8
/// rows, `panel` between panels of 64 columns (used where the operand is read transposed).
__device__ __forceinline__ std::uint64_t matrix_descriptor(const void* start, int stride, int panel) {
  return static_cast<std::uint64_t>((shared_address(start) & 0x3FFFF) >> 4) |
         static_cast<std::uint64_t>(panel >> 4) << 16 | static_cast<std::uint64_t>(stride >> 4) << 32 |
         std::uint64_t{1} << 62;
}

// The accumulator's registers, as the instruction names them and as operands.
#define WARPMARK_NAMES_32                                                                           \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, " \
  "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WARPMARK_NAMES_64                                                                                            \
  WARPMARK_NAMES_32                                                                                                  \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, " \
  "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WARPMARK_FLOATS_8(d, i)                                                                               \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define WARPMARK_FLOATS_32(d, i) \
  WARPMARK_FLOATS_8(d, i), WARPMARK_FLOATS_8(d, i + 8), WARPMARK_FLOATS_8(d, i + 16), WARPMARK_FLOATS_8(d, i + 24)
#define WARPMARK_FLOATS_64(d) WARPMARK_FLOATS_32(d, 0), WARPMARK_FLOATS_32(d, 32)
// For both types of 16 bits, which are written in the name of the instruction.
#define WARPMARK_MULTIPLY_ACCUMULATE(first, shape, last, ...)                                             \
  if constexpr (fragments::kIsHalf<T>) {                                                                  \
    asm volatile(first "wgmma.mma_async.sync.aligned." shape ".f32.f16.f16 {" last "\n" : __VA_ARGS__);   \
  } else {                                                                                                \
    asm volatile(first "wgmma.mma_async.sync.aligned." shape ".f32.bf16.bf16 {" last "\n" : __VA_ARGS__); \
  }

/// d (64 x 128) = a b + (accumulate ? d : 0): A and B with the contraction contiguous.
template <typename T>
__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], std::uint64_t a, std::uint64_t b, int accumulate) {
  WARPMARK_MULTIPLY_ACCUMULATE("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n", "m64n128k16",
                               WARPMARK_NAMES_64 "}, %64, %65, p, 1, 1, 0, 0;\n}", WARPMARK_FLOATS_64(d)
                               : "l"(a), "l"(b), "r"(accumulate))
}

/// d (64 x 64) += a b: A from registers, B transposed (columns contiguous).
template <typename T>
__device__ __forceinline__ void wgmma_m64n64k16(float (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b) {
  WARPMARK_MULTIPLY_ACCUMULATE("", "m64n64k16", WARPMARK_NAMES_32 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;",
                               WARPMARK_FLOATS_32(d, 0)
                               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
}

/// d (64 x 128) += a b: A from registers, B transposed (columns contiguous).
template <typename T>
__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], const std::uint32_t (&a)[4], std::uint64_t b) {
  WARPMARK_MULTIPLY_ACCUMULATE("", "m64n128k16", WARPMARK_NAMES_64 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;",
                               WARPMARK_FLOATS_64(d)
                               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
}

#undef WARPMARK_NAMES_32
#undef WARPMARK_NAMES_64
#undef WARPMARK_FLOATS_8
#undef WARPMARK_FLOATS_32
#undef WARPMARK_FLOATS_64
#undef WARPMARK_MULTIPLY_ACCUMULATE

}  // namespace warpmark::workloads::hopper
