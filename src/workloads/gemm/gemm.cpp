// gemm: C = A B for row-major matrices, A m x k, B k x n. The compute ceiling of each data type.
#include <fmt/format.h>

#include <array>

#include "workloads/cuda_bridge.h"
#include "workloads/gemm/gemm_cpu.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

constexpr ParamSpec kGemmParams[] = {
    {"m", ParamKind::integer, "1024", "rows of A and C"},
    {"n", ParamKind::integer, "1024", "columns of B and C"},
    {"k", ParamKind::integer, "1024", "columns of A, rows of B"},
    {"dtype", ParamKind::text, "f32", "type of A and B", "f64|f32|tf32|f16|bf16|fp8|int8"},
    {"impl", ParamKind::text, "auto", "library; auto tries all that fit and keeps the fastest",
     "auto|openblas|onednn|cublaslt"},
    {"candidates", ParamKind::integer, "8", "algorithms of cuBLASLt's heuristics to time"},
};

/// flops = 2 m n k (a multiplication and an addition for each term); bytes: A and B read once, C written once.
Result<Cost> gemm_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_TRY(require_at_least(params, 1, {"m", "n", "k", "candidates"}));
  const Factor m{"m", params.integer("m")};
  const Factor n{"n", params.integer("n")};
  const Factor k{"k", params.integer("k")};
  const std::string& dtype = params.text("dtype");
  const Factor input{"bytes", element_bytes(dtype)};
  WM_ASSIGN(const std::int64_t flops, product_of({{"2", 2}, m, n, k}));
  WM_ASSIGN(const std::int64_t a, product_of({m, k, input}));
  WM_ASSIGN(const std::int64_t b, product_of({k, n, input}));
  WM_ASSIGN(const std::int64_t c, product_of({m, n, {"bytes", gemm_output_bytes(dtype)}}));
  const double bytes = static_cast<double>(a) + static_cast<double>(b) + static_cast<double>(c);
  if (bytes > static_cast<double>(kMostElements)) {
    return usage_error(
        fmt::format("the matrices of m={} n={} k={} take {:.3g} bytes, above 2^62", m.value, n.value, k.value, bytes),
        "choose a smaller shape with --set");
  }
  return Cost{.flops = static_cast<double>(flops),
              .bytes = bytes,
              .footprint_bytes = a + b + c,
              .flop_type = dtype,
              .link = "",
              .rate = "flop_rate"};
}

std::vector<Overrides> gemm_cases(const measure::Workload& /*self*/, const DeviceInfo& device) {
  const bool gpu = device.backend == "cuda";
  const std::array sizes = gpu ? std::array{"1024", "4096", "8192"} : std::array{"512", "1024", "2048"};
  const std::vector<const char*> types =
      gpu ? std::vector{"f64", "f32", "tf32", "f16", "bf16", "fp8", "int8"} : std::vector{"f32", "f64", "bf16", "int8"};
  std::vector<Overrides> cases;
  for (const char* type : types) {
    for (const char* size : sizes) cases.push_back({{"m", size}, {"n", size}, {"k", size}, {"dtype", type}});
  }
  return cases;
}

}  // namespace

std::int64_t gemm_output_bytes(const std::string& dtype) {
  if (dtype == "int8") return 4;
  return dtype == "fp8" ? 2 : element_bytes(dtype);
}

extern const measure::Workload kGemm{
    .id = "gemm",
    .summary = "matrix product C = A B",
    .params = kGemmParams,
    .cost = gemm_cost,
    .supports = supports_by_backend<gemm_supports_cpu>,
    .prepare = prepare_by_backend<gemm_prepare_cpu>,
    .cases = gemm_cases,
    .default_mode = Mode::hot,
};

}  // namespace warpmark::workloads
