// One element of an array whose type is known at run time only. For references and inputs, not for timed kernels.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "workloads/module/array_kernels.h"

namespace warpmark::workloads {

__device__ inline double load_element(const void* data, ElementType type, std::int64_t index) {
  switch (type) {
    case ElementType::f64: return static_cast<const double*>(data)[index];
    case ElementType::f32: return static_cast<const float*>(data)[index];
    case ElementType::f16: return __half2float(static_cast<const __half*>(data)[index]);
    case ElementType::bf16: return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
    case ElementType::fp8: return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(data)[index]);
    case ElementType::int8: return static_cast<const std::int8_t*>(data)[index];
    case ElementType::int32: return static_cast<const std::int32_t*>(data)[index];
  }
  return 0;
}

__device__ inline void store_element(void* data, ElementType type, std::int64_t index, double value) {
  switch (type) {
    case ElementType::f64: static_cast<double*>(data)[index] = value; break;
    case ElementType::f32: static_cast<float*>(data)[index] = static_cast<float>(value); break;
    case ElementType::f16: static_cast<__half*>(data)[index] = __double2half(value); break;
    case ElementType::bf16: static_cast<__nv_bfloat16*>(data)[index] = __double2bfloat16(value); break;
    case ElementType::fp8: static_cast<__nv_fp8_e4m3*>(data)[index] = __nv_fp8_e4m3(value); break;
    case ElementType::int8: static_cast<std::int8_t*>(data)[index] = static_cast<std::int8_t>(rint(value)); break;
    case ElementType::int32: static_cast<std::int32_t*>(data)[index] = static_cast<std::int32_t>(rint(value)); break;
  }
}

/// Finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection whose outputs on a counter pass as random.
__device__ inline std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// Uniform in [-1, 1), a function of (key, index).
__device__ inline double uniform_element(std::uint64_t key, std::int64_t index) {
  const std::uint64_t bits = mix64(key ^ mix64(static_cast<std::uint64_t>(index)));
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;
}

}  // namespace warpmark::workloads
