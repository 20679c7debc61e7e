#include "analyze/recommendations/advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace warpmark::analyze {

namespace {

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

std::string batch_snippet(const Evidence& evidence, int times, std::string_view remark) {
  const bool native = evidence.framework == Framework::native;
  return fmt::format("batch_size *= {}{}  {} {}", times, native ? ";" : "", native ? "//" : "#", remark);
}

bool has_bf16(const Evidence& evidence) {
  return !evidence.has_timeline() || evidence.rank().attribution.units.take_bf16;
}

namespace {

// cuBLAS: CUBLAS_COMPUTE_32F multiplies CUDA_R_16BF and adds up in FP32 (cuBLAS library, "cublasGemmEx").
constexpr Advice kComputeInBf16 = {
    .kind = AdviceKind::code,
    .text = "Multiply in BF16; weights, sums and reductions stay in FP32.",
    .native =
        "cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a, CUDA_R_16BF, lda, b, CUDA_R_16BF, ldb, "
        "&beta, "
        "c, CUDA_R_32F, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);",
    .pytorch = "with torch.autocast('cuda', dtype=torch.bfloat16): y = model(x)",
    .jax =
        "flax.linen.Dense(features, dtype=jnp.bfloat16)  # every module; or x.astype(jnp.bfloat16) @ "
        "w.astype(jnp.bfloat16)",
    .cupy = "y = x.astype(ml_dtypes.bfloat16) @ w.astype(ml_dtypes.bfloat16)  # CuPy 14; cupy.float16 before",
};

constexpr Advice kComputeInFp16 = {
    .kind = AdviceKind::code,
    .text = "Multiply in FP16; sums stay in FP32.",
    .native =
        "cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, "
        "&beta, c, CUDA_R_32F, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);",
    .pytorch = "with torch.autocast('cuda', dtype=torch.float16): y = model(x)",
    .jax = "flax.linen.Dense(features, dtype=jnp.float16)  # every module",
    .cupy = "y = x.astype(cupy.float16) @ w.astype(cupy.float16)",
};

}  // namespace

Advice compute_in_16_bits(const Evidence& evidence) {
  const bool bf16 = has_bf16(evidence);
  Advice advice = bf16 ? kComputeInBf16 : kComputeInFp16;
  if (!evidence.has_timeline() || !evidence.rank().trains()) return advice;
  advice.pytorch = bf16 ? "with torch.autocast('cuda', dtype=torch.bfloat16): loss = model(x)"
                        : "with torch.autocast('cuda', dtype=torch.float16): loss = model(x)  "
                          "# and torch.amp.GradScaler()";
  if (bf16) return advice;
  advice.text = "Multiply in FP16, with the loss scaled so that small gradients do not vanish; sums stay in FP32.";
  advice.jax = "flax.linen.Dense(features, dtype=jnp.float16)  # every module, and a scaled loss";
  return advice;
}

constinit const Advice kFixGraphBreaks = {
    .kind = AdviceKind::code,
    .text = "Find what breaks the compiled parts apart: the program is compiled, but something is left between them.",
    .pytorch = "model = torch.compile(model, fullgraph=True)  # stops at the first break and says why",
};

constinit const Advice kSendFewerBytes = {
    .kind = AdviceKind::code,
    .text = "Send fewer bytes: integers or half precision, converted on the GPU; keep what does not change there.",
    .native = "x[i] = static_cast<float>(pixels[i]) * (1.0F / 255);  // in the kernel that reads the bytes first",
    .pytorch = "x = x_uint8.to('cuda', non_blocking=True).to(torch.bfloat16).div_(255)",
    .jax = "x = jax.device_put(x_uint8).astype(jnp.bfloat16) / 255  # within the jitted step",
    .cupy = "x = cupy.asarray(x_uint8).astype(cupy.float32) / 255",
};

}  // namespace warpmark::analyze
