// Matrix products and convolutions that do not run on tensor cores, or run there on inputs wider than needed.
#include <algorithm>

#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

bool has_tensor_cores(const RankEvidence& rank) {
  for (const GpuInfo& gpu : rank.timeline->gpus) {
    if (gpu.compute_major > 0 && gpu.compute_major < 7) return false;
  }
  return true;
}

constexpr double kTf32Forgiven = 0.26;
// FP32 units to tensor cores on TF32: 67 to 495 TFLOP/s dense (NVIDIA H100 data sheet), and FP32's bytes.
constexpr float kSimtToTf32 = 0.22F;
constexpr Calibration kTf32Calibration = {1.0, 0.0};

/// The speed-up of TF32 alone: what surrounds the matrix work stays as it is.
Gain gain_of_tf32(const Evidence& evidence) {
  Change change(evidence);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    open_columns(rank, change.ranks[r]);
    for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
      if (rank.list.works[i].math == MatrixMath::simt_fp32) change.ranks[r].duration_scale[i] = kSimtToTf32;
    }
  }
  return gain_around(speedup_of(evidence, change), kTf32Calibration,
                     "replay with FP32 matrix kernels at the rate of TF32");
}

double math_ns(const RankEvidence& rank, MatrixMath math) {
  double sum = 0;
  for (const GpuWork& work : rank.list.works) {
    if (work.math == math && rank.in_steps(work)) sum += static_cast<double>(work.end - work.start);
  }
  return sum / rank.step_count();
}

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double tf32 = math_ns(rank, MatrixMath::tensor_tf32);
  // TF32 already runs on tensor cores: 16 bits may still help, but that is a note, never a warning.
  const double avoidable = avoidable_ns(rank, Owner::precision);
  const double lost = std::max(avoidable - kTf32Forgiven * tf32, 0.0);
  if (lost <= 0 || !has_tensor_cores(rank)) return {};
  const double step = rank.undisturbed_step_ns();
  const double simt = math_ns(rank, MatrixMath::simt_fp32);
  const double wide = math_ns(rank, MatrixMath::simt_fp64);
  const double half = math_ns(rank, MatrixMath::tensor_half);
  Finding finding =
      make_finding(kPrecisionRule, lost, step,
                   simt + wide > tf32 ? "Matrix work takes " + ms_text(simt + wide) + " a step (" +
                                            percent_text((simt + wide) / step) + ") outside of tensor cores"
                                      : "Matrix work of " + ms_text(tf32) + " a step runs in TF32, not in 16 bits");
  finding.evidence = {
      time_fact("fp32_matrix_per_step", "Matrix kernels on FP32 units, per step", simt),
      time_fact("tf32_matrix_per_step", "Matrix kernels on tensor cores with FP32 inputs (TF32), per step", tf32),
      time_fact("half_matrix_per_step", "Matrix kernels on tensor cores with 16 bits or fewer, per step", half),
  };
  if (wide > 0)
    finding.evidence.push_back(time_fact("fp64_matrix_per_step", "Matrix kernels in double precision, per step", wide));
  finding.recommendations = {
      {AdviceKind::code, "Compute in BF16; weights and reductions stay in FP32.",
       "with torch.autocast('cuda', dtype=torch.bfloat16): loss = model(x)"},
      {AdviceKind::code, "At least allow TF32, which needs no other change.",
       "torch.set_float32_matmul_precision('high'); torch.backends.cudnn.allow_tf32 = True", "tf32",
       gain_of_tf32(evidence)},
      {AdviceKind::code, "For convolutions keep tensors in the layout of the tensor cores.",
       "model = model.to(memory_format=torch.channels_last)"},
  };
  show_works(
      rank, [&rank](std::size_t i) { return rank.blame.owner[i] == Owner::precision; }, finding);
  return {finding};
}

/// 16 bits speed up the matrix work and halve the bytes of all that surrounds it.
void change(const Evidence& evidence, double success, Change& change) {
  shrink_owned(evidence, Owner::precision, success, change);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    std::vector<float>& scale = change.ranks[r].duration_scale;
    const KernelBlame& blame = evidence.ranks[r].blame;
    for (std::size_t i = 0; i < scale.size(); ++i) {
      scale[i] *= static_cast<float>(scaled(static_cast<double>(blame.narrow[i]), success));
    }
  }
}

}  // namespace

constinit const Rule kPrecisionRule = {
    "precision", "kernel_efficiency", "Does matrix work use the tensor cores?", Need::gpu_work, apply,
    change,      {1.0, 0.02}};

}  // namespace warpmark::analyze
