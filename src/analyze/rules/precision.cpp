// Matrix products and convolutions that do not run on tensor cores, or run there on inputs wider than needed.
#include <algorithm>
#include <utility>
#include <vector>

#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

/// TF32 alone: what surrounds the matrix work stays as it is.
void allow_tf32(const Evidence& evidence, double success, Change& change) {
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    open_columns(rank, change.ranks[r]);
    for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
      if (rank.list.works[i].math != MatrixMath::simt_fp32) continue;
      change.ranks[r].duration_scale[i] *=
          static_cast<float>(scaled(static_cast<double>(rank.attribution.units.left_in_tf32), success));
    }
  }
}

Gain gain_of_tf32(const Evidence& evidence) {
  Change change(evidence);
  allow_tf32(evidence, 1.0, change);
  return gain_up_to(speedup_of(evidence, change), "replay with FP32 matrix kernels at the rate of TF32");
}

/// PyTorch computes in 16 bits by a line around the model. JAX uses TF32 unless told otherwise, and a program of its
/// own kernels keeps its data in the type that it was written for: there the switch for TF32 is the fix at hand.
bool tf32_is_nearer(const Evidence& evidence, double simt, double tf32, double wide) {
  return evidence.framework != Framework::pytorch && simt > tf32 && wide <= simt &&
         evidence.rank().attribution.units.take_tf32();
}

// cuBLAS library: "cublasMath_t" and "cublasComputeType_t"; cuDNN: "cudnnMathType_t". Double precision in TF32 is
// another result: 10 bits of mantissa instead of 52.
constexpr const char* kTorchTf32 = "torch.set_float32_matmul_precision('high'); torch.backends.cudnn.allow_tf32 = True";
constexpr const char* kJaxTf32 = "jax.config.update('jax_default_matmul_precision', 'tensorfloat32')";
constexpr const char* kCupyTf32 = "os.environ['CUPY_TF32'] = '1'  # before import cupy";
constexpr const char* kAllowTf32 = "At least allow TF32, which needs no other change.";
constexpr const char* kAllowTf32First = "Allow TF32, which needs no other change.";
constexpr Advice kTf32Products = {
    .kind = AdviceKind::code,
    .text = kAllowTf32,
    .native = "cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);  // cublasLt: CUBLAS_COMPUTE_32F_FAST_TF32",
    .pytorch = kTorchTf32,
    .jax = kJaxTf32,
    .cupy = kCupyTf32,
};
constexpr Advice kTf32Convolutions = {
    .kind = AdviceKind::code,
    .text = kAllowTf32,
    .native = "cudnnSetConvolutionMathType(convolution, CUDNN_DEFAULT_MATH);  // and NVIDIA_TF32_OVERRIDE unset",
    .pytorch = kTorchTf32,
    .jax = kJaxTf32,
};
constexpr Advice kLeaveDoubles = {
    .kind = AdviceKind::code,
    .text =
        "If the result allows it, multiply in single precision on the tensor cores (TF32), or in doubles only where "
        "they "
        "matter.",
    .native =
        "cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, "
        "&beta, "
        "c, CUDA_R_32F, ldc, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT);",
    .pytorch = "model = model.float(); x = x.float(); torch.set_float32_matmul_precision('high')",
    .jax = "jax.config.update('jax_enable_x64', False)",
    .cupy = "x = cupy.asarray(x, dtype=cupy.float32)  # NumPy's default is float64",
};
constexpr Advice kComputeInSingles = {
    .kind = AdviceKind::code,
    .text = "If the result allows it, compute in single precision, or in doubles only where they matter.",
    .native =
        "using real = float;  // and 0.5F, sqrtf(x): one double literal makes the whole expression one of doubles",
    .pytorch = "model = model.float(); x = x.float()",
    .jax = "jax.config.update('jax_enable_x64', False)",
    .cupy = "x = cupy.asarray(x, dtype=cupy.float32)  # NumPy's default is float64",
};
constexpr Advice kLayoutOfTensorCores = {
    .kind = AdviceKind::code,
    .text = "For convolutions keep tensors in the layout of the tensor cores.",
    .native = "cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, n, c, h, w);",
    .pytorch = "model = model.to(memory_format=torch.channels_last)",
    .jax = "y = jax.lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
};

/// Whether works of the category are among those to be computed more narrowly.
bool owns(const RankEvidence& rank, Category category) {
  for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
    const GpuWork& work = rank.list.works[i];
    if (work.category == category && rank.attribution.owner[i] == Owner::precision && rank.in_steps(work)) return true;
  }
  return false;
}

struct MatrixTimes {
  double simt, wide, tf32;  ///< ns a step
};

std::string title_of(const MatrixTimes& times, const MatrixUnits& units, double step) {
  const auto part = [step](double ns) { return time_text(ns) + " per step (" + format_percent(ns / step) + ")"; };
  if (times.wide > times.simt && times.wide > times.tf32) {
    return "Matrix work takes " + part(times.wide) + " in double precision";
  }
  if (times.simt + times.wide > times.tf32) {
    return "Matrix work takes " + part(times.simt + times.wide) +
           (units.take_fp32 ? " in FP32" : " outside of tensor cores");
  }
  return "Matrix work of " + time_text(times.tf32) + " per step runs in TF32, not in 16 bits";
}

struct NamedTime {
  const char* id;
  const char* label;
  double ns;
};

void add_times(std::initializer_list<NamedTime> times, Finding& finding) {
  for (const NamedTime& one : times) {
    if (one.ns > 0) finding.evidence.push_back(time_fact(one.id, one.label, one.ns));
  }
}

