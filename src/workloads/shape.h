// Checks of shapes shared by the workloads' cost functions: each failure names the numbers and the fix.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/result.h"
#include "model/params.h"

namespace warpmark::workloads {

/// Products of shapes stay at or below this, so that sums of a few of them fit 63 bits.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 62;

/// One factor of a product, named as the person knows it: {"m", 1024}.
struct Factor {
  const char* name;
  std::int64_t value;
};

/// Usage error naming the first of these integer parameters that is below `least`.
[[nodiscard]] Status require_at_least(const Params& params, std::int64_t least,
                                      std::initializer_list<const char*> names);

/// The product of factors that are 0 or more; usage error with the whole product spelled out if it is above 2^62.
[[nodiscard]] Result<std::int64_t> product_of(std::initializer_list<Factor> factors);

/// Bytes of an element of "f64", "f32", "tf32", "f16", "bf16", "fp8", "int8" as it is stored (tf32 is stored as f32).
[[nodiscard]] std::int64_t element_bytes(const std::string& dtype);

}  // namespace warpmark::workloads
