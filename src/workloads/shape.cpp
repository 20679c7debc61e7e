#include "workloads/shape.h"

#include <fmt/format.h>

namespace warpmark::workloads {

Status require_at_least(const Params& params, std::int64_t least, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::int64_t value = params.integer(name);
    if (value >= least) continue;
    return usage_error(fmt::format("{} is {}, but must be at least {}", name, value, least),
                       fmt::format("set {} to {} or more: --set {}=...", name, least, name));
  }
  return {};
}

Result<std::int64_t> product_of(std::initializer_list<Factor> factors) {
  std::int64_t product = 1;
  bool overflow = false;
  for (const Factor& factor : factors) {
    WM_CHECK(factor.value >= 0);
    overflow = overflow || __builtin_mul_overflow(product, factor.value, &product);
  }
  if (!overflow && product <= kMostElements) return product;
  std::string spelled;
  for (const Factor& factor : factors) {
    spelled += fmt::format("{}{}={}", spelled.empty() ? "" : " * ", factor.name, factor.value);
  }
  return usage_error(fmt::format("the product {} is above 2^62", spelled), "choose a smaller shape with --set");
}

std::int64_t element_bytes(const std::string& dtype) {
  if (dtype == "f64") return 8;
  if (dtype == "f32" || dtype == "tf32") return 4;
  if (dtype == "f16" || dtype == "bf16") return 2;
  WM_CHECK(dtype == "fp8" || dtype == "int8");
  return 1;
}

}  // namespace warpmark::workloads
