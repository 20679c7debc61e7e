// Names that tell a framework: PyTorch's operators and kernels (ATen, c10), its profiler's ranges and the kernels that
// TorchInductor generates; XLA's NVTX ranges ("XlaModule:#...", "Thunk:#...", xla/service/gpu/gpu_executable.cc) and
// the fusions that it names its kernels after ("loop_add_fusion", "input_reduce_fusion", "gemm_fusion_dot_7"); CuPy's
// functions, which its kernels are named after ("cupy_multiply__float32_float_float32").
#include "analyze/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analyze/evidence.h"
#include "analyze/kernel_category.h"

namespace warpmark::analyze {

namespace {

bool is_generated(std::string_view name) {
  return contains_any(name, {"triton_poi_fused", "triton_red_fused", "triton_per_fused", "triton_tem_fused"});
}

Framework told_by(std::string_view name) {
  if (is_generated(name)) return Framework::pytorch;
  if (contains_any(name, {"aten::", "at::native", "2at6native", "at::cuda", "c10::", "torch::", "torch/", "torch.",
                          "autograd::engine", "profilerstep#", "optimizer.step#", "nn.module:"})) {
    return Framework::pytorch;
  }
  if (name.starts_with("cupy_") || name.starts_with("cupyx_")) return Framework::cupy;
  const bool fusion = name.starts_with("loop_") || name.starts_with("input_") || name.starts_with("gemm_fusion_");
  const bool xla = contains_any(name, {"xlamodule:#", "thunk:#", "pjitfunction", "jaxlib"});
  return xla || (fusion && contains_any(name, {"fusion"})) ? Framework::jax : Framework::native;
}

/// TensorFlow uses XLA too.
bool is_of_others(std::string_view name) { return contains_any(name, {"tensorflow", "paddle", "mxnet"}); }

/// Recordings name the threads that they sampled: "thread_running 605/605 python3".
bool runs_python(const std::vector<CounterSeries>& counters) {
  return std::ranges::any_of(counters, [](const CounterSeries& series) {
    return series.id.starts_with("thread_") && series.id.find(" python") != std::string::npos;
  });
}

bool runs_python(const Timeline& timeline) {
  return runs_python(timeline.counters) ||
         std::ranges::any_of(timeline.tracks, [](const Track& track) { return track.name.starts_with("python"); });
}

const char* snippet_of(const Advice& advice, Framework framework) {
  switch (framework) {
    case Framework::pytorch: return advice.pytorch;
    case Framework::jax: return advice.jax;
    case Framework::native: return advice.native;
    case Framework::cupy:
      if (advice.cupy != nullptr) return advice.cupy;
      break;
    case Framework::other: break;
  }
  const bool any_program = advice.kind == AdviceKind::command || advice.kind == AdviceKind::environment ||
                           advice.kind == AdviceKind::measure;
  return advice.native == nullptr ? nullptr : any_program ? advice.native : "";
}

}  // namespace

Framework framework_of(const ProfileSession& session) {
  bool jax = false;
  bool cupy = false;
  bool others = runs_python(session.counters) || (session.ranks.empty() && session.kernels.empty());
  bool foreign = false;
  for (const Timeline& timeline : session.ranks) {
    others = others || runs_python(timeline);
    for (NameId i = 0; i < timeline.names.size(); ++i) {
      const std::string_view name = timeline.names.at(i);
      const Framework told = told_by(name);
      if (told == Framework::pytorch) return told;
      jax = jax || told == Framework::jax;
      cupy = cupy || told == Framework::cupy;
      foreign = foreign || is_of_others(name);
    }
  }
  for (const KernelProfile& profile : session.kernels) {
    const Framework told = told_by(profile.name);
    if (told == Framework::pytorch) return told;
    jax = jax || told == Framework::jax;
    cupy = cupy || told == Framework::cupy;
    foreign = foreign || is_of_others(profile.name);
  }
  if (jax && !cupy && !foreign) return Framework::jax;
  if (cupy && !jax && !foreign) return Framework::cupy;
  return others || foreign || cupy ? Framework::other : Framework::native;
}

bool is_compiled(const ProfileSession& session) {
  return std::ranges::any_of(session.ranks, [](const Timeline& timeline) {
    for (NameId i = 0; i < timeline.names.size(); ++i) {
      if (is_generated(timeline.names.at(i))) return true;
    }
    return false;
  });
}

std::vector<Recommendation> advice_for(const Evidence& evidence, std::initializer_list<Advice> all) {
  std::vector<Recommendation> known;
  for (const Advice& advice : all) {
    const char* snippet = snippet_of(advice, evidence.framework);
    if (snippet != nullptr) known.push_back({advice.kind, advice.text, snippet});
  }
  return known;
}

void advise(const Evidence& evidence, std::initializer_list<Advice> all, Finding& finding) {
  for (Recommendation& one : advice_for(evidence, all)) finding.recommendations.push_back(std::move(one));
}

bool trains(const RankEvidence& rank) {
  return has_backward_pass(*rank.timeline, rank.list) ||
         std::ranges::any_of(rank.list.works, [](const GpuWork& work) { return work.category == Category::optimizer; });
}

std::string batch_snippet(const Evidence& evidence, int times, std::string_view remark) {
  const bool native = evidence.framework == Framework::native;
  return fmt::format("batch_size *= {}{}  {} {}", times, native ? ";" : "", native ? "//" : "#", remark);
}

// cuBLAS: CUBLAS_COMPUTE_32F multiplies CUDA_R_16BF and adds up in FP32 (cuBLAS library, "cublasGemmEx").
constinit const Advice kComputeIn16Bits = {
    AdviceKind::code,
    "Multiply in BF16; weights, sums and reductions stay in FP32.",
    "cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a, CUDA_R_16BF, lda, b, CUDA_R_16BF, ldb, &beta, "
    "c, CUDA_R_32F, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);",
    "with torch.autocast('cuda', dtype=torch.bfloat16): loss = model(x)",
    "flax.linen.Dense(features, dtype=jnp.bfloat16)  # every module; or x.astype(jnp.bfloat16) @ "
    "w.astype(jnp.bfloat16)",
    "y = x.astype(ml_dtypes.bfloat16) @ w.astype(ml_dtypes.bfloat16)  # CuPy 14; cupy.float16 before",
};

constinit const Advice kMendGraphBreaks = {
    AdviceKind::code,
    "The program is compiled, but something is left between the compiled parts: find what breaks them apart.",
    nullptr,
    "model = torch.compile(model, fullgraph=True)  # stops at the first break and says why",
    nullptr,
};

constinit const Advice kSendFewerBytes = {
    AdviceKind::code,
    "Send fewer bytes: integers or half precision, converted on the GPU; keep what does not change there.",
    "x[i] = static_cast<float>(pixels[i]) * (1.0F / 255);  // in the kernel that reads the bytes first",
    "x = x_uint8.to('cuda', non_blocking=True).to(torch.bfloat16).div_(255)",
    "x = jax.device_put(x_uint8).astype(jnp.bfloat16) / 255  # within the jitted step",
    "x = cupy.asarray(x_uint8).astype(cupy.float32) / 255",
};

}  // namespace warpmark::analyze
