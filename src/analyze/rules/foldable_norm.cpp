// Batch normalization after a convolution, without training: a scale and a shift for each channel, which the weights
// and the bias of the convolution can hold (Jacob et al., CVPR 2018, section 3.2). What is left of it is a bias, which
// eager PyTorch adds by a kernel of its own: folding by hand took 3.27 ms instead of 3.11 on an H100 (nine layers of 64
// channels, fp16, channels last, PyTorch 2.11). Only what computes bias and activation within the convolution gains
// (cudnnConvolutionBiasActivationForward, TensorRT, compilers that freeze): how much was not measured, so this is a
// remark below every note.
#include <algorithm>

#include "analyze/names/kernel_names.h"
#include "analyze/names/operators.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr double kMostSeverity = 0.09;
constexpr double kLeastShare = 0.01;

bool applies_norm(const RankEvidence& rank, const GpuWork& work) {
  if (work.category != Category::normalization) return false;
  return applies_batch_norm(rank.timeline->name_of(work.event)) ||
         (work.op != kNoEvent && is_batch_norm(rank.timeline->name_of(work.op)));
}

/// What stands between a convolution and its normalization and belongs to the convolution: its bias, layouts.
bool belongs_to_convolution(const RankEvidence& rank, const GpuWork& work) {
  if (work.category == Category::memset || is_layout_conversion(rank.timeline->name_of(work.event))) return true;
  const auto convolves = [&rank](EventIndex at) { return is_convolution(rank.timeline->name_of(at)); };
  return is_elementwise(work.category) && any_around(rank.list, work.op, convolves);
}

struct Folded {
  std::vector<std::size_t> norms;
  std::size_t with_activation = 0;  ///< followed by an elementwise kernel
};

Folded foldable(const RankEvidence& rank) {
  Folded folded;
  const std::vector<std::size_t> order = works_of_main_stream(rank.list);
  bool after_convolution = false;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const GpuWork& work = rank.list.works[order[at]];
    if (work.category == Category::convolution) {
      after_convolution = true;
    } else if (after_convolution && applies_norm(rank, work)) {
      folded.norms.push_back(order[at]);
      folded.with_activation +=
          at + 1 < order.size() && rank.list.works[order[at + 1]].category == Category::elementwise;
      after_convolution = false;
    } else if (!belongs_to_convolution(rank, work)) {
      after_convolution = false;
    }
  }
  return folded;
}

/// Compilers hold the normalization in what they made of the activation; a program that trains needs its statistics.
bool may_fold(const Evidence& evidence) { return !evidence.compiled && !evidence.rank().trains(); }

constexpr Advice kFoldAll = {
    .kind = AdviceKind::code,
    .text =
        "Let a compiler fold the batch normalization into the weights, with the activation in the convolution's "
        "kernel: folded by hand, the bias that is left is a kernel of its own and gains nothing in eager mode.",
    .native =
        "cudnnConvolutionBiasActivationForward(handle, &one, x, px, w, pw, convolution, algorithm, space, bytes, "
        "&zero, z, pz, b, pb, activation, y, py);",
    .pytorch = "torch._inductor.config.freezing = True; model = torch.compile(model.eval())  # under torch.no_grad()",
    .jax =
        "w = w * (gamma / jax.numpy.sqrt(variance + epsilon)); b = (b - mean) * gamma / jax.numpy.sqrt(variance + "
        "epsilon) + beta",
};

std::vector<Finding> apply(const Evidence& evidence) {
  if (!may_fold(evidence)) return {};
  const RankEvidence& rank = evidence.rank();
  const Folded folded = foldable(rank);
  double sum = 0, count = 0;
  std::vector<bool> found(rank.list.works.size());
  for (const std::size_t i : folded.norms) {
    const GpuWork& work = rank.list.works[i];
    found[i] = true;
    if (rank.in_steps(work)) sum += static_cast<double>(work.end - work.start) / rank.step_count(), ++count;
  }
  const double step = rank.undisturbed_step_ns();
  if (sum < kLeastShare * step) return {};
  Finding finding = make_finding(kFoldableNormRule, sum, step,
                                 "Batch normalization that convolutions could hold takes " + time_text(sum) +
                                     " a step (" + format_percent(sum / step) + ")");
  finding.severity = std::min(finding.severity, kMostSeverity);
  finding.evidence = {
      time_fact("foldable_norms_per_step", "Batch normalization right after a convolution, per step", sum),
      count_fact("foldable_norm_count_per_step", "Such kernels per step", count / rank.step_count()),
      share_fact("followed_by_activation", "Of these, followed by an activation",
                 static_cast<double>(folded.with_activation) / static_cast<double>(folded.norms.size())),
  };
  advise(evidence, {kFoldAll}, finding);
  finding.gain = shaped(1.0, std::min(kWidestGain, step / std::max(step - sum, 0.1 * step)),
                        "at most, if nothing of these kernels is left; not measured");
  show_works(
      rank, [&found](std::size_t i) { return found[i]; }, finding);
  return {finding};
}

}  // namespace

constinit const Rule kFoldableNormRule = {"foldable_norm",
                                          "memory_bandwidth",
                                          "Could convolutions hold the normalization after them?",
                                          Need::gpu_work,
                                          apply,
                                          nullptr,
                                          {}};

}  // namespace warpmark::analyze