/// 16 bits speed up the matrix work and halve the bytes of all that surrounds it.
void narrow_to_16_bits(const Evidence& evidence, double success, Change& change) {
  shrink_owned(evidence, Owner::precision, success, change);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    std::vector<float>& scale = change.ranks[r].duration_scale;
    const KernelAttribution& attribution = evidence.ranks[r].attribution;
    for (std::size_t i = 0; i < scale.size(); ++i) {
      scale[i] *= static_cast<float>(scaled(static_cast<double>(attribution.share_left_in_16_bits[i]), success));
    }
  }
}

void put_tf32_first(const Evidence& evidence, Finding& finding) {
  std::vector<Recommendation>& all = finding.recommendations;
  const auto tf32 = std::ranges::find(all, "tf32", &Recommendation::id);
  if (tf32 == all.end() || tf32 == all.begin()) return;
  std::rotate(all.begin(), tf32, tf32 + 1);
  all.front().text = kAllowTf32First;
  finding.gain = *all.front().gain;
  Change change(evidence);
  narrow_to_16_bits(evidence, 1.0, change);
  all[1].gain = gain_up_to(speedup_of(evidence, change), "replay with matrix work in 16 bits");
}

/// Kernels of the program's own, which no tensor core would compute.
Finding of_doubles(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const std::vector<bool> doubles = works_in_doubles(rank);
  Change change(evidence);
  open_columns(rank, change.ranks[evidence.critical]);
  for (std::size_t i = 0; i < doubles.size(); ++i) {
    if (doubles[i]) change.ranks[evidence.critical].duration_scale[i] = kLeftInSingles;
  }
  const double step = rank.undisturbed_step_ns();
  const double sum = evidence.attribution.precision.in_doubles_ns;
  Finding finding = make_finding(
      kPrecisionRule, evidence.attribution.lost_ns(AttributedTo::precision), step,
      "Kernels compute in double precision for " + time_text(sum) + " per step (" + format_percent(sum / step) + ")");
  finding.severity = std::min(finding.severity, kMostOfANote);
  finding.evidence = {time_fact("fp64_per_step", "Kernels whose data is in double precision, per step", sum)};
  advise(evidence, {kComputeInSingles}, finding);
  finding.gain = gain_up_to(speedup_of(evidence, change), "replay with half the time for what is computed in doubles");
  show_works(
      rank, [&doubles](std::size_t i) { return doubles[i]; }, finding);
  return finding;
}

std::vector<Finding> apply_precision(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const PrecisionLoss& loss = evidence.attribution.precision;
  if (loss.of_doubles) return {of_doubles(evidence)};
  const double lost = evidence.attribution.lost_ns(AttributedTo::precision);
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  const double tf32 = math_ns(rank, MatrixMath::tensor_tf32);
  const double simt = math_ns(rank, MatrixMath::simt_fp32);
  const double wide = math_ns(rank, MatrixMath::simt_fp64);
  const double half = math_ns(rank, MatrixMath::tensor_half);
  Finding finding =
      make_finding(kPrecisionRule, lost, step, title_of({simt, wide, tf32}, rank.attribution.units, step));
  // TF32 already runs on tensor cores: 16 bits may still help, but that is a note, never a warning.
  if (simt + wide < tf32) finding.severity = std::min(finding.severity, kMostOfANote);
  add_times(
      {{"fp32_matrix_per_step", "Matrix kernels on FP32 units, per step", simt},
       {"tf32_matrix_per_step", "Matrix kernels on tensor cores with FP32 inputs (TF32), per step", tf32},
       {"half_matrix_per_step", "Matrix kernels on tensor cores with 16 bits or fewer, per step", half},
       {"fp64_matrix_per_step", "Matrix kernels in double precision, per step", wide},
       {"around_matrix_per_step", "Saved around them, where kernels move half the bytes, per step", loss.around_ns}},
      finding);
  const bool convolves = owns(rank, Category::convolution);
  const bool in_doubles = wide > simt;
  if (in_doubles) advise(evidence, {kLeaveDoubles}, finding);
  if (!in_doubles) advise(evidence, {compute_in_16_bits(evidence)}, finding);
  if (simt > tf32 && rank.attribution.units.take_tf32()) {
    const bool alone = convolves && !owns(rank, Category::gemm);
    for (Recommendation& one : advice_for(evidence, {alone ? kTf32Convolutions : kTf32Products})) {
      one.id = "tf32";
      one.gain = gain_of_tf32(evidence);
      finding.recommendations.push_back(std::move(one));
    }
    if (tf32_is_nearer(evidence, simt, tf32, wide)) put_tf32_first(evidence, finding);
  }
  if (convolves && !in_doubles) advise(evidence, {kLayoutOfTensorCores}, finding);
  show_works(
      rank, [&rank](std::size_t i) { return rank.attribution.owner[i] == Owner::precision; }, finding);
  return {finding};
}

void change_precision(const Evidence& evidence, double success, Change& change) {
  const RankEvidence& rank = evidence.rank();
  const auto sum = [&rank](MatrixMath math) { return math_ns(rank, math); };
  const bool tf32 =
      tf32_is_nearer(evidence, sum(MatrixMath::simt_fp32), sum(MatrixMath::tensor_tf32), sum(MatrixMath::simt_fp64));
  (tf32 ? allow_tf32 : narrow_to_16_bits)(evidence, success, change);
}

}  // namespace

constinit const Rule kPrecisionRule = {"precision",    "kernel_efficiency", "Does matrix work use the tensor cores?",
                                       Need::gpu_work, apply_precision,     change_precision};

}  // namespace warpmark::analyze
