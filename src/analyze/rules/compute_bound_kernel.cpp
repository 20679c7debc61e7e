// One of the multiprocessors' pipelines is at its peak. Threshold as in Nsight Compute's rule HighPipeUtilization: from
// 80 % on. Tensor cores at their peak are what a kernel is to reach. Doubles in single precision take the ratio of both
// throughputs (CUDA C++ Programming Guide, "Arithmetic Instructions"), products in FP32 that of tensor cores.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "analyze/names/kernel_category.h"
#include "analyze/names/matrix_units.h"
#include "analyze/recommendations/kernel_profiles.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

struct Pipe {
  const char* id;  ///< of metrics: "sm__inst_executed_pipe_fma..."
  const char* name;
  const char* title;
  const char* fix;
};
constexpr std::size_t kDoubles = 0, kSingles = 1;
constexpr Pipe kPipes[] = {
    {"fp64", "FP64", "Double precision is the limit",
     "If the result allows it, compute in single precision, or in doubles only where they matter."},
    {"fma", "FMA", "Single precision is the limit",
     "Let tensor cores multiply matrices (TF32 or 16 bits); elsewhere compute less, or in pairs of 16 bits (half2)."},
    {"alu", "ALU", "Integer instructions are the limit", "Compute indices once, and in 32 bits; unroll loops."},
    {"xu", "XU", "Transcendental functions and conversions are the limit",
     "Use fast functions where the result allows it (-use_fast_math), and convert types less often."},
    {"tensor", "Tensor", nullptr, nullptr},
};

/// Of its peak, in per cent.
double use_of(const Pipe& pipe, const KernelProfile& profile) {
  double use = 0;
  for (const char* metric : {"sm__inst_executed_pipe_{}.avg.pct_of_peak_sustained_active",
                             "sm__inst_executed_pipe_{}.avg.pct_of_peak_sustained_elapsed",
                             "sm__pipe_{}_cycles_active.avg.pct_of_peak_sustained_active"}) {
    use = std::max(use, profile.metric(fmt::format(fmt::runtime(metric), pipe.id)).value_or(0));
  }
  return use;
}

/// Multiprocessors of data centre GPUs compute doubles at half of the rate of single precision; assumed where none is
/// named.
double left_in_singles(const std::string& capability) {
  constexpr std::string_view kOfDataCenters[] = {"", "6.0", "7.0", "8.0", "9.0", "10.0"};
  if (std::ranges::count(kOfDataCenters, capability) > 0) return 1.0 / 2;
  return std::atoi(capability.c_str()) < 8 ? 1.0 / 32 : 1.0 / 64;
}

/// Share of its time that a kernel on this pipeline keeps on a faster one; 1 where there is none.
double left_on_faster(const Pipe& pipe, const KernelProfile& profile) {
  if (&pipe == &kPipes[kDoubles]) return left_in_singles(profile.compute_capability);
  const MatrixMath math = matrix_math(profile.name, kernel_category(profile.name, ""));
  if (&pipe != &kPipes[kSingles] || math != MatrixMath::simt_fp32) return 1;
  const MatrixUnits units = matrix_units_of(GpuInfo{.compute_major = std::atoi(profile.compute_capability.c_str())});
  return static_cast<double>(units.take_tf32() ? units.left_in_tf32 : units.left_in_16_bits);
}

std::optional<KernelSaving> judge_compute_bound_kernel(const KernelProfile& profile) {
  const auto* const busiest =
      std::ranges::max_element(kPipes, {}, [&](const Pipe& pipe) { return use_of(pipe, profile); });
  const double use = use_of(*busiest, profile);
  if (use < kNcuHigh || busiest->title == nullptr) return std::nullopt;
  // On the faster pipeline the memory's peak is the next limit.
  const double faster = 1 - std::max(left_on_faster(*busiest, profile), memory_throughput(profile).value_or(0) / 100);
  return KernelSaving{.fraction = std::max({kMatters, faster, 1 - use / 100}),
                      .text = fmt::format("{} pipeline at {:.0f} % of its peak", busiest->name, use),
                      .id = "pipe_utilization",
                      .value = use / 100,
                      .fixes = {{AdviceKind::code, busiest->fix, ""}},
                      .title = busiest->title};
}

constexpr Advice kNarrower = {
    .kind = AdviceKind::code,
    .text = "Let libraries multiply on tensor cores: in TF32 or 16 bits.",
    .native = "cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);",
    .pytorch = "torch.set_float32_matmul_precision('high')",
    .jax = "jax.config.update('jax_default_matmul_precision', 'tensorfloat32')",
};

std::vector<Finding> apply_compute_bound_kernel(const Evidence& evidence) {
  return kernel_finding(kComputeBoundKernelRule, evidence, "One kind of instruction is the limit", {},
                        judge_compute_bound_kernel, kNarrower);
}

}  // namespace

constinit const Rule kComputeBoundKernelRule = {"compute_bound_kernel", "kernel_efficiency",
                                                "Is a kernel limited by one kind of instruction?",
                                                Need::kernel_profiles, apply_compute_bound_kernel};

}  // namespace warpmark::analyze
