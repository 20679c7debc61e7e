// Launchers of device_arrays.cu's kernels. They return the launch's error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace warpmark::workloads {

enum class ElementType { f64, f32, f16, bf16, fp8, int8, int32 };  // fp8 is e4m3

[[nodiscard]] constexpr std::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::f64: return 8;
    case ElementType::f32:
    case ElementType::int32: return 4;
    case ElementType::f16:
    case ElementType::bf16: return 2;
    case ElementType::fp8:
    case ElementType::int8: return 1;
  }
  return 0;
}

/// How a workload's `dtype` is stored; "tf32" is f32. nullopt for a text that names no type.
[[nodiscard]] constexpr std::optional<ElementType> storage_of(std::string_view dtype) {
  if (dtype == "f64") return ElementType::f64;
  if (dtype == "f32" || dtype == "tf32") return ElementType::f32;
  if (dtype == "f16") return ElementType::f16;
  if (dtype == "bf16") return ElementType::bf16;
  if (dtype == "fp8") return ElementType::fp8;
  if (dtype == "int8") return ElementType::int8;
  return std::nullopt;
}

struct ArrayView {
  const void* data;
  ElementType type;
};

/// Sums over elements; a block's partial result, and the total.
struct ErrorSums {
  double difference_squares;
  double reference_squares;
  double different;  ///< elements that differ
};

inline constexpr int kErrorBlocks = 1024;  ///< partial results that launch_error_sums writes before its total

struct FillRequest {
  void* to;
  ElementType type;
  std::int64_t count;
  std::uint64_t key;  ///< element i depends on key and i only
  bool whole;         ///< whole numbers in [-127, 127] instead of [-1, 1)
};

cudaError_t launch_fill_uniform(cudaStream_t stream, const FillRequest& request);
/// `sums` holds kErrorBlocks + 1 entries on the device; the total is the last.
cudaError_t launch_error_sums(cudaStream_t stream, ArrayView out, ArrayView reference, std::int64_t count,
                              ErrorSums* sums);
cudaError_t launch_convert(cudaStream_t stream, ArrayView from, void* to, ElementType to_type, std::int64_t count);

}  // namespace warpmark::workloads
