// The number formats of arrays in GPU memory. tf32 is a way to compute, not to store: its arrays are f32.
#pragma once

#include <cstddef>
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

}  // namespace warpmark::workloads
